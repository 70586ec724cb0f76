package llm

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
)

// What windows may be, see Spec.
const (
	// WindowsLast keeps a window before each place where a prompt ends or forks from another.
	WindowsLast = "last"
	// WindowsAll keeps every token in every layer.
	WindowsAll = "all"
)

// Params are what a Spec has.
var Params = []params.Param{
	{Name: "model", Default: "", Doc: "a preset (see: cachesim kv), by its name or as Hugging Face writes it"},
	{Name: "config", Default: "", File: true, Doc: "a config.json of Hugging Face, read as it is"},
	{Name: "groups", Default: "", Doc: "what layers keep, by hand: '" + GroupsExample + "'"},
	{Name: "layers", Default: 0, Min: 0, Max: 10_000, Doc: "layers with attention, without model and config"},
	{Name: "kv-heads", Default: 0, Min: 0, Max: 100_000, Doc: "heads of the keys and values in a layer"},
	{Name: "head-size", Default: 0, Min: 0, Max: 100_000, Doc: "numbers in a key, and in a value"},
	{Name: "latent", Default: 0, Min: 0, Max: 1_000_000, Doc: "numbers per token and layer of a model with latent " +
		"attention, instead of kv-heads and head-size"},
	{Name: "window", Default: 0, Min: 0, Max: 1 << 30, Doc: "tokens in the sliding window of windowed-layers"},
	{Name: "windowed-layers", Default: 0, Min: 0, Max: 10_000, Doc: "how many of the layers have a window"},
	{Name: "type", Default: "", Doc: "of the numbers: " + strings.Join(Types(), ", ") + " (default: as in the " +
		"configuration, or bf16)"},
	{Name: "state-type", Default: "", Doc: "type of the numbers in the states of layers with linear attention or Mamba " +
		"(default: as in the configuration)"},
	{Name: "tensor-parallel", Default: 1, Min: 1, Max: 1 << 16, Doc: "GPUs that share the heads of a replica"},
	{Name: "windows", Default: WindowsLast, Choices: []string{WindowsLast, WindowsAll}, Doc: "what layers with a window " +
		"keep: last, the window before each end and each fork of prompts, and under vllm what that keeps; all, every token"},
}

// Spec is what a user writes: model=llama-3.1-70b,type=fp8,tensor-parallel=4.
type Spec struct{ values params.Values }

// Named returns the text of a Spec that may begin with the name of a model alone: "llama-3.1-70b,type=fp8" is
// "model=llama-3.1-70b,type=fp8".
func Named(text string) string {
	if first, _, _ := strings.Cut(text, ","); strings.TrimSpace(first) == "" || strings.Contains(first, "=") {
		return text
	}
	return "model=" + strings.TrimSpace(text)
}

// Parse reads a Spec. It reads no file.
func Parse(text string) (s Spec, err error) {
	if s.values, err = params.ParseArgs(Params, text); err != nil {
		return s, err
	}
	for _, name := range []string{"type", "state-type"} {
		if t := s.values.Text(name); t != "" {
			if s.values[name], err = parseType(t); err != nil {
				return s, err
			}
		}
	}
	return s, s.check()
}

// check rejects what cannot be combined, and unknown presets.
func (s Spec) check() error {
	v := s.values
	given := 0
	for _, is := range []bool{v.Text("model") != "", v.Text("config") != "", v.Text("groups") != "",
		v.Int("layers") != 0} {
		if is {
			given++
		}
	}
	numbers := v.Int("kv-heads") != 0 || v.Int("head-size") != 0 || v.Int("latent") != 0 || v.Int("window") != 0 ||
		v.Int("windowed-layers") != 0
	switch {
	case given != 1:
		return errors.New("want one of model=NAME, config=FILE, layers=N,kv-heads=N,head-size=N and groups='" +
			GroupsExample + "'; for example model=llama-3.1-70b")
	case v.Int("layers") == 0 && numbers:
		return errors.New("kv-heads, head-size, latent, window and windowed-layers need layers; with model, config or " +
			"groups, remove them")
	case v.Text("model") != "":
		_, err := Find(v.Text("model"))
		return err
	case v.Text("groups") != "":
		_, err := ParseGroups(v.Text("groups"))
		return err
	case v.Int("layers") != 0:
		return checkNumbers(v)
	}
	return nil
}

