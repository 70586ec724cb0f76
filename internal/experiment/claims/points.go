package claims

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

// maxPoints limits the number of points of a claim. Policies with axes of their own multiply them.
const maxPoints = 1 << 18

// anywhere is the place on a dimension that the records of a point do not have.
const anywhere = -1

// point is a place on every dimension where the policies of a claim have records.
type point struct {
	at    []int32 // the place on each dimension of Data, or anywhere
	cells []int32 // the cell of each slot, or absent
}

// absent is the cell of a group member that has no records at a point.
const absent = -1

type slot struct {
	label    int
	optional bool // present only as a member of a predefined group, which need not have records everywhere
	cells    []slotCell
	bySpot   map[spot][]int32 // the indices of its cells
}

func (s *slot) has(at spot) bool { return len(s.bySpot[at]) > 0 }

// slotCell is a cell as a claim sees it: one per seed if the claim mentions seeds.
type slotCell struct {
	spot spot
	at   []int32
	recs []int32
}

// slotCells returns the cells of a policy that match the conditions.
func (e *evaluator) slotCells(label int) (cells []slotCell) {
	for _, c := range e.d.cells[label] {
		at := e.emptyPoint().at
		at[traceDimension], at[capacityDimension] = c.spot.trace, c.spot.capacity
		for _, axis := range c.axes {
			at[axis.dimension] = axis.place
		}
		for _, sc := range e.bySeed(c, at) {
			if e.selected(sc) {
				cells = append(cells, sc)
			}
		}
	}
	return cells
}

// bySeed splits a cell by seed if the claim mentions seeds. A policy that ran once stands for every seed.
func (e *evaluator) bySeed(c cell, at []int32) []slotCell {
	if !e.bySeeds || len(c.recs) == 1 {
		return []slotCell{{c.spot, at, c.recs}}
	}
	split := make([]slotCell, len(c.recs))
	for i, rec := range c.recs {
		split[i] = slotCell{c.spot, slices.Clone(at), []int32{rec}}
		split[i].at[seedDimension] = c.seeds[i]
	}
	return split
}

// selected reports whether the cell matches all conditions. A condition on a dimension that the cell does not have
// always matches.
func (e *evaluator) selected(c slotCell) bool {
	all := true
	for i := range e.filters {
		f := &e.filters[i]
		if c.at[f.dimension] != anywhere && !f.holds(e.d, c) {
			all = false // the next condition too, because it stores which values occur
		}
	}
	return all
}

// join finds the points: every combination of cells of all slots that agree on their common dimensions.
func (e *evaluator) join() string {
	for _, s := range e.spots() {
		if missing := slices.IndexFunc(e.slots, func(sl slot) bool { return !sl.optional && !sl.has(s) }); missing >= 0 {
			e.skipped = append(e.skipped, fmt.Sprintf("no record of %s", e.d.labels[e.slots[missing].label]))
			continue
		}
		points := []point{e.emptyPoint()}
		for i := range e.slots {
			if points = e.extend(points, i, e.slots[i].bySpot[s]); len(points)+len(e.points) > maxPoints {
				return fmt.Sprintf("its policies have axes of their own, which give more than %d points; restrict them with "+
					"where", maxPoints)
			}
		}
		e.points = append(e.points, points...)
	}
	if len(e.points) == 0 {
		return e.whyNoPoints()
	}
	return ""
}

// spots lists the traces and capacities at which some slot has cells, and sorts the cells of each slot by them. Cells
// that count at all capacities are at each that others have.
func (e *evaluator) spots() (spots []spot) {
	seen := map[spot]bool{}
	for i := range e.slots {
		s := &e.slots[i]
		s.bySpot = map[spot][]int32{}
		for at, c := range s.cells {
			s.bySpot[c.spot] = append(s.bySpot[c.spot], int32(at))
			if !seen[c.spot] {
				seen[c.spot] = true
				spots = append(spots, c.spot)
			}
		}
	}
	var written []spot
	for _, at := range spots {
		everywhere := spot{at.trace, anywhere}
		if at == everywhere && slices.ContainsFunc(spots, func(s spot) bool { return s.trace == at.trace && s != at }) {
			continue
		}
		written = append(written, at)
		for i := range e.slots {
			if s := &e.slots[i]; at != everywhere {
				s.bySpot[at] = append(s.bySpot[at], s.bySpot[everywhere]...)
			}
		}
	}
	return written
}

