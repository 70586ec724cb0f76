package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

// Filter returns the cells that match every condition in only: "policy=lru,arc" matches the cells of two policies,
// likewise with trace, capacity, seed and the names of axes. A cell without such an axis matches, and a cell without
// random choices matches every seed. The optima that the remaining cells are compared with stay as auxiliary cells. It
// is an error if nothing matches.
func Filter(cells []Cell, only []string) ([]Cell, error) {
	if len(only) == 0 {
		return cells, nil
	}
	names := namesOf(cells)
	stays := make([]bool, len(cells))
	var there []records.Record
	for i := range cells {
		names[i].Policy = "" // labels name policies
		if stays[i] = !cells[i].Auxiliary; stays[i] {
			there = append(there, names[i])
		}
	}
	once := records.RanOnce(names)
	for _, text := range only {
		all, err := records.ParseConditions(text)
		if err == nil {
			err = records.CheckConditions(all, there)
		}
		if err != nil {
			return nil, fmt.Errorf("--only %s: %w", text, err)
		}
		for _, c := range all {
			for i := range cells {
				stays[i] = stays[i] && (c.Dimension == records.DimSeed && once[i] || names[i].MeetsIfPlaced([]records.Condition{c}))
			}
		}
	}
	if !slices.Contains(stays, true) {
		return nil, fmt.Errorf("--only %s: no cell matches all of them at once", strings.Join(only, " "))
	}
	return withReferences(cells, stays), nil
}

func namesOf(cells []Cell) []records.Record {
	recs := make([]records.Record, len(cells))
	for i := range cells {
		recs[i] = cells[i].names()
	}
	return recs
}

// RowNames returns the names in the future records of the cells of a trace, without auxiliary ones.
func RowNames(cells []Cell, trace string) (names []records.Record) {
	for i := range cells {
		if rec := cells[i].names(); !cells[i].Auxiliary {
			rec.Trace = cmp.Or(rec.Trace, trace)
			names = append(names, rec)
		}
	}
	return names
}

// withReferences returns the remaining cells and those that they are compared with, in their order.
func withReferences(cells []Cell, stays []bool) (kept []Cell) {
	held := map[string]bool{}
	for i, c := range cells {
		for _, hash := range c.Against {
			held[hash] = held[hash] || stays[i]
		}
	}
	for i, c := range cells {
		if stays[i] {
			held[c.Hash] = false // it needs no auxiliary cell beside it
		}
	}
	for i, c := range cells {
		if !stays[i] {
			if !held[c.Hash] {
				continue
			}
			held[c.Hash] = false // one of several cells with the hash is enough
			c.Auxiliary, c.Against = true, nil
		}
		kept = append(kept, c)
	}
	return kept
}
