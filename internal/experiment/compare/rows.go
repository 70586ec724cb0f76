package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
)

// Counts are numbers of cells. Equal cells are tied, too.
type Counts struct {
	Won  int `json:"won"`
	Lost int `json:"lost"`
	Tied int `json:"tied"`
}

func (c *Counts) add(o Outcome) {
	switch o {
	case Better, Above:
		c.Won++
	case Worse, Below:
		c.Lost++
	default:
		c.Tied++
	}
}

// Wins are the cells of a policy.
type Wins struct {
	Policy string `json:"policy"`
	Counts
	Ratio number `json:"ratio"` // as in Estimate, over these cells
}

// placer says at which places of the dimensions of rows a record is.
type placer struct {
	dimensions []string
	parts      []records.PartKind // that distinguish policies here
	ranks      map[string]int     // of capacities from 1, by trace and capacity; nil if they are not ranked
	ranked     int                // how many ranks there are
	alike      bool               // capacities in bytes, rounded for people, would be the same
}

// newPlacer returns a placer for records. Without dimensions, rows are policies at capacities, and at the places of
// axes.
func newPlacer(recs []records.Record, dimensions []string) (p placer, err error) {
	axes := records.AxisNames(recs)
	p.dimensions = dimensions
	if len(dimensions) == 0 {
		p.dimensions = append([]string{records.DimCapacity, records.DimPolicy}, axes...)
	}
	exist := append([]string{records.DimCapacity, records.DimPolicy, records.DimTrace}, axes...)
	for _, d := range p.dimensions {
		if !slices.Contains(exist, d) {
			return p, fmt.Errorf("--rows: %w", suggest.Unknown("dimension", d, exist))
		}
	}
	p.parts = slices.DeleteFunc(slices.Clone(records.PartKinds), func(k records.PartKind) bool {
		return !slices.ContainsFunc(recs, func(r records.Record) bool { return *k.Field(&r) != *k.Field(&recs[0]) })
	})
	p.ranks, p.ranked = ranksOf(recs)
	p.alike = areAlike(recs)
	return p, nil
}

// ranksOf numbers the capacities of each trace by their order, if they differ from trace to trace. That happens if a
// program prints shares as the numbers that they come to. Otherwise it returns nil.
func ranksOf(recs []records.Record) (ranks map[string]int, count int) {
	sizes := map[string][]int64{} // by trace
	on := map[int64]string{}      // the trace of a capacity
	for i := range recs {
		r := &recs[i]
		trace, known := on[r.Capacity]
		if isShare(r) || known && trace != r.Trace {
			return nil, 0
		}
		on[r.Capacity] = r.Trace
		if !slices.Contains(sizes[r.Trace], r.Capacity) {
			sizes[r.Trace] = append(sizes[r.Trace], r.Capacity)
		}
	}
	ranks, count = map[string]int{}, len(sizes[recs[0].Trace])
	for trace, all := range sizes {
		if len(sizes) < 2 || len(all) != count {
			return nil, 0
		}
		slices.Sort(all)
		for i, size := range all {
			ranks[rankKey(trace, size)] = i + 1
		}
	}
	return ranks, count
}

func rankKey(trace string, capacity int64) string { return fmt.Sprintf("%s\x00%d", trace, capacity) }

// isShare reports whether a user gave the capacity as a share of the trace.
func isShare(r *records.Record) bool { return strings.HasSuffix(r.CapacityText, "%") }

// areAlike reports whether different capacities have one text.
func areAlike(recs []records.Record) bool {
	number := map[string]int64{}
	for i := range recs {
		text := show.Capacity(recs[i].Capacity, recs[i].CapacityUnit)
		if other, seen := number[text]; seen && other != recs[i].Capacity {
			return true
		}
		number[text] = recs[i].Capacity
	}
	return false
}