func (e *evaluator) emptyPoint() point {
	return point{slices.Repeat([]int32{anywhere}, len(e.d.dimensions)), slices.Repeat([]int32{absent}, len(e.slots))}
}

// extend joins the points with the cells of slot i.
func (e *evaluator) extend(points []point, i int, cells []int32) (extended []point) {
	s := &e.slots[i]
	shared := e.sharedDimensions(points, s, cells)
	index := map[string][]int32{}
	for _, c := range cells {
		k := keyOn(s.cells[c].at, shared)
		index[k] = append(index[k], c)
	}
	used := map[int32]bool{}
	for _, p := range points {
		before := len(extended)
		for _, c := range index[keyOn(p.at, shared)] {
			if joined, ok := p.with(i, c, s.cells[c].at); ok {
				used[c] = true
				if extended = append(extended, joined); len(extended) > maxPoints {
					return extended
				}
			}
		}
		if s.optional && len(extended) == before {
			extended = append(extended, p)
		}
	}
	if !e.hasRequired { // with members of groups alone, a cell that joins no point is one by itself
		for _, c := range cells {
			if !used[c] {
				alone, _ := e.emptyPoint().with(i, c, s.cells[c].at)
				extended = append(extended, alone)
			}
		}
	}
	return extended
}

// sharedDimensions returns the dimensions on which all points and all cells have a place.
func (e *evaluator) sharedDimensions(points []point, s *slot, cells []int32) (shared []int) {
	for d := range e.d.dimensions {
		if !slices.ContainsFunc(points, func(p point) bool { return p.at[d] == anywhere }) &&
			!slices.ContainsFunc(cells, func(c int32) bool { return s.cells[c].at[d] == anywhere }) {
			shared = append(shared, d)
		}
	}
	return shared
}

// with returns the point extended by a cell of slot i, if they agree.
func (p point) with(i int, cell int32, at []int32) (point, bool) {
	for d, place := range at {
		if place != anywhere && p.at[d] != anywhere && place != p.at[d] {
			return p, false
		}
	}
	joined := point{slices.Clone(p.at), slices.Clone(p.cells)}
	for d, place := range at {
		if place != anywhere {
			joined.at[d] = place
		}
	}
	joined.cells[i] = cell
	return joined, true
}

// keyOn is equal for places that agree on the dimensions.
func keyOn(at []int32, dimensions []int) string {
	var key []byte
	for _, d := range dimensions {
		key = binary.LittleEndian.AppendUint32(key, uint32(at[d]))
	}
	return string(key)
}

func (e *evaluator) whyNoPoints() string {
	where := e.claim.where()
	for i := range e.filters {
		if f := &e.filters[i]; f.isAbsent() {
			return fmt.Sprintf("no record%s%s%s", where, e.placesThereAre(f.dimension), e.whyWithout(f))
		}
	}
	for _, s := range e.slots {
		if len(s.cells) == 0 {
			return fmt.Sprintf("no record of %s%s", e.d.labels[s.label], where)
		}
	}
	return fmt.Sprintf("no point%s has records of all its policies", where)
}

// whyWithout says why the traces of a condition are not replayed, where there is a reason.
func (e *evaluator) whyWithout(f *filter) (text string) {
	if e.d.dimensions[f.dimension].name != records.DimTrace {
		return ""
	}
	for _, trace := range f.Missing() {
		if why := e.d.in.Without[trace]; why != "" {
			text += fmt.Sprintf("; %s: %s", trace, why)
		}
	}
	return text
}

// placesThereAre lists the first places on a dimension.
func (e *evaluator) placesThereAre(dim int) string {
	const most = 8
	places := e.d.dimensions[dim].places
	var texts []string
	for _, v := range places[:min(most, len(places))] {
		texts = append(texts, v.Text)
	}
	if len(places) > most {
		texts = append(texts, "...")
	}
	return fmt.Sprintf(", but at %s %s", e.d.dimensions[dim].name, strings.Join(texts, ", "))
}

// filter is a condition prepared for many cells.
type filter struct {
	records.Filter
	dimension int
}

// holds reports whether a cell that has a place on its dimension matches the condition.
func (f *filter) holds(d *Data, c slotCell) bool {
	return f.Holds(d.dimensions[f.dimension].places[c.at[f.dimension]], &d.in.Records[c.recs[0]])
}

// isAbsent reports whether no cell has any value of the condition.
func (f *filter) isAbsent() bool { return len(f.Missing()) == len(f.Values) }
