// Package llm knows the shapes of language models: from a published configuration, or from numbers, it says how many
// bytes the keys and values of a token take. A cache of prompts of so many GiB thus has so many blocks.
//
// All bytes are those of the whole model, summed over the GPUs of one replica. With tensor parallelism the heads of the
// keys and values are divided among the GPUs; where there are fewer heads than GPUs, each head is kept by several, and
// its bytes count as often. A model with latent attention keeps one latent vector for all heads, on every GPU.
package llm

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Layers are layers that keep the same for each token.
type Layers struct {
	Count int
	Heads int // of keys and values; 1 for a latent vector; 0 if they keep Bytes alone
	Key   int // numbers in a key, or in a latent vector with what all heads share of the keys
	Value int // numbers in a value; 0 for a latent vector
	// Packed is the bytes of a latent vector in the layout fp8_ds_mla of vLLM and SGLang; 0 if it has none.
	Packed int
	// Bytes are kept besides on every GPU, whatever the type of the numbers: an index that selects the keys that are
	// attended to, or what a compression has not finished.
	Bytes int
	// Window is how many tokens, counted back from the end, a token attends to; 0 for all before it.
	Window int
	// Every is how many tokens share what is kept, where keys are compressed; 0 for one.
	Every int
}

// bytes returns the bytes per token on all GPUs, with numbers of a type.
func (l Layers) bytes(typ numberType, gpus int) (float64, error) {
	numbers := int64(l.Count) * int64(max(l.Heads, gpus)) * int64(l.Key+l.Value)
	kept := float64(float64(numbers) * typ.bits / 8)
	if typ.name == packedType && l.Heads > 0 {
		if l.Packed == 0 {
			return 0, fmt.Errorf("type=%s: it is a layout of the latent vectors of sparse attention (DeepSeek V3.2 and V4, "+
				"GLM-5), which this model has not; want fp8", packedType)
		}
		kept = float64(int64(l.Count) * int64(gpus) * int64(l.Packed))
	}
	besides := int64(l.Count) * int64(gpus) * int64(l.Bytes)
	return (kept + float64(besides)) / float64(max(1, l.Every)), nil
}

// States are layers that keep, instead of the keys and values of tokens, one state for a prefix of any length. With
// linear attention (Gated DeltaNet, Kimi Delta Attention) or Mamba 2 it is a matrix per head of the values, and the
// last inputs of a convolution.
type States struct {
	Count       int // layers
	KeyHeads    int
	KeySize     int // numbers in a key
	ValueHeads  int
	ValueSize   int    // numbers in a value
	Convolution int    // tokens that it covers; 1 for none
	Type        string // of the numbers in the matrices; those of the convolution have the type of the activations
	Bytes       int    // of one layer on all GPUs, instead of what is above
}

// bytes returns the bytes for a prefix, with so many bits for a number of a matrix, and of an activation.
func (s States) bytes(matrix, activation float64) float64 {
	if s.Bytes > 0 {
		return float64(int64(s.Count) * int64(s.Bytes))
	}
	matrices := int64(s.ValueHeads) * int64(s.KeySize) * int64(s.ValueSize)
	inputs := (2*int64(s.KeyHeads)*int64(s.KeySize) + int64(s.ValueHeads)*int64(s.ValueSize)) * int64(s.Convolution-1)
	return float64(s.Count) * (float64(float64(matrices)*matrix/8) + float64(float64(inputs)*activation/8))
}

// Shape is what determines the bytes of the keys and values of a model.
type Shape struct {
	Layers []Layers
	States []States
	Type   string // of the numbers of keys and values, as the configuration states it or engines choose it: one of Types
	Acts   string // the type of the activations, if it is another one
	Compute
}

// numberType is a type of the numbers of keys and values.
type numberType struct {
	name string
	bits float64
}

// numberTypes are the types, the largest first. An fp4 number of NVIDIA has 4 bits and its share of a scale of 8 bits
// for 16 numbers.
var numberTypes = []numberType{
	{"fp32", 32}, {"fp16", 16}, {"bf16", 16}, {"fp8", 8}, {packedType, 8}, {"int8", 8}, {"nvfp4", 4 + 8.0/16},
	{"int4", 4},
}

// packedType is a layout of latent vectors: numbers of 8 bits with their scales, and the rotary part in 16 bits.
const packedType = "fp8_ds_mla"

// Types returns the names of the types of numbers.
func Types() (names []string) {
	for _, t := range numberTypes {
		names = append(names, t.name)
	}
	return names
}

func typeNamed(name string) (t numberType, ok bool) {
	for _, t := range numberTypes {
		if t.name == name {
			return t, true
		}
	}
	return t, false
}

// typeNames are other names of the types: those of configurations (PyTorch's) and of engines.
var typeNames = map[string]string{
	"float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8",
	"float8_e4m3fn": "fp8", "float8_e5m2": "fp8",
}

// parseType returns the name of a type by any of its names.
func parseType(text string) (string, error) {
	name := strings.TrimPrefix(strings.ToLower(text), "torch.")
	if other, ok := typeNames[name]; ok {
		name = other
	}
	if _, ok := typeNamed(name); !ok {
		return "", suggest.Unknown("type of keys and values", text, Types())
	}
	return name, nil
}

// KeyValues are what the keys and values of a token take, in bytes on all GPUs of a replica.
type KeyValues struct {
	Full     float64 // in the layers that attend to all tokens
	Windowed []Windowed
	State    float64 // in the layers with a state, for a prefix of any length
	Source   string  // where the shape comes from
	About    string  // the layers, for people
	Model    string  // of a preset, its name, or the file of a configuration; "" for numbers
	Shape    Shape
	GPUs     int    // of a replica
	Type     string // of the numbers
}

