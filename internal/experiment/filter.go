package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
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
	stays := make([]bool, len(cells))
	for i := range cells {
		stays[i] = !cells[i].Auxiliary
	}
	for _, condition := range only {
		match, err := parseCondition(condition, cells)
		if err != nil {
			return nil, fmt.Errorf("--only %s: %w", condition, err)
		}
		for i := range cells {
			stays[i] = stays[i] && match(i)
		}
	}
	if !slices.Contains(stays, true) {
		return nil, fmt.Errorf("--only %s: no cell matches all of them at once", strings.Join(only, " "))
	}
	return withReferences(cells, stays), nil
}

// parseCondition parses "dimension=place,place"; the cells must have both the dimension and the places.
func parseCondition(text string, cells []Cell) (match func(i int) bool, err error) {
	name, list, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok || list == "" {
		return nil, fmt.Errorf("want a dimension and its places, for example policy=lru,arc")
	}
	names := namesOf(cells)
	if exist := append(slices.Clone(dimensions), records.AxisNames(names)...); !slices.Contains(exist, name) {
		return nil, suggest.Unknown("dimension", name, exist)
	}
	wanted, err := params.Split(list, ',')
	if err != nil {
		return nil, err
	}
	exist := placesOn(name, cells)
	for i, place := range wanted {
		wanted[i] = strings.TrimSpace(place)
		if !slices.Contains(exist, wanted[i]) {
			return nil, suggest.Unknown(name, wanted[i], exist)
		}
	}
	once := make([]bool, len(cells))
	if name == records.DimSeed {
		once = records.RanOnce(names)
	}
	return func(i int) bool {
		place, ok := cells[i].Dim(name)
		return !ok || once[i] || slices.Contains(wanted, place.Text)
	}, nil
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

func placesOn(dimension string, cells []Cell) (places []string) {
	for _, c := range cells {
		if place, ok := c.Dim(dimension); ok && !c.Auxiliary && !slices.Contains(places, place.Text) {
			places = append(places, place.Text)
		}
	}
	return places
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
