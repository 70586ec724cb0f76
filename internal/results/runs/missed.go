package runs

import (
	"fmt"
	"io"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim/lives"
	"github.com/cachesim/cachesim/internal/traces"
)

// Missed is an object of a trace with its requests that missed.
type Missed struct {
	Key string
	lives.Missed
}

// MissedOf names objects of a trace, which must have its keys.
func MissedOf(t *traces.Trace, top []lives.Missed) (named []Missed) {
	for _, m := range top {
		named = append(named, Missed{t.Keys[m.Object].String(), m})
	}
	return named
}

// MissedTable has the objects that miss most, of the best policy at each capacity or else of the first one. missed has
// those of each record.
func MissedTable(recs []records.Record, missed [][]Missed) (g tabular.Grid) {
	g.Heads = []tabular.Head{{Name: "capacity", Weight: tabular.Key}, {Name: "policy", IsText: true, Weight: 50},
		{Name: "object", IsText: true, Weight: tabular.Key, Wrap: 24}, {Name: "requests", Weight: 60},
		{Name: "misses", Weight: tabular.Key}, {Name: "share", Weight: 70}}
	shown := records.BestOrFirst(recs)
	for i, r := range recs {
		if i >= len(missed) || len(missed[i]) == 0 || !shown(&r) {
			continue
		}
		if len(g.Rows) > 0 {
			g.Rows = append(g.Rows, nil) // a line
		}
		capacity, policy := show.Capacity(r.Capacity, r.CapacityUnit), r.Label
		for _, m := range missed[i] {
			row := []string{capacity, policy, show.Printable(m.Key), show.Count(m.Requests), show.Count(m.Misses),
				show.Share(float64(m.Misses) / float64(max(1, r.Int(metric.Misses))))}
			if m.Bytes > 0 {
				row = append(row, show.Size(m.Bytes, 4))
			}
			g.Rows = append(g.Rows, row)
			capacity, policy = "", ""
		}
	}
	if len(g.Rows) > 0 && len(g.Rows[0]) > len(g.Heads) {
		g.Heads = append(g.Heads, tabular.Head{Name: "missed bytes", Weight: 65})
	}
	return g
}

const missedTitle = "Objects that miss most"

// PrintMissed prints the objects that miss most, if they were asked for, as table or markdown.
func (r Results) PrintMissed(w io.Writer, format string) error {
	if len(r.Missed.Rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return tabular.PrintTables(w, format, missedTitle, r.Missed)
}