// bytesOf returns the bytes of a token in some of the layers.
func (k KeyValues) bytesOf(l Layers) float64 {
	typ, _ := typeNamed(k.Type)
	bytes, _ := l.bytes(typ, k.GPUs) // KeyValues has refused what has none
	return bytes
}

// Windowed are layers that attend to the last tokens only.
type Windowed struct {
	Window int     // tokens
	Bytes  float64 // of a token within the window
}

// PerToken returns the bytes of a token that every layer keeps: the last ones of a prompt, and all with no windows.
func (k KeyValues) PerToken() float64 {
	sum := k.Full
	for _, w := range k.Windowed {
		sum += w.Bytes
	}
	return sum
}

// Of returns the bytes of a prompt of n tokens that has just been computed: layers with a window keep its last tokens.
func (k KeyValues) Of(tokens int) float64 {
	sum := float64(k.Full*float64(tokens)) + k.State
	for _, w := range k.Windowed {
		sum += float64(w.Bytes * float64(min(tokens, w.Window)))
	}
	return sum
}

// KeyValues returns what the keys and values take on a number of GPUs, as numbers of a type; "" for the type of the
// configuration.
func (s Shape) KeyValues(typ string, gpus int) (k KeyValues, err error) {
	if typ == "" {
		typ = s.Type
	}
	numbers, ok := typeNamed(typ)
	if !ok {
		return k, suggest.Unknown("type of keys and values", typ, Types())
	}
	for _, l := range s.Layers {
		if l.Heads > 0 && (gpus > l.Heads && gpus%l.Heads != 0 || gpus < l.Heads && l.Heads%gpus != 0) {
			return k, fmt.Errorf("tensor-parallel=%d: %d heads of keys and values cannot be divided among %d GPUs; want a "+
				"divisor or a multiple of %d", gpus, l.Heads, gpus, l.Heads)
		}
		bytes, err := l.bytes(numbers, gpus)
		if err != nil {
			return k, err
		}
		if l.Window == 0 {
			k.Full += bytes
		} else {
			k.addWindow(l.Window, bytes)
		}
	}
	for _, states := range s.States {
		bytes, err := s.stateBytes(states, gpus)
		if err != nil {
			return k, err
		}
		k.State += bytes
	}
	k.About, k.Shape, k.GPUs, k.Type = s.about(typ, gpus), s, gpus, typ
	return k, nil
}

// stateBytes returns the bytes of the states of a prefix in some of the layers.
func (s Shape) stateBytes(states States, gpus int) (float64, error) {
	if states.Bytes > 0 {
		return states.bytes(0, 0), nil
	}
	if heads := states.KeyHeads; heads%gpus != 0 {
		return 0, fmt.Errorf("tensor-parallel=%d: %d heads of layers with a state cannot be divided among %d GPUs; want a "+
			"divisor of %d", gpus, heads, gpus, heads)
	}
	matrix, ok := typeNamed(states.Type)
	activation, known := typeNamed(cmp.Or(s.Acts, s.Type))
	if !ok || !known {
		return 0, errors.New("mamba_ssm_dtype (mamba_ssm_cache_dtype) is missing, and engines differ (SGLang: fp32, vLLM: " +
			"as the activations); add state-type=fp32 or bf16")
	}
	return states.bytes(matrix.bits, activation.bits), nil
}

func (k *KeyValues) addWindow(window int, bytes float64) {
	for i := range k.Windowed {
		if k.Windowed[i].Window == window {
			k.Windowed[i].Bytes += bytes
			return
		}
	}
	k.Windowed = append(k.Windowed, Windowed{window, bytes})
}

// about describes the layers in words.
func (s Shape) about(typ string, gpus int) string {
	var parts []string
	for _, l := range s.Layers {
		parts = append(parts, counted(l.Count, "layer")+" with "+l.about())
	}
	for _, states := range s.States {
		bytes, _ := s.stateBytes(states, gpus) // it has been computed before
		parts = append(parts, fmt.Sprintf("%s with a state of %s for a prefix", counted(states.Count, "layer"),
			memory.Bytes(int64(bytes))))
	}
	text := strings.Join(parts, ", ") + ", " + typ
	if gpus > 1 {
		text += fmt.Sprintf(", on %d GPUs", gpus)
	}
	return text
}

// about describes what one layer keeps.
func (l Layers) about() string {
	var parts []string
	switch {
	case l.Heads > 0 && l.Value == 0:
		parts = append(parts, fmt.Sprintf("a latent vector of %d", l.Key))
	case l.Heads > 0 && l.Value != l.Key:
		parts = append(parts, fmt.Sprintf("%s of %d and %d", counted(l.Heads, "head"), l.Key, l.Value))
	case l.Heads > 0:
		parts = append(parts, fmt.Sprintf("%s of %d", counted(l.Heads, "head"), l.Key))
	}
	switch {
	case l.Bytes > 0 && l.Heads > 0:
		parts = append(parts, "an index of "+counted(l.Bytes, "byte"))
	case l.Bytes > 0:
		parts = append(parts, counted(l.Bytes, "byte"))
	}
	if l.Window > 0 {
		parts = append(parts, "a window of "+counted(l.Window, "token"))
	}
	text := strings.Join(parts, " and ")
	if l.Every > 1 {
		text += fmt.Sprintf(" for every %d tokens", l.Every)
	}
	return text
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
