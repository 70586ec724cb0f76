package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// mostConfigBytes is far more than a configuration has.
const mostConfigBytes = 8 << 20

// ReadConfig reads the shape of a model from the config.json that Hugging Face's transformers read.
func ReadConfig(path string) (Shape, error) {
	file, err := filestate.Open(path)
	if err != nil {
		return Shape{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostConfigBytes+1))
	if err != nil {
		return Shape{}, err
	}
	if len(text) > mostConfigBytes {
		return Shape{}, fmt.Errorf("%s: more than %d MiB: want the config.json of a model, which has a few KiB", path,
			mostConfigBytes>>20)
	}
	s, err := ParseConfig(text)
	if err != nil {
		return Shape{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// config is what a config.json has. A key that is absent or null is empty.
type config struct {
	ModelType string `json:"model_type"`
	TorchType string `json:"torch_dtype"`
	NewerType string `json:"dtype"` // its name since transformers 4.56

	IndexTypes    []string `json:"indexer_types"`    // whether layers have an index for sparse attention of their own
	ValuesAreKeys bool     `json:"attention_k_eq_v"` // the values of layers without a window are made of their keys
	StateType     string   `json:"mamba_ssm_dtype"`
	MambaType     string   `json:"mamba_ssm_cache_dtype"`
	BlockTypes    []string `json:"layers_block_type"`
	BlockPattern  string   `json:"hybrid_override_pattern"`
	LayerTypes    []string `json:"layer_types"`
	UsesWindow    *bool    `json:"use_sliding_window"`
	RopeLayers    []int    `json:"no_rope_layers"` // 1 for a layer with chunks, 0 for one without

	keys map[string]json.RawMessage // all, also those with numbers
}

func (c *config) has(key string) bool { return c.keys[key] != nil && string(c.keys[key]) != "null" }

// number returns a whole number, or another one if the key is absent.
func (c *config) number(key string, otherwise, least, most int) (n int, err error) {
	if !c.has(key) {
		return otherwise, nil
	}
	if err := jsonlines.Parse(c.keys[key], &n, "a whole number"); err != nil {
		return 0, fmt.Errorf("%s: %w", key, err)
	}
	if n < least || n > most {
		return 0, fmt.Errorf("%s: %d: want a whole number from %d to %d", key, n, least, most)
	}
	return n, nil
}

// need returns a whole number that must be there.
func (c *config) need(key string, most int) (int, error) {
	if !c.has(key) {
		return 0, fmt.Errorf("%s is missing; want a config.json of Hugging Face that has it, or %s", key, byHand)
	}
	return c.number(key, 0, 1, most)
}

// unsupported maps a key of config.json to the feature that it implies.
var unsupported = []struct{ key, what string }{
	{"compress_ratios", "compressed keys and values"},
	{"sparse_attention_config", "an index of the keys for sparse attention"},
	{"hybrid_layer_pattern", "layers with different heads"},
	{"block_configs", "a different shape in each layer"},
	{"layers_block_type", "layers with a state"},
	{"hybrid_override_pattern", "layers with a state"},
	{"linear_attn_config", "layers with a state"},
	{"mamba_d_state", "layers with a state"},
	{"ssm_cfg", "layers with a state"},
	{"cross_attention_layers", "layers that attend to images"},
	{"multi_query", "heads under names of their own"},
	{"num_kv_heads", "heads under names of their own"},
	{"n_head_kv", "heads under names of their own"},
	{"multi_query_group_num", "heads under names of their own"},
	{"new_decoder_architecture", "heads under names of their own"},
}

const byHand = "give the numbers instead: layers=N,kv-heads=N,head-size=N, or layers=N,latent=N"

// ParseConfig is ReadConfig for the content of a file.
func ParseConfig(text []byte) (s Shape, err error) {
	top, err := decode(withoutPythonNumbers(text))
	if err != nil {
		return s, err
	}
	if !top.has("num_hidden_layers") && top.keys["text_config"] != nil { // of a model of texts and images
		outer := top
		if top, err = decode(outer.keys["text_config"]); err != nil {
			return s, fmt.Errorf("text_config: %w", err)
		}
		if top.TorchType == "" && top.NewerType == "" {
			top.TorchType, top.NewerType = outer.TorchType, outer.NewerType
		}
	}
	for _, other := range unsupported {
		if top.ModelType == nemotronH && (other.key == "layers_block_type" || other.key == "hybrid_override_pattern") {
			continue
		}
		if top.has(other.key) && string(top.keys[other.key]) != "false" {
			return s, fmt.Errorf("%s (%s) is not supported; %s", other.key, other.what, byHand)
		}
	}
	return top.shape()
}

// indexTypes are models that have an index with a key of 8 bits for each token and layer, as DeepSeek V3.2 has.
var indexTypes = []string{"deepseek_v32", "glm_moe_dsa"}

// numbersOfScale is how many numbers of a key of an index share a scale of 32 bits.
const numbersOfScale = 128

// index returns the bytes of a token in the index of a layer, as vLLM and SGLang keep it.
func (c *config) index() (int, error) {
	if !c.has("index_head_dim") {
		return 0, nil
	}
	if !c.has("kv_lora_rank") || !slices.Contains(indexTypes, c.ModelType) {
		return 0, fmt.Errorf("index_head_dim: an index of the keys for sparse attention is supported for the model_type "+
			"%s, not for %.40q; %s", strings.Join(indexTypes, " and "), c.ModelType, byHand)
	}
	if slices.ContainsFunc(c.IndexTypes, func(typ string) bool { return typ != "full" }) {
		return 0, fmt.Errorf("indexer_types: layers that share the index of another are not supported; %s",
			byHand)
	}
	size, err := c.need("index_head_dim", mostNumbers)
	return size + (size+numbersOfScale-1)/numbersOfScale*4, err
}

// global changes the layer of a model to one without a window. Gemma 4 has other heads there. Its values are made of
// the keys there, but differ from them, so that engines keep both.
func (c *config) global(l Layers) (_ Layers, err error) {
	if c.ModelType != gemma4 {
		if c.has("global_head_dim") || c.ValuesAreKeys {
			return l, fmt.Errorf("global_head_dim, attention_k_eq_v: other heads in layers without a window are supported for "+
				"the model_type %s, not for %.40q; %s", gemma4, c.ModelType, byHand)
		}
		return l, nil
	}
	l.Key, err = c.number("global_head_dim", gemma4GlobalSize, 1, mostNumbers)
	l.Value = l.Key
	if err == nil && c.ValuesAreKeys {
		l.Heads, err = c.number("num_global_key_value_heads", l.Heads, 1, mostNumbers)
	}
	return l, err
}

const (
	gemma4           = "gemma4_text"
	gemma4GlobalSize = 512 // if the configuration states none (configuration_gemma4.py of transformers)
)

// pythonNumbers are what Python writes into JSON for numbers that JSON does not have, the longest first.
var pythonNumbers = [][]byte{[]byte("-Infinity"), []byte("Infinity"), []byte("NaN")}

// withoutPythonNumbers replaces such numbers by null, outside of strings.
func withoutPythonNumbers(text []byte) []byte {
	if !slices.ContainsFunc(pythonNumbers, func(n []byte) bool { return bytes.Contains(text, n) }) {
		return text
	}
	var out []byte
	inString := false
	for i := 0; i < len(text); i++ {
		switch {
		case inString && text[i] == '\\' && i+1 < len(text):
			out = append(out, text[i])
			i++
		case text[i] == '"':
			inString = !inString
		case !inString:
			at := slices.IndexFunc(pythonNumbers, func(n []byte) bool { return bytes.HasPrefix(text[i:], n) })
			if at >= 0 {
				out = append(out, "null"...)
				i += len(pythonNumbers[at]) - 1
				continue
			}
		}
		out = append(out, text[i])
	}
	return out
}

func decode(text []byte) (c config, err error) {
	const want = "a config.json of a model, which is a JSON object with num_hidden_layers"
	if err = jsonlines.Parse(text, &c.keys, want); err == nil {
		err = jsonlines.Parse(text, &c, want)
	}
	if err == nil && c.keys == nil {
		err = errors.New("the JSON null: want " + want)
	}
	return c, err
}

// Limits of what is plausible.
const (
	mostLayers  = 10_000
	mostNumbers = 1_000_000
	mostTokens  = 1 << 30
	// mostStateNumbers keeps the product of three of them within 64 bits.
	mostStateNumbers = 100_000
)

func (c *config) shape() (s Shape, err error) {
	windows, err := c.windows()
	if err != nil {
		return s, err
	}
	each, err := c.layer()
	if err != nil {
		return s, err
	}
	if each.Index, err = c.index(); err != nil {
		return s, err
	}
	global, err := c.global(each)
	if err != nil {
		return s, err
	}
	// The last layers may use keys and values of earlier ones.
	shared, err := c.number("num_kv_shared_layers", 0, 0, max(0, len(windows)-1))
	if err != nil {
		return s, err
	}
	windows = windows[:len(windows)-shared]
	if s.Type, err = c.numbers(); err != nil {
		return s, err
	}
	states := 0
	windows = slices.DeleteFunc(windows, func(window int) bool {
		if window == linear {
			states++
		}
		return window == linear
	})
	if len(windows) == 0 {
		return s, errors.New("layer_types: no layer keeps keys and values of tokens; a prefix cache of states alone is not " +
			"supported")
	}
	if s.States, err = c.states(states); err != nil {
		return s, err
	}
	slices.Sort(windows)
	for len(windows) > 0 {
		window, layer := windows[0], each
		if window == 0 {
			layer = global
		}
		count := sort.SearchInts(windows, window+1)
		s.add(layer, count, window)
		windows = windows[count:]
	}
	return s, nil
}

// numbers returns the type of the numbers. Engines keep keys and values in that of the activations; a configuration
// that states none, as of a quantised model, has 16 bits.
func (c *config) numbers() (string, error) {
	text := cmp.Or(c.TorchType, c.NewerType)
	if text == "" || text == "auto" {
		return "bf16", nil
	}
	return parseType(text)
}

// layer returns what one layer keeps.
func (c *config) layer() (l Layers, err error) {
	if c.has("kv_lora_rank") {
		rank, err := c.need("kv_lora_rank", mostNumbers)
		if err != nil {
			return l, err
		}
		rope, err := c.need("qk_rope_head_dim", mostNumbers)
		return Layers{Heads: 1, Key: rank + rope}, err
	}
	heads, err := c.need("num_attention_heads", mostNumbers)
	if err != nil {
		return l, err
	}
	// Each has its own keys and values, if the file says nothing else.
	if l.Heads, err = c.number("num_key_value_heads", heads, 1, heads); err != nil {
		return l, err
	}
	size := "head_dim"
	if !c.has(size) && c.ModelType == nemotronH {
		size = "attention_head_dim"
	}
	if c.has(size) {
		l.Key, err = c.need(size, mostNumbers)
		l.Value = l.Key
		return l, err
	}
	hidden, err := c.need("hidden_size", mostNumbers)
	if err != nil {
		return l, err
	}
	if hidden%heads != 0 {
		return l, fmt.Errorf("hidden_size %d is not a multiple of num_attention_heads %d, and head_dim is missing", hidden,
			heads)
	}
	l.Key, l.Value = hidden/heads, hidden/heads
	return l, nil
}

// linearTypes are models whose linear attention is Gated DeltaNet, as in transformers.
var linearTypes = []string{"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}

// linear stands for the window of a layer with linear attention, which has a state.
const linear = -1

// states returns the states of a number of layers with linear attention.
func (c *config) states(layers int) (s States, err error) {
	if layers == 0 {
		return s, nil
	}
	s.Count = layers
	keys, typ := []string{"linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads",
		"linear_value_head_dim", "linear_conv_kernel_dim"}, c.StateType
	if c.ModelType == nemotronH {
		keys, typ = []string{"n_groups", "ssm_state_size", "mamba_num_heads", "mamba_head_dim", "conv_kernel"}, c.MambaType
	}
	for i, to := range []*int{&s.KeyHeads, &s.KeySize, &s.ValueHeads, &s.ValueSize, &s.Convolution} {
		if *to, err = c.need(keys[i], mostStateNumbers); err != nil {
			return s, err
		}
	}
	if typ != "" {
		s.Type, err = parseType(typ)
	}
	return s, err
}

// nemotronH are NVIDIA's models whose blocks are Mamba 2, attention or neither. In Mamba 2, the groups of B and C are
// the heads of the keys, and their size is that of the state.
const nemotronH = "nemotron_h"

// blocks returns the windows of the blocks of Nemotron-H that keep something.
func (c *config) blocks() (windows []int, err error) {
	types := c.BlockTypes
	if types == nil {
		types = strings.Split(c.BlockPattern, "")
	}
	if len(types) > mostLayers {
		return nil, fmt.Errorf("layers_block_type, hybrid_override_pattern: %d blocks: want at most %d", len(types),
			mostLayers)
	}
	for _, typ := range types {
		switch typ {
		case "attention", "full_attention", "*":
			windows = append(windows, 0)
		case "mamba", "M":
			windows = append(windows, linear)
		case "moe", "mlp", "E", "-":
		default:
			return nil, fmt.Errorf("layers_block_type, hybrid_override_pattern: blocks of %.40q are not supported; want "+
				"attention or *, mamba or M, moe or E, mlp or -; %s", typ, byHand)
		}
	}
	return windows, nil
}

// windows returns the window of each layer, 0 for none, linear for a layer with a state. The rules are those of the
// models in transformers.
func (c *config) windows() ([]int, error) {
	if c.ModelType == nemotronH && (c.BlockTypes != nil || c.BlockPattern != "") {
		return c.blocks()
	}
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return nil, err
	}
	windows := make([]int, layers)
	switch {
	case c.LayerTypes != nil:
		return windows, c.typedWindows(windows)
	case c.has("attention_chunk_size") && c.ModelType == "llama4_text":
		return windows, c.chunks(windows)
	case slices.Contains(linearTypes, c.ModelType): // all but one in four, or in another number, have a state
		interval, err := c.number("full_attention_interval", 4, 1, mostLayers)
		return windows, fill(windows, linear, err, func(layer int) bool { return (layer+1)%interval != 0 })
	case !c.has("sliding_window") || c.UsesWindow != nil && !*c.UsesWindow:
		return windows, nil
	}
	window, err := c.need("sliding_window", mostTokens)
	if err != nil {
		return nil, err
	}
	has := func(int) bool { return true }
	switch c.ModelType {
	case "mistral", "mixtral", "phi3", "starcoder2":
	case "gemma2":
		has = func(layer int) bool { return layer%2 == 0 }
	case "gemma3_text", "cohere2":
		pattern := map[string]int{"gemma3_text": 6, "cohere2": 4}[c.ModelType]
		pattern, err = c.number("sliding_window_pattern", pattern, 1, mostLayers)
		has = func(layer int) bool { return (layer+1)%pattern != 0 }
	case "qwen2", "qwen2_moe", "qwen3", "qwen3_moe":
		if c.UsesWindow == nil {
			return windows, nil
		}
		var first int
		first, err = c.number("max_window_layers", layers, math.MinInt, math.MaxInt)
		has = func(layer int) bool { return layer >= first }
	default:
		return nil, fmt.Errorf("sliding_window: layer_types is missing, so the layers with a window of the model_type "+
			"%.40q are unknown; %s, with window=N,windowed-layers=N", c.ModelType, byHand)
	}
	return windows, fill(windows, window, err, has)
}

// fill sets the window of the layers that have it, unless there is an error.
func fill(windows []int, window int, err error, has func(layer int) bool) error {
	for i := range windows {
		if err == nil && has(i) {
			windows[i] = window
		}
	}
	return err
}

// typedWindows fills in the windows that the types of layers have.
func (c *config) typedWindows(windows []int) (err error) {
	if len(c.LayerTypes) != len(windows) {
		return fmt.Errorf("layer_types has %d entries for %d layers (num_hidden_layers)", len(c.LayerTypes), len(windows))
	}
	for i, typ := range c.LayerTypes {
		switch typ {
		case "full_attention":
		case "sliding_attention":
			windows[i], err = c.need("sliding_window", mostTokens)
		case "chunked_attention":
			windows[i], err = c.need("attention_chunk_size", mostTokens)
		case "linear_attention":
			windows[i] = linear
			if !slices.Contains(linearTypes, c.ModelType) {
				err = fmt.Errorf("layer_types: linear_attention is supported for the model_type %s, not for %.40q; %s",
					strings.Join(linearTypes, ", "), c.ModelType, byHand)
			}
		default:
			err = fmt.Errorf("layer_types: %.40q is not supported; want full_attention, sliding_attention, chunked_attention "+
				"or linear_attention; %s", typ, byHand)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chunks fills in the windows of Llama 4: layers with rotary positions attend within chunks, one in four to all.
func (c *config) chunks(windows []int) error {
	chunk, err := c.need("attention_chunk_size", mostTokens)
	if err != nil {
		return err
	}
	if len(c.RopeLayers) > 0 && len(c.RopeLayers) != len(windows) {
		return fmt.Errorf("no_rope_layers has %d entries for %d layers (num_hidden_layers)", len(c.RopeLayers),
			len(windows))
	}
	interval, err := c.number("no_rope_layer_interval", 4, 1, mostLayers)
	return fill(windows, chunk, err, func(layer int) bool {
		if len(c.RopeLayers) > 0 {
			return c.RopeLayers[layer] != 0
		}
		return (layer+1)%interval != 0
	})
}
