package layouts

import (
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// checks compare the first lines with each other, for layouts of plain numbers.
var checks = map[string]func(l *layout, head source.Head, name string) source.Confidence{
	"likely":  func(*layout, source.Head, string) source.Confidence { return source.Likely },
	"sectors": (*layout).inSectors,
	"sized":   (*layout).sized,
}

// at returns the index of the column that is part of a request.
func (l *layout) at(p part) int { return slices.IndexFunc(l.columns, isPart(p)) }

func (l *layout) length() int {
	return slices.IndexFunc(l.columns, func(c column) bool { return c.isLength })
}

// inSectors is sure of times in order and lengths of 4 KiB and multiples of that, which tells block traces from other
// tables of numbers.
func (l *layout) inSectors(head source.Head, _ string) source.Confidence {
	const page = 8 // sectors
	length := l.length()
	last, n, pages := uint64(0), 0, 0
	for _, line := range source.WithoutBlankEnd(head.Lines) {
		cells := source.CutLoosely(nil, line, l.delimiter)
		if len(cells) != len(l.columns) {
			continue
		}
		at, ok := source.ParseDigits(cells[l.at(aTime)])
		if !ok {
			continue
		}
		if at < last {
			return source.Likely
		}
		sectors, _ := source.ParseDigits(cells[length])
		if n++; sectors > 0 && sectors%page == 0 {
			pages++
		}
		last = at
	}
	if n > 1 && 4*pages >= 3*n {
		return source.Certain
	}
	return source.Likely
}

// sized is sure of a file if its name ends in .tr. Others must behave like times, ids and sizes, which tells them from
// any three numbers: times never go back, and ids come again with the same size.
func (l *layout) sized(head source.Head, name string) source.Confidence {
	if strings.HasSuffix(name, ".tr") {
		return source.Certain
	}
	s := sizedRows{sizes: map[string]string{}, distinct: map[string]bool{}, counts: true}
	for _, line := range source.WithoutBlankEnd(head.Lines) {
		if !s.take(source.CutLoosely(nil, line, l.delimiter)) {
			return source.No
		}
	}
	const several = 3
	return source.Likely.If(s.again >= several && len(s.distinct) >= several && !s.counts)
}

// sizedRows are rows of a time, an id and a size.
type sizedRows struct {
	columns, rows, again int // again: rows of ids that came before
	first, last          uint64
	counts               bool              // the times count the rows from 0 or 1, as in seq-id-size
	sizes                map[string]string // by id
	distinct             map[string]bool   // sizes
}

// take adds a row, and reports whether it fits the others.
func (s *sizedRows) take(cells [][]byte) bool {
	const least, most = 3, 7 // columns: webcachesim2 takes 4 features
	if s.rows == 0 {
		s.columns = len(cells)
	}
	if len(cells) < least || len(cells) > most || len(cells) != s.columns {
		return false
	}
	at, ok := source.ParseDigits(cells[0])
	if s.rows == 0 {
		s.first = at
	}
	id, size := string(cells[1]), string(cells[2])
	known, seen := s.sizes[id]
	if !ok || at < s.last || seen && known != size {
		return false
	}
	if seen {
		s.again++
	}
	s.counts = s.counts && s.first <= 1 && at == s.first+uint64(s.rows)
	s.sizes[id], s.distinct[size], s.last = size, true, at
	s.rows++
	return true
}