// capacity returns the place of a record on the dimension capacity.
func (p placer) capacity(r *records.Record) string {
	switch {
	case p.ranks != nil:
		return fmt.Sprintf("size %d of %d", p.ranks[rankKey(r.Trace, r.Capacity)], p.ranked)
	case isShare(r):
		return show.Printable(r.CapacityText)
	case p.alike && r.CapacityUnit == records.Bytes:
		return show.Count(r.Capacity) + " B"
	}
	return show.Capacity(r.Capacity, r.CapacityUnit)
}

// policy returns the name of a record's policy, with the parts that distinguish it here.
func (p placer) policy(r *records.Record) string {
	name := r.Label
	for _, k := range p.parts {
		if part := *k.Field(r); part != "" {
			name += ", " + part
		} else if !k.Some {
			name += ", no " + k.Name
		}
	}
	return show.Printable(name)
}

func (p placer) places(r *records.Record) (places []string) {
	for _, d := range p.dimensions {
		switch d {
		case records.DimCapacity:
			places = append(places, p.capacity(r))
		case records.DimPolicy:
			places = append(places, p.policy(r))
		default:
			v, _ := r.Dim(d)
			places = append(places, show.Printable(v.Text))
		}
	}
	return places
}

// sizeOf returns the number by which capacities are ordered: the share, the number, or the rank.
func (p placer) sizeOf(r *records.Record) float64 {
	if p.ranks != nil {
		return float64(p.ranks[rankKey(r.Trace, r.Capacity)])
	}
	if x, err := strconv.ParseFloat(strings.TrimSuffix(r.CapacityText, "%"), 64); err == nil && isShare(r) {
		return x
	}
	return float64(r.Capacity)
}

// addRows makes the rows of the cells: by capacity if that is a dimension, otherwise in the order of the first run.
func (c *Comparison) addRows(v *Versus, p placer, cells []pairs) {
	rows := records.GroupBy(cells, func(each pairs) string { return strings.Join(p.places(each.record()), "\x00") })
	if slices.Contains(p.dimensions, records.DimCapacity) {
		slices.SortStableFunc(rows, func(a, b []pairs) int {
			return cmp.Compare(p.sizeOf(a[0].record()), p.sizeOf(b[0].record()))
		})
	}
	v.traces = countTraces(cells)
	for _, row := range rows {
		r := Row{Places: p.places(row[0].record()), At: map[string]string{},
			Estimate: c.quantity.estimate(c.independent(row)), Counts: c.wins("", row).Counts}
		for i, d := range p.dimensions {
			r.At[d] = r.Places[i]
		}
		v.Rows = append(v.Rows, r)
	}
	for _, same := range records.GroupBy(cells, func(each pairs) string { return p.policy(each.record()) }) {
		v.Wins = append(v.Wins, c.wins(p.policy(same[0].record()), same))
	}
	v.Wins = append(v.Wins, c.wins("all", cells))
}

func countTraces(cells []pairs) int {
	return len(records.Distinct(cells, func(each pairs) string { return each.record().Trace }))
}

// independent returns a sample for each trace of the cells or, if they are of one trace, for each seed. Cells of one
// trace, such as several capacities, are not independent: their mean is one sample.
func (c *Comparison) independent(cells []pairs) (all []sample) {
	byTrace := countTraces(cells) > 1
	key := func(p pair) string {
		if byTrace {
			return p.old.Trace
		}
		return strconv.FormatUint(p.old.Seed, 10)
	}
	for _, same := range records.GroupBy(slices.Concat(cells...), key) {
		if samples := c.samples(same); len(samples) > 0 {
			all = append(all, merged(samples))
		}
	}
	return all
}

// wins counts the cells that a run wins, and takes the geometric mean of its ratios over them.
func (c *Comparison) wins(policy string, cells []pairs) Wins {
	w := Wins{Policy: policy}
	var ratios []sample
	for _, each := range cells {
		samples := c.samples(each)
		w.add(c.quantity.estimate(samples).Outcome)
		ratios = append(ratios, merged(samples))
	}
	w.Ratio = c.quantity.estimate(ratios).Ratio
	return w
}
