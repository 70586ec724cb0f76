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
		Columns: []tabular.Head{wordHead("metric"), wordHead("unit"), wordHead("better"), wordHead("of several parts"),
			textHead("produced by"), textHead("meaning")},
		Narrow: []tabular.Head{textHead("metric"), wordHead("unit"), wordHead("better"), textHead("meaning, produced by")},
	}
	for _, d := range metric.All() {
		by, name := strings.Join(d.By, ", "), metricName(d)
		l.Items = append(l.Items, Item{
			Name:   d.Name,
			Row:    []string{name, string(d.Unit), d.Better.String(), d.Merge.String(), by, d.Doc},
			Narrow: []string{name, string(d.Unit), d.Better.String()},
			Texts:  []string{d.Doc, "by " + by},
			JSON:   metricJSON{name, string(d.Unit), d.Better.String(), d.Merge.String(), d.By, d.Doc},
		})
	}
	return l
}

// metricName is the name of a metric; one by labels has a place for them.
func metricName(d metric.Declared) string {
	if d.Labels != "" {
		return d.Of(d.Labels)
	}
	return d.Name
}
