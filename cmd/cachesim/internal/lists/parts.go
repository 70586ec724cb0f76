package lists

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/sim"
)

type partJSON struct {
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"`
	Traits     []string    `json:"traits"`
	Parameters []paramJSON `json:"parameters"`
}

func Parts(kind *sim.Kind) List {
	l := List{
		Noun: kind.Name,
		Columns: []tabular.Head{wordHead(kind.Name), textHead(kind.Decides), textHead("parameters"),
			textHead("source")},
		Narrow: []tabular.Head{wordHead(kind.Name), textHead(kind.Decides + ", parameters, source")},
	}
	for _, e := range kind.Entries() {
		name, accepts := e.Signature()
		d, defaults := e.Describe(), defaultsOf(accepts)
		about := []string{fmt.Sprintf("%s: %s", name, d.Summary)}
		for _, trait := range d.Traits {
			about = append(about, "  "+trait)
		}
		about = append(about, "  source: "+d.Source)
		l.Items = append(l.Items, Item{
			Name:   name,
			Row:    []string{name, d.Summary, defaults, d.Source},
			Narrow: []string{name},
			Texts:  []string{d.Summary, breakable(defaults), d.Source},
			About:  append(about, aboutParams(accepts)...),
			JSON:   partJSON{name, d.Summary, d.Source, append([]string{}, d.Traits...), paramsJSON(accepts)},
		})
	}
	return l
}
