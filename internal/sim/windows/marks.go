package windows

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
)

// Marks keeps the counts of cells at some positions of a replay. Its methods do nothing without marks, as on nil.
type Marks struct {
	At     []int            // ascending
	Counts [][]cache.Counts // per position that has been reached, and cell
	offset int              // position at which the current part of the trace begins
	before []cache.Counts   // of earlier parts
}

// NewMarks returns marks of so many cells. Nothing is counted before the first request.
func NewMarks(at []int, cells int) *Marks {
	m := &Marks{At: at, before: make([]cache.Counts, cells)}
	for len(m.Counts) < len(at) && at[len(m.Counts)] == 0 {
		m.Counts = append(m.Counts, m.before)
	}
	return m
}

// Cut returns where a run of requests must end so that no mark is inside it.
func (m *Marks) Cut(from, to int) int {
	if m == nil || len(m.Counts) == len(m.At) {
		return to
	}
	if next := m.At[len(m.Counts)] - m.offset; next > from {
		return min(to, next)
	}
	return to
}

// Served keeps the counts of the part so far, which total returns for each cell, if there is a mark.
func (m *Marks) Served(to int, total func() []cache.Counts) {
	if m == nil {
		return
	}
	for len(m.Counts) < len(m.At) && m.At[len(m.Counts)] <= m.offset+to {
		m.Counts = append(m.Counts, m.withBefore(total()))
	}
}

// EndPart ends a part of the trace with that many requests.
func (m *Marks) EndPart(requests int, total func() []cache.Counts) {
	if m != nil {
		m.offset += requests
		m.before = m.withBefore(total())
	}
}

func (m *Marks) withBefore(counts []cache.Counts) (sums []cache.Counts) {
	for k, n := range counts {
		sums = append(sums, m.before[k].Plus(n))
	}
	return sums
}

// CountsAt returns the counts of the only cell at a mark.
func (m *Marks) CountsAt(pos int) cache.Counts {
	i, _ := slices.BinarySearch(m.At, pos)
	return m.Counts[i][0]
}
