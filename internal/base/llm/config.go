package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
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
	s, err := parse(text, quantizationBeside(path))
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// quantizationBeside returns NVIDIA's hf_quant_config.json beside a configuration; nothing if there is none.
func quantizationBeside(path string) (q quantization) {
	folder, name := filepath.Split(path)
	file, err := filestate.Open(folder + strings.TrimSuffix(name, "config.json") + "hf_quant_config.json")
	if err != nil {
		return q
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostConfigBytes))
	if err != nil || json.Unmarshal(text, &q) != nil {
		return quantization{}
	}
	return q
}

// config is what a config.json has. A key that is absent or null is empty.
type config struct {
	Architectures []string `json:"architectures"`

	ModelType string `json:"model_type"`
	TorchType string `json:"torch_dtype"`
	NewerType string `json:"dtype"` // its name since transformers 4.56

	IndexTypes    []string `json:"indexer_types"`    // whether layers have an index for sparse attention of their own
	ValuesAreKeys bool     `json:"attention_k_eq_v"` // the values of layers without a window are made of their keys

	Quantization quantization `json:"quantization_config"`
	StateType    string       `json:"mamba_ssm_dtype"`
	MambaType    string       `json:"mamba_ssm_cache_dtype"`
	BlockTypes   []string     `json:"layers_block_type"`
	BlockPattern string       `json:"hybrid_override_pattern"`
	LayerTypes   []string     `json:"layer_types"`
	RopeLayers   []int        `json:"no_rope_layers"` // 1 for a layer with chunks, 0 for one without

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
		return 0, fmt.Errorf("%s is missing; want a config.json of Hugging Face that has it, or %s", key, byGroups)
	}
	return c.number(key, 0, 1, most)
}

// textKeys are where models that see images or hear have the configuration of their text.
var textKeys = []string{"text_config", "llm_config", "language_config", "thinker_config"}

// ParseConfig is ReadConfig for the content of a file.
func ParseConfig(text []byte) (s Shape, err error) { return parse(text, quantization{}) }

// parse is ParseConfig with what another file says of quantisation, which counts if the configuration says nothing.
func parse(text []byte, beside quantization) (s Shape, err error) {
	outer, err := decode(withoutPythonNumbers(text))
	if err != nil {
		return s, err
	}
	if !outer.Quantization.given() {
		outer.Quantization = beside
	}
	c, err := outer.ofText()
	if err != nil {
		return s, err
	}
	family, err := c.find(&outer)
	if err != nil {
		return s, err
	}
	if s, err = family.read(c, family); err != nil {
		return s, err
	}
	s.Compute = c.compute(s)
	// The numbers that a family has by itself stay: DeepSeek V4 has a layout of its own.
	s.Acts, err = c.numbers()
	if s.Type == "" {
		s.Type = s.Acts
		if kept := c.Quantization.keysAndValues(); kept != "" && err == nil {
			s.Type = kept
		}
	}
	return s, err
}

// ofText returns the configuration of the text of a model, which is the whole of most.
func (c *config) ofText() (*config, error) {
	for _, key := range textKeys {
		if c.keys[key] == nil || c.has("num_hidden_layers") || c.has("n_layer") {
			continue
		}
		inner, err := decode(c.keys[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if inner.TorchType == "" && inner.NewerType == "" {
			inner.TorchType, inner.NewerType = c.TorchType, c.NewerType
		}
		if !inner.Quantization.given() {
			inner.Quantization = c.Quantization
		}
		return inner.ofText()
	}
	return c, nil
}

// quantization is how a file says that weights, and keys and values, have fewer bits: the key quantization_config of a
// config.json, or NVIDIA's hf_quant_config.json beside it.
type quantization struct {
	Method  string          `json:"quant_method"`
	Scheme  json.RawMessage `json:"kv_cache_scheme"`     // of compressed-tensors and ModelOpt
	Algo    string          `json:"kv_cache_quant_algo"` // of ModelOpt
	Weights string          `json:"quant_algo"`
	Bits    float64         `json:"bits"`
	Inner   *quantization   `json:"quantization"`
}

func (q quantization) given() bool {
	return q.Method != "" || q.Inner != nil || q.Algo != "" || q.Scheme != nil
}

// keysAndValues returns the type of keys and values that is stated; "" if none is.
func (q quantization) keysAndValues() string {
	if q.Inner != nil && q.Inner.keysAndValues() != "" {
		return q.Inner.keysAndValues()
	}
	var scheme struct {
		Bits int    `json:"num_bits"`
		Type string `json:"type"`
	}
	name := q.Algo
	if q.Scheme != nil && json.Unmarshal(q.Scheme, &scheme) != nil {
		_ = json.Unmarshal(q.Scheme, &name) // a name alone
	}
	switch {
	case scheme.Bits == 8 && scheme.Type == "int", strings.EqualFold(name, "int8"):
		return "int8"
	case scheme.Bits == 8, strings.HasPrefix(strings.ToLower(name), "fp8"):
		return "fp8"
	case scheme.Bits == 4, strings.EqualFold(name, "nvfp4"):
		return "nvfp4"
	}
	return ""
}

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

// numbers returns the type of the activations. A configuration that states none has 16 bits; engines serve one with 32
// bits in 16.
func (c *config) numbers() (string, error) {
	text := cmp.Or(c.TorchType, c.NewerType)
	if text == "" || text == "auto" {
		return "bf16", nil
	}
	typ, err := parseType(text)
	if typ == "fp32" {
		typ = "bf16"
	}
	return typ, err
}

// heads returns what one layer with heads keeps.
func (c *config) heads(a *arch) (l Layers, err error) {
	heads, err := c.need("num_attention_heads", mostNumbers)
	if err != nil {
		return l, err
	}
	if l.Heads, err = c.number("num_key_value_heads", min(heads, cmp.Or(a.kvHeads, heads)), 1, heads); err != nil {
		return l, err
	}
	if c.has("head_dim") || a.size > 0 {
		l.Key, err = c.number("head_dim", a.size, 1, mostNumbers)
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

// linear stands for the window of a layer with linear attention, which has a state.
const linear = -1

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
				"attention or *, mamba or M, moe or E, mlp or -; %s", typ, byGroups)
		}
	}
	return windows, nil
}

