package lists

import (
	"strings"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/tabular"
)

type keyValuesJSON struct {
	Model      string  `json:"model"`
	Layers     string  `json:"layers"`
	Groups     string  `json:"groups"`               // the layers, as --kv groups= takes them
	Bytes      float64 `json:"bytes_per_token"`      // that all layers keep
	Full       float64 `json:"full_bytes_per_token"` // in layers without a window
	State      float64 `json:"state_bytes"`          // of a prefix
	Parameters float64 `json:"parameters"`
	Active     float64 `json:"active_parameters"` // that a token passes through
	Source     string  `json:"source"`
}

// KeyValues lists the language models whose keys and values are known.
func KeyValues() List {
	l := List{
		Noun: "model",
		Columns: []tabular.Head{wordHead("model"), {Name: "per token"}, {Name: "beyond windows"}, textHead("layers"),
			textHead("source")},
		Kept: 3, Below: "layers, source",
	}
	for _, m := range llm.Models() {
		kv, err := m.Shape.KeyValues("", 1)
		if err != nil {
			panic(err) // a test reads all of them
		}
		beyond := ""
		if len(kv.Windowed) > 0 {
			beyond = memory.Bytes(int64(kv.Full))
		}
		l.Items = append(l.Items, Item{
			Name:  m.Name,
			Row:   []string{m.Name, memory.Bytes(int64(kv.PerToken())), beyond, kv.About, m.Source},
			Texts: []string{strings.TrimSpace(kv.About), m.Source},
			JSON: keyValuesJSON{m.Name, kv.About, m.Shape.Groups(), kv.PerToken(), kv.Full, kv.State,
				m.Shape.Parameters, m.Shape.Active, m.Source},
		})
	}
	return l
}