func checkNumbers(v params.Values) error {
	heads := v.Int("kv-heads") != 0 && v.Int("head-size") != 0
	either := v.Int("kv-heads") != 0 || v.Int("head-size") != 0
	switch {
	case v.Int("latent") != 0 && either, v.Int("latent") == 0 && !heads:
		return fmt.Errorf("layers=%d: want kv-heads and head-size, both from 1, or latent for a model with latent attention",
			v.Int("layers"))
	case (v.Int("window") == 0) != (v.Int("windowed-layers") == 0):
		return errors.New("window and windowed-layers belong together: give both")
	case v.Int("windowed-layers") > v.Int("layers"):
		return fmt.Errorf("windowed-layers=%d: there are only %d layers", v.Int("windowed-layers"), v.Int("layers"))
	}
	return nil
}

// String returns the spec as a user would write it.
func (s Spec) String() string { return params.Format(params.Changed(Params, s.values), s.values) }

// WindowsAll reports whether layers with a window are counted as if they kept every token.
func (s Spec) WindowsAll() bool { return s.values.Text("windows") == WindowsAll }

// File returns the configuration to read; "" if none.
func (s Spec) File() string { return s.values.Text("config") }

// WithFile returns the spec with another path of the configuration, if it has one.
func (s Spec) WithFile(path string) Spec {
	if s.File() == "" {
		return s
	}
	values := params.Values{}
	for name, value := range s.values {
		values[name] = value
	}
	values["config"] = path
	return Spec{values}
}

// KeyValues returns what the keys and values take. It reads the configuration, if there is one.
func (s Spec) KeyValues() (k KeyValues, err error) {
	shape, model, source, err := s.shape()
	if err != nil {
		return k, err
	}
	if t := s.values.Text("state-type"); t != "" {
		if len(shape.States) == 0 {
			return k, fmt.Errorf("state-type=%s: the model has no layers with a state; leave it out", t)
		}
		shape.States = slices.Clone(shape.States)
		for i := range shape.States {
			shape.States[i].Type = t
		}
	}
	if k, err = shape.KeyValues(s.values.Text("type"), s.values.Int("tensor-parallel")); err != nil {
		return k, err
	}
	k.Source, k.Model = source, model
	return k, nil
}

// shape returns the shape, the model that has it, and where it comes from.
func (s Spec) shape() (shape Shape, model, source string, err error) {
	v := s.values
	if name := v.Text("model"); name != "" {
		m, err := Find(name)
		return m.Shape, m.Name, m.Source, err
	}
	if path := v.Text("config"); path != "" {
		shape, err := ReadConfig(path)
		return shape, filepath.Base(path), "config.json", err
	}
	if text := v.Text("groups"); text != "" {
		shape, err := ParseGroups(text)
		return shape, "", "as given", err
	}
	each := Layers{Heads: v.Int("kv-heads"), Key: v.Int("head-size"), Value: v.Int("head-size")}
	if latent := v.Int("latent"); latent > 0 {
		each = Layers{Heads: 1, Key: latent}
	}
	shape.Type = "bf16"
	shape.add(each, v.Int("layers")-v.Int("windowed-layers"), 0)
	shape.add(each, v.Int("windowed-layers"), v.Int("window"))
	return shape, "", "as given", nil
}

// add adds so many layers, if there are any.
func (s *Shape) add(each Layers, count, window int) {
	if count > 0 {
		each.Count, each.Window = count, window
		s.Layers = append(s.Layers, each)
	}
}
