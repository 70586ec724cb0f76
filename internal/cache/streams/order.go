package streams

import (
	"cmp"
	"slices"
)

// order maps the listing of a directory to its natural order, in which 9 comes before 10: the position of each entry,
// and the entry at each position.
type order struct{ positions, entries []int32 }

// naturalOrder returns the natural order of a directory, nil if its listing has it, and of a file.
func (l *Layout) naturalOrder(directory Place) *order {
	n := l.Entries(directory)
	if l.IsFile(directory) || l.numbers {
		return nil
	}
	o := &order{make([]int32, n), make([]int32, n)}
	for i := range o.entries {
		o.entries[i] = int32(i)
	}
	first := l.tree[directory].first
	slices.SortFunc(o.entries, func(a, b int32) int {
		return cmp.Or(compareNatural(l.names[first+Place(a)], l.names[first+Place(b)]), cmp.Compare(a, b))
	})
	if slices.IsSorted(o.entries) {
		return nil
	}
	for at, entry := range o.entries {
		o.positions[entry] = int32(at)
	}
	return o
}

// Position returns the position of a child in the order in which the stream is read: that of the listing, or the
// natural one if Natural.
func (s *Stream) Position(index uint64) uint64 {
	if !s.Natural {
		return index
	}
	return uint64(s.natural.positions[index])
}

// At returns the index in the listing of the child at a position.
func (s *Stream) At(position uint64) uint64 {
	if !s.Natural {
		return position
	}
	return uint64(s.natural.entries[position])
}

// tryNatural tests whether a stream that is not read in the order of the listing is read in the natural order.
func (s *Stream) tryNatural(indexes []uint64) {
	o := s.tree.o
	if o.Order != Found {
		return
	}
	if !s.ordered {
		s.ordered, s.natural = true, s.tree.layout.naturalOrder(s.Place)
	}
	if s.natural == nil {
		return
	}
	b := &s.tree.scratch
	b.positions = b.positions[:0]
	for _, index := range indexes {
		b.positions = append(b.positions, uint64(s.natural.positions[index]))
	}
	if readers, share := Readers(b.positions, o.Readers, o.Share); share >= o.Share {
		s.Natural, s.Readers, s.Share = true, readers, share
	}
}
