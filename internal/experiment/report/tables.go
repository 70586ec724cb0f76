package report

import (
	"cmp"
	"fmt"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// pivots creates the experiment's tables. A table without records, or with too few, is left out with a note.
func pivots(in Input) (tables []*results.Tables, notes []string) {
	for _, t := range in.File.Tables {
		recs := selected(byLabel(in.Records, t.Cells), t.Only, in.File.Groups)
		if len(recs) == 0 {
			notes = append(notes, fmt.Sprintf("table %s: there are no records for it", t.Name))
			continue
		}
		pivot := results.Pivot{
			Title: t.Title, Rows: t.Rows, Columns: t.Columns, Cells: t.Cells, Panels: t.Panels,
			Against: reference(in.File, t.Against),
		}
		made, err := pivot.Tables(recs)
		if err != nil {
			notes = append(notes, fmt.Sprintf("table %s: %v", t.Name, err))
			continue
		}
		tables = append(tables, made)
	}
	return tables, notes
}

// agreements says for each table with published numbers how many of ours agree, which is the last of its notes.
func agreements(tables []*results.Tables) (said []string) {
	for _, t := range tables {
		if t.Against != nil {
			said = append(said, agreement(t))
		}
	}
	return said
}

// agreement says how many numbers of a table agree with what was published.
func agreement(t *results.Tables) string {
	return cmp.Or(t.Title, records.MetricName(t.Pivot.Cells)) + ": " + t.Notes[len(t.Notes)-1]
}
