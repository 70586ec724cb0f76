package lists

import (
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/tabular"
)

type metricJSON struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Better string   `json:"better"` // "higher", "lower" or ""
	Merge  string   `json:"of_several_parts"`
	By     []string `json:"produced_by"`
	Doc    string   `json:"meaning"`
}

func Metrics() List {
	l := List{
		Noun: "metric",
		Columns: []tabular.Head{textHead("metric"), wordHead("unit"), wordHead("better"), wordHead("of several parts"),
			textHead("produced by"), textHead("meaning")},
		Kept: 3, Line: []int{0, 1}, Below: "meaning, produced by",
	}
	for _, d := range metric.All() {
		by, name := strings.Join(d.By, ", "), d.Name
		if d.Labels != "" {
			name = d.Of(d.Labels) // a place for them
		}
		l.Items = append(l.Items, Item{
			Name:  d.Name,
			Row:   []string{name, string(d.Unit), d.Better.String(), d.Merge.String(), by, d.Doc},
			Texts: []string{d.Doc, "by " + by},
			JSON:  metricJSON{name, string(d.Unit), d.Better.String(), d.Merge.String(), d.By, d.Doc},
		})
	}
	return l
}
