package challenge

import (
	"fmt"
	"io"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
)

// Row is a workload that was found, as csv and json have it.
type Row struct {
	Variant   string  `json:"variant"`
	Metric    string  `json:"metric"`
	Value     float64 `json:"value"`
	Best      string  `json:"best"` // of the others
	BestValue float64 `json:"best_value"`
	Behind    float64 `json:"behind"`             // the difference of hit ratios, or the further share of the P99
	Capacity  int     `json:"capacity,omitempty"` // objects
	Requests  int     `json:"requests"`
	Trace     string  `json:"trace"` // a generator in the format of `cachesim run`
	Command   string  `json:"command"`
	Workloads string  `json:"workloads"`
	Tries     int     `json:"tries"`
	Seed      uint64  `json:"seed"` // of the search
}

// Rows returns what a search with these options has found.
func (c *Contest) Rows(all Searched, o Options) (rows []Row) {
	for _, f := range all.Found {
		text := f.Workload.Generator(f.Seed)
		rows = append(rows, Row{Variant: entrant(c.Parts[0]), Metric: c.Kind.metric(), Value: f.Values[0],
			Best: entrant(c.Parts[1+f.Best]), BestValue: f.Values[1+f.Best], Behind: f.Behind, Capacity: o.Capacity,
			Requests: f.Requests, Trace: text, Command: c.command(text, f.Best, o), Workloads: c.Kind.Name,
			Tries: all.Tried, Seed: o.Seed})
	}
	return rows
}

func (k *Kind) metric() string {
	if k.timed {
		return "latency_p99_ms"
	}
	return "hit_ratio"
}

// Print prints what a search has found as table, csv, json (a row per line) or markdown.
func (c *Contest) Print(w io.Writer, all Searched, o Options, format string) error {
	rows := c.Rows(all, o)
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return c.printTable(w, rows, all, o, format) },
		CSV:   tabular.EachCSV(rows),
		JSON:  tabular.EachJSON(rows),
	}.Print(w, format)
}

// columns returns the columns of the table of a kind.
func (k *Kind) columns() []tabular.Column[Row] {
	name := "hit ratio"
	value := func(ratio float64) string { return fmt.Sprintf("%.2f%%", 100*ratio) }
	behind := func(lag float64) string { return fmt.Sprintf("%.2f pp", 100*lag) }
	if k.timed {
		name = "P99 ms"
		value = func(ms float64) string { return fmt.Sprintf("%.3f", ms) }
		behind = func(lag float64) string { return fmt.Sprintf("+%.1f%%", 100*lag) }
	}
	return []tabular.Column[Row]{
		{Head: tabular.Head{Name: name, Weight: tabular.Key}, Cell: func(r Row) string { return value(r.Value) }},
		{Head: tabular.Head{Name: "best of the others", IsText: true, Weight: tabular.Key},
			Cell: func(r Row) string { return r.Best }},
		{Head: tabular.Head{Name: "its " + name, Weight: tabular.Key},
			Cell: func(r Row) string { return value(r.BestValue) }},
		{Head: tabular.Head{Name: "behind", Weight: tabular.Key},
			Cell: func(r Row) string { return behind(r.Behind) }},
		{Head: tabular.Head{Name: "requests", Weight: 1},
			Cell: func(r Row) string { return show.Count(int64(r.Requests)) }},
	}
}

func (c *Contest) printTable(w io.Writer, rows []Row, all Searched, o Options, format string) error {
	title := fmt.Sprintf("where %s is furthest behind, ", entrant(c.Parts[0]))
	if o.Capacity > 0 {
		title += fmt.Sprintf("at %s objects, ", show.Count(int64(o.Capacity)))
	}
	title += fmt.Sprintf("in %s workloads of up to %s requests (%s)", show.Count(int64(all.Tried)),
		show.Count(int64(o.Requests)), c.Kind.Name)
	refused := ""
	if all.Refused > 0 {
		refused = fmt.Sprintf("\n%s of the workloads were not replayed: what was drawn excludes each other, or they are "+
			"too short or too long\n", show.Count(int64(all.Refused)))
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintf(w, "%s: nowhere\n%s", title, refused)
		return err
	}
	if err := tabular.PrintTables(w, format, title, tabular.GridOf(c.Kind.columns(), rows)); err != nil {
		return err
	}
	text := "\nto replay them:\n"
	for _, r := range rows {
		text += "\n    " + r.Command + "\n"
	}
	_, err := io.WriteString(w, text+refused)
	return err
}
