package results

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
)

// ByCapacity has the hit ratios of records, a row for each capacity and a column for each policy.
func ByCapacity(recs []records.Record) tabular.Grid {
	g := tabular.Grid{Heads: []tabular.Head{{Name: "hit ratio at", Weight: tabular.Key}}}
	column := map[string]int{}
	var last string
	for _, r := range recs {
		capacity := show.Capacity(r.Capacity, r.CapacityUnit)
		if r.CapacityShare != nil {
			capacity += " (" + show.Share(*r.CapacityShare) + ")"
		}
		if capacity != last {
			g.Rows = append(g.Rows, []string{capacity})
			last = capacity
		}
		value, ok := r.Get(metric.HitRatio.Name)
		if !ok {
			continue
		}
		at, known := column[r.Label]
		if !known {
			at = len(g.Heads)
			column[r.Label] = at
			g.Heads = append(g.Heads, tabular.Head{Name: r.Label, Weight: 50})
		}
		row := &g.Rows[len(g.Rows)-1]
		for len(*row) <= at {
			*row = append(*row, "")
		}
		(*row)[at] = fmt.Sprintf("%.1f%%", 100*value)
	}
	for i := range g.Rows {
		for len(g.Rows[i]) < len(g.Heads) {
			g.Rows[i] = append(g.Rows[i], "")
		}
	}
	return g
}
