package lists

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/cachesim/cachesim/internal/metric"
)

// metricJSON is a metric as JSON has it.
type metricJSON struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit"`
	Better string   `json:"better"` // "higher", "lower" or ""
	Merge  string   `json:"of_several_parts"`
	By     []string `json:"produced_by"`
	Doc    string   `json:"meaning"`
}

// Metrics lists the metrics of records.
func Metrics() List {
	l := List{
		Noun:    "metric",
		Columns: table.Row{"metric", "unit", "better", "of several parts", "produced by", "meaning"},
		Narrow:  table.Row{"metric", "unit", "better", "meaning, produced by"},
		Beside:  42,
		Least:   30,
	}
	for _, d := range metric.All() {
		by, name := strings.Join(d.By, ", "), metricName(d)
		l.Items = append(l.Items, Item{
			Name:   d.Name,
			Row:    table.Row{name, d.Unit, d.Better.String(), d.Merge, by, d.Doc},
			Narrow: table.Row{name, d.Unit, d.Better.String()},
			Texts:  []string{d.Doc, "by " + by},
			JSON:   metricJSON{name, string(d.Unit), d.Better.String(), d.Merge.String(), d.By, d.Doc},
		})
	}
	return l
}

// metricName is the name of a metric; one by labels has a place for them.
func metricName(d metric.Declared) string {
	if d.Labels != "" {
		return d.Name + "[" + d.Labels + "]"
	}
	return d.Name
}
