package llm

import (
	_ "embed" // the table
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Model is a preset: a published model with the shape that its configuration states.
type Model struct {
	Name   string
	Shape  Shape
	Source string // the repository of the configuration, and its file
}

// table has the presets, in families, as their repositories on Hugging Face configure them in config.json. A row has
// the name, the repository, where the numbers were read, all parameters in 10^9 and those that a token passes through,
// the bits of a parameter, the operations of attention per token and preceding token in 1024 (behind @, the window of
// which they are), the type of the numbers in keys and values and in states, and what the layers keep, as ParseGroups
// reads it. The numbers were read from copies of the files, and from programs that name the repository beside their
// numbers:
//
//	a  PyPI aiconfigurator-core 0.12.0, model_configs: the files as they are
//	b  NVIDIA-NeMo/Megatron-Bridge 0.3.1, models: glm45_provider.py, deepseek_provider.py, mistral_provider.py
//	c  huggingface/candle, candle-transformers, models/yi.rs
//	f  foundation-model-stack/foundation-model-stack (IBM), fms/models/granite.py
//	l  Lightning-AI/litgpt 0.5.13, litgpt/config.py
//	m  mlc-ai/mlc-llm, python/mlc_llm/model/model_preset.py: the files as they are. OLMo 2 states fp32 there, which
//	   engines keep as 16 bits
//	n  NVIDIA/TensorRT-LLM, tests/unittest/_torch/modeling/test_modeling_phi3.py: the file as it is
//	s  huggingface/transformers 5.24.0, configuration_cohere.py: the defaults, which are those of Command R
//	t  kevinstephano/thunder_model_blocks, mistral/mistral_config.py: the file as it is
//	v  the technical reports of MiniMax-M1 (arXiv 2506.13585) and Step-3 (arXiv 2507.19427), and the classes of vLLM
//
// Parameters are those of the formulas in compute.go for the files of a and l, and those that the publisher states for
// the others. Kimi K2.5 to K2.7 are published in 4 bits.
//
//go:embed models.txt
var table string

// columns of a row of the table.
const (
	nameColumn = iota
	repositoryColumn
	readColumn
	parametersColumn
	activeColumn
	bitsColumn
	attentionColumn
	typeColumn
	stateTypeColumn
	groupsColumn
	columns
)

// presets reads the table.
var presets = sync.OnceValue(func() (all []Model) {
	for line := range strings.Lines(strings.TrimSpace(table)) {
		m, err := parsePreset(strings.Split(strings.TrimSpace(line), "|"))
		if err != nil {
			panic(fmt.Sprintf("llm: preset %q: %v", line, err)) // a test reads all of them
		}
		all = append(all, m)
	}
	return all
})

func parsePreset(row []string) (m Model, err error) {
	if len(row) != columns {
		return m, fmt.Errorf("%d columns", len(row))
	}
	m = Model{Name: row[nameColumn], Source: row[repositoryColumn] + " config.json"}
	if m.Shape, err = ParseGroups(row[groupsColumn]); err != nil {
		return m, err
	}
	m.Shape.Type, m.Shape.Acts = row[typeColumn], "bf16"
	for i := range m.Shape.States {
		m.Shape.States[i].Type = row[stateTypeColumn]
	}
	c := &m.Shape.Compute
	for _, number := range []struct {
		to     *float64
		column int
		unit   float64
	}{{&c.Parameters, parametersColumn, 1e9}, {&c.Active, activeColumn, 1e9}, {&c.Bits, bitsColumn, 1}} {
		n, err := strconv.ParseFloat(row[number.column], 64)
		if err != nil {
			return m, err
		}
		*number.to = n * number.unit
	}
	c.Float4 = c.Bits == 4.25 // MXFP4
	for part := range strings.SplitSeq(row[attentionColumn], "+") {
		operations, window, windowed := strings.Cut(part, "@")
		n, err := strconv.ParseFloat(operations, 64)
		tokens := 0
		if err == nil && windowed {
			tokens, err = strconv.Atoi(window)
		}
		if err != nil {
			return m, err
		}
		c.Attention = append(c.Attention, Attention{n * 1024, tokens})
	}
	return m, nil
}

// Models returns the presets, in families.
func Models() []Model { return slices.Clone(presets()) }

// Names returns the names of the presets.
func Names() (names []string) {
	for _, m := range presets() {
		names = append(names, m.Name)
	}
	return names
}

// Find returns a preset by its name, or by that of a model as logs and Hugging Face write it: a repository
// (meta-llama/Llama-3.1-70B-Instruct), whatever was tuned or quantised. Case does not matter. Parameters have the bits
// that the name states (AWQ, FP8); keys and values are not affected.
func Find(name string) (Model, error) {
	wanted, weights := short(name)
	for _, exact := range []bool{true, false} {
		for _, m := range presets() {
			if exact && !strings.EqualFold(m.Name, name) || !exact && !m.is(wanted) {
				continue
			}
			if weights != "" {
				m.Shape.Compute, _ = m.Shape.As(weights)
			}
			return m, nil
		}
	}
	return Model{}, suggest.Unknown("model", name, Names())
}

// is reports whether a short name is that of the preset or of its repository.
func (m Model) is(wanted string) bool {
	own, _ := short(m.Name)
	repository, _ := short(strings.TrimSuffix(m.Source, " config.json"))
	return wanted != "" && (wanted == own || wanted == repository)
}

// words of a model's name that do not change what it keeps, beside the types of parameters.
const words = " instruct hf it chat base meta nvidia turbo thinking preview gguf dynamic static pertensor quantized " +
	"online latest versatile instant 2407 2501 2506 2507 2512 0324 0528 0711 0905 1124 0325 "

// short returns the words of a name that say what the model keeps, one after another, and the type of the parameters
// that another states; "" for none.
func short(name string) (text, weights string) {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	between := func(r rune) bool { return strings.ContainsRune("-_: @", r) }
	for word := range strings.FieldsFuncSeq(name, between) {
		switch {
		case slices.Contains(WeightTypes(), word):
			weights = word
		case !strings.Contains(words, " "+word+" "):
			text += word
		}
	}
	return text, weights
}
