package report

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

// pivots makes the tables of the experiment. A table of which there are no records, or not enough, is left out with a note that says so.
func pivots(in Input) (tables []*records.Tables, notes []string) {
	for _, t := range in.File.Tables {
		recs := selected(in.Records, t.Only, in.File.Groups)
		if len(recs) == 0 {
			notes = append(notes, fmt.Sprintf("table %s: there are no records for it", t.Name))
			continue
		}
		pivot := records.Pivot{
			Title: t.Title, Rows: t.Rows, Columns: t.Columns, Cells: t.Cells, Panels: t.Panels, Against: reference(in.File, t.Against),
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

// agreements says of each table beside published numbers how many of ours agree.
func agreements(tables []*records.Tables) (said []string) {
	for _, t := range tables {
		if t.Against == nil {
			continue
		}
		title := t.Title
		if title == "" {
			title = records.MetricName(t.Pivot.Cells)
		}
		for _, note := range t.Notes {
			if strings.Contains(note, t.Against.Name) {
				said = append(said, title+": "+note)
			}
		}
	}
	return said
}
