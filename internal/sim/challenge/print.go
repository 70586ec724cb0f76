package challenge

import (
	"fmt"
	"io"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/policies"
)

// Row is a workload that was found, as csv and json have it.
type Row struct {
	Policy    string  `json:"policy"`
	HitRatio  float64 `json:"hit_ratio"`
	Best      string  `json:"best"` // of the others
	BestRatio float64 `json:"best_hit_ratio"`
	Behind    float64 `json:"behind"` // the difference
	Capacity  int     `json:"capacity"`
	Requests  int     `json:"requests"`
	Trace     string  `json:"trace"` // a generator in the format of `cachesim run`
	Tries     int     `json:"tries"`
	Seed      uint64  `json:"seed"` // of the search
}

// Rows returns what a search with these policies and options has found.
func Rows(found []Found, specs []policies.Spec, o Options) (rows []Row) {
	for _, f := range found {
		rows = append(rows, Row{Policy: specs[0].String(), HitRatio: f.Hits[0], Best: specs[1+f.Best].String(),
			BestRatio: f.Hits[1+f.Best], Behind: f.Behind(), Capacity: o.Capacity, Requests: f.Workload.Requests(),
			Trace: f.Workload.Generator(f.Seed), Tries: o.Tries, Seed: o.Seed})
	}
	return rows
}

// Print prints the rows as table, csv, json (a row per line) or markdown.
func Print(w io.Writer, rows []Row, policy policies.Spec, o Options, format string) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return printTable(w, rows, policy, o, format) },
		CSV:   tabular.EachCSV(rows),
		JSON:  tabular.EachJSON(rows),
	}.Print(w, format)
}

func percent(ratio float64) string { return fmt.Sprintf("%.2f%%", 100*ratio) }

var columns = []tabular.Column[Row]{
	{Head: tabular.Head{Name: "hit ratio", Weight: tabular.Key}, Cell: func(r Row) string { return percent(r.HitRatio) }},
	{Head: tabular.Head{Name: "best of the others", IsText: true, Weight: tabular.Key},
		Cell: func(r Row) string { return r.Best }},
	{Head: tabular.Head{Name: "its hit ratio", Weight: tabular.Key},
		Cell: func(r Row) string { return percent(r.BestRatio) }},
	{Head: tabular.Head{Name: "behind", Weight: tabular.Key},
		Cell: func(r Row) string { return fmt.Sprintf("%.2f pp", 100*r.Behind) }},
	{Head: tabular.Head{Name: "requests", Weight: 1},
		Cell: func(r Row) string { return show.Count(int64(r.Requests)) }},
}

func printTable(w io.Writer, rows []Row, policy policies.Spec, o Options, format string) error {
	title := fmt.Sprintf("where %s is furthest behind, at %s objects, in %s workloads of up to %s requests", policy,
		show.Count(int64(o.Capacity)), show.Count(int64(o.Tries)), show.Count(int64(o.Requests)))
	if len(rows) == 0 {
		_, err := fmt.Fprintf(w, "%s: nowhere\n", title)
		return err
	}
	if err := tabular.PrintTables(w, format, title, tabular.GridOf(columns, rows)); err != nil {
		return err
	}
	text := "\nto replay them:\n"
	for _, r := range rows {
		text += fmt.Sprintf("\n    cachesim run '%s' --policy '%s,%s' --capacity %d --seed %d\n", r.Trace, r.Policy, r.Best,
			r.Capacity, r.Seed)
	}
	_, err := io.WriteString(w, text)
	return err
}