// layers returns the window of each layer that keeps something, 0 for none, linear for a layer with a state.
func (c *config) layers(a *arch) ([]int, error) {
	layers, err := c.need("num_hidden_layers", mostLayers)
	if err != nil {
		return nil, err
	}
	windows := make([]int, layers)
	switch {
	case c.LayerTypes != nil:
		err = c.typedWindows(windows)
	case a.windows != nil:
		err = a.windows(c, windows)
	case c.has("sliding_window") && c.flag("use_sliding_window", true):
		err = fmt.Errorf("sliding_window: layer_types is missing, so which layers of a %s have a window is not known; %s",
			strings.Fields(a.names)[0], byGroups)
	}
	if err != nil {
		return nil, err
	}
	// The last layers may use keys and values of earlier ones.
	shared, err := c.number("num_kv_shared_layers", 0, 0, max(0, len(windows)-1))
	return windows[:len(windows)-shared], err
}

// withWindow fills in the window of the layers that have it, if the file states one.
func withWindow(c *config, layers []int, has func(layer int) bool) error {
	if !c.has("sliding_window") || !c.flag("use_sliding_window", true) {
		return nil
	}
	window, err := c.need("sliding_window", mostTokens)
	return fill(layers, window, err, has)
}

// everyWindow is of models all of whose layers have the window.
func everyWindow(c *config, layers []int) error {
	return withWindow(c, layers, func(int) bool { return true })
}

// evenWindows is of models in which every other layer has the window, from the first on.
func evenWindows(c *config, layers []int) error {
	return withWindow(c, layers, func(layer int) bool { return layer%2 == 0 })
}

// lastGlobal is of models in which all layers but the last of so many have the window.
func lastGlobal(pattern int) func(*config, []int) error {
	return func(c *config, layers []int) error {
		pattern, err := c.number("sliding_window_pattern", pattern, 1, mostLayers)
		if err != nil {
			return err
		}
		return withWindow(c, layers, func(layer int) bool { return (layer+1)%pattern != 0 })
	}
}

// patternWindows is of EXAONE, whose sliding_window_pattern is a number or letters: L for a layer with the window.
func patternWindows(c *config, layers []int) error {
	var letters string
	if json.Unmarshal(c.keys["sliding_window_pattern"], &letters) != nil {
		return lastGlobal(4)(c, layers)
	}
	if strings.Trim(letters, "LG") != "" || letters == "" {
		return fmt.Errorf("sliding_window_pattern: %.40q: want letters L and G, or a number", letters)
	}
	return withWindow(c, layers, func(layer int) bool {
		return letters[layer%len(letters)] == 'L' && layer < len(layers)-1
	})
}

// qwenWindows is of Qwen2 and Qwen3: the window is off unless the file says otherwise, and begins at a layer.
func qwenWindows(c *config, layers []int) error {
	if !c.flag("use_sliding_window", false) {
		return nil
	}
	first, err := c.number("max_window_layers", len(layers), math.MinInt, math.MaxInt)
	if err != nil {
		return err
	}
	return withWindow(c, layers, func(layer int) bool { return layer >= first })
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
		default:
			err = fmt.Errorf("layer_types: %.40q is not supported; want full_attention, sliding_attention, chunked_attention "+
				"or linear_attention; %s", typ, byGroups)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chunks fills in the windows of Llama 4: layers with rotary positions attend within chunks, one in four to all.
func chunks(c *config, windows []int) error {
	if !c.has("attention_chunk_size") {
		return nil
	}
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
