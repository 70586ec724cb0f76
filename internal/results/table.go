package results

import (
	"strings"

	"github.com/cachesim/cachesim/internal/base/tabular"
)

// Table returns what the table of the group shows, as texts: a row for each record with the best online policy of each
// capacity marked, and the notes below. labels has the policy of each row as figures name it.
func (g Group) Table() (grid tabular.Grid, labels, notes []string) {
	columns := columnsFor(g)
	grid.Heads = headsOf(columns)
	recs := byCapacity(g.Records)
	for i := range recs {
		var row []string
		for _, c := range columns {
			row = append(row, c.cell(&recs[i]))
		}
		grid.Rows, labels = append(grid.Rows, row), append(labels, recs[i].Label)
	}
	return grid, labels, strings.Split(strings.TrimSpace(footer(g, paint{})), "\n")
}
