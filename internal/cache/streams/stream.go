package streams

import (
	"cmp"
	"math"
	"slices"
	"unsafe"
)

// Pattern is how a stream is read.
type Pattern uint8

// Patterns. A stream always has one of the last three.
const (
	Unknown    Pattern = iota
	Sequential         // in the order of the listing
	Random             // in a random order, each item once before any repeats
	Skewed             // anything else: some items more often than others
)

// String returns "unknown", "sequential", "random" or "skewed".
func (p Pattern) String() string { return [...]string{"unknown", "sequential", "random", "skewed"}[p] }

// Stream is a node with many children: a unit whose pattern is recognised. Its fields are for reading only.
type Stream struct {
	ID      int   // in the order of opening, from 0; never reused
	Place   Place // the directory or file
	Pattern Pattern

	// The last test.
	Transitions int     // in the window
	Readers     int     // interleaved sequential readers; if they are not known, as many as explain the most transitions
	Share       float64 // of the transitions that can be steps of these readers: those that are, from 0 to 1
	Natural     bool    // they are steps in the natural order of the names, in which 9 comes before 10: see Position
	Items       float64 // c: children that there are, or an estimate
	Estimated   bool    // Items is an estimate, as the listing is not known
	Repeats     int     // children in the window that were in it before
	Statistic   float64 // D of the gaps; 0 if they were not tested
	Threshold   float64 // the critical value; 0 if they were not tested
	Verdict     Pattern // of the last test; it differs from Pattern until Options.Verdicts tests agree
	Verdicts    int     // tests in a row with this verdict

	Weighted bool // some children are requested more often than a random order would: see Weigh

	Tag int32 // free for the owner of the tree to use

	Accesses int64 // to blocks below, since it opened
	Last     int64 // time of the last of them, in nanoseconds

	Prefetch any // free for the prefetcher of the tree to use

	tree         *Tree
	node         int32
	sinceVerdict int     // transitions since the last test
	moved        int64   // transitions since it opened
	times        []int64 // ring of the times of the last accesses
	oldest       int
	selection    selection
	natural      *order // made when it is first needed; nil if it is that of the listing
	ordered      bool   // it has been made
}

func (t *Tree) openStream(n int32) {
	s := &Stream{ID: t.opened, Place: t.nodes[n].place, tree: t, node: n, Accesses: 1, Last: t.now}
	s.times = append(make([]int64, 0, max(t.o.Window, 2)), t.now)
	t.opened++
	t.nodes[n].stream = s
	t.addStreams(n, 1)
	s.test()
	s.Pattern, s.Verdicts = s.Verdict, t.o.Verdicts // the first verdict is in force at once
	t.open[Unknown]++
	t.open[s.Pattern]++
	if t.Opened != nil {
		t.Opened(s)
	}
}

func (t *Tree) closeStream(s *Stream) {
	if t.Closed != nil {
		t.Closed(s)
	}
	t.addStreams(s.node, -1)
	t.nodes[s.node].stream = nil
	t.open[Unknown]--
	t.open[s.Pattern]--
	s.tree = nil
}

func (t *Tree) addStreams(n, by int32) {
	for ; n != 0; n = t.nodes[n].parent {
		t.nodes[n].streams += by
	}
	t.nodes[0].streams += by
}

func (t *Tree) streamBytes() int64 {
	return int64(unsafe.Sizeof(Stream{})) + 8*int64(max(t.o.Window, 2))
}

func (s *Stream) Open() bool { return s.tree != nil }

// Parent returns the closest stream above, nil if there is none.
func (s *Stream) Parent() *Stream {
	if s.tree == nil || s.Place == Root {
		return nil
	}
	return s.tree.owner(s.tree.layout.tree[s.Place].parent)
}

func (s *Stream) access(now int64) {
	s.Accesses++
	s.Last = now
	if len(s.times) < cap(s.times) {
		s.times = append(s.times, now)
		return
	}
	s.times[s.oldest] = now
	if s.oldest++; s.oldest == len(s.times) {
		s.oldest = 0
	}
}

// MeanGap returns the mean time between two accesses to blocks of the stream, in nanoseconds, over the last
// Options.Window of them: g of the paper. It is 0 before the second one.
func (s *Stream) MeanGap() float64 {
	n := len(s.times)
	if n < 2 {
		return 0
	}
	first := s.times[0]
	if n == cap(s.times) {
		first = s.times[s.oldest]
	}
	return float64(s.Last-first) / float64(n-1)
}

// TemporalGaps returns the mean and the standard deviation of the time between two transitions, in nanoseconds, over
// the window, and the number of these gaps. A time to live follows from a normal distribution with both.
func (s *Stream) TemporalGaps() (mean, deviation float64, n int) {
	if s.tree == nil {
		return 0, 0, 0
	}
	var squares, last float64
	for i, m := range s.tree.transitions(s.node) {
		at := float64(m.time - s.tree.now) // small numbers keep their digits
		if i > 0 {
			gap := at - last
			n++
			d := gap - mean // Welford
			mean += d / float64(n)
			squares += float64(d * (gap - mean))
		}
		last = at
	}
	if n > 1 {
		deviation = math.Sqrt(squares / float64(n-1))
	}
	return mean, deviation, n
}

// Reclassify tests the window again, as after a change of the stream's quota. Without a transition since the last test
// it does nothing: the verdict would be the same.
func (s *Stream) Reclassify() {
	if s.tree == nil || s.sinceVerdict == 0 {
		return
	}
	before := s.Verdict
	s.test()
	if s.Verdict == before {
		s.Verdicts++
	} else {
		s.Verdicts = 1
	}
	if s.Verdict == s.Pattern || s.Verdicts < s.tree.o.Verdicts {
		return
	}
	s.change()
}

// change puts the last verdict in force.
func (s *Stream) change() {
	old := s.Pattern
	s.Pattern = s.Verdict
	s.tree.open[old]--
	s.tree.open[s.Pattern]++
	if s.tree.Changed != nil {
		s.tree.Changed(s, old)
	}
}

// Weigh tells the stream what whoever caches it has seen, which the test of distances cannot: that some children are
// requested more often than others. Until that is taken back the stream is not random.
func (s *Stream) Weigh(weighted bool) {
	s.Weighted = weighted
	if weighted && s.Pattern == Random && s.tree != nil {
		s.Verdict, s.Verdicts = Skewed, s.tree.o.Verdicts
		s.change()
	}
}

// scratch are buffers of a test.
type scratch struct {
	ordered   []transition
	indexes   []uint64
	positions []uint64
	gaps      []uint64
	read      []position
}

func (b *scratch) bytes() int64 {
	return int64(unsafe.Sizeof(transition{}))*int64(cap(b.ordered)) +
		8*int64(cap(b.indexes)+cap(b.positions)+cap(b.gaps)) +
		int64(unsafe.Sizeof(position{}))*int64(cap(b.read))
}

// transitions returns the window of a node, from the oldest transition on. The slice is valid until the next call.
func (t *Tree) transitions(n int32) []transition {
	b := &t.scratch
	b.ordered = b.ordered[:0]
	if w := t.nodes[n].window; w >= 0 {
		w := &t.windows[w]
		b.ordered = append(append(b.ordered, w.entries[w.first:]...), w.entries[:w.first]...)
	}
	return b.ordered
}

// leastItems is how many items a stream needs for the test of gaps; with fewer it counts as skewed.
const leastItems = 20

// test sets the fields of the last test from the window.
func (s *Stream) test() {
	s.judge()
	s.tree.tests[Unknown]++
	s.tree.tests[s.Verdict]++
}

func (s *Stream) judge() {
	t := s.tree
	b, o := &t.scratch, t.o
	b.indexes = b.indexes[:0]
	for _, m := range t.transitions(s.node) {
		b.indexes = append(b.indexes, m.index)
	}
	n := len(b.indexes)
	s.sinceVerdict, s.Transitions = 0, n
	s.Share, s.Repeats, s.Statistic, s.Threshold = 0, 0, 0, 0
	s.Items, s.Estimated = t.items(s.Place, b.indexes)
	if n < 2 {
		s.Verdict = Skewed
		return
	}
	s.Readers, s.Share = Readers(b.indexes, o.Readers, o.Share)
	if s.Natural = false; s.Share < o.Share {
		s.tryNatural(b.indexes)
	}
	b.gaps = b.gaps[:0]
	for i := 1; i < n; i++ {
		b.gaps = append(b.gaps, distance(b.indexes[i-1], b.indexes[i]))
	}
	t.countGaps(b.gaps, s.Items)
	slices.Sort(b.indexes)
	for i := 1; i < n; i++ {
		if b.indexes[i] == b.indexes[i-1] {
			s.Repeats++
		}
	}
	switch {
	case s.Share >= o.Share:
		s.Verdict = Sequential
		return
	case s.Items < leastItems:
		s.Verdict = Skewed
		return
	}
	s.Statistic, s.Threshold = D(b.gaps, s.Items, o.Form), Threshold(len(b.gaps), o.Alpha)
	s.Verdict = Random
	if s.Weighted || s.Statistic >= s.Threshold || o.RepeatGuard && TooManyRepeats(s.Repeats, n, s.Items) {
		s.Verdict = Skewed
	}
}

// items returns how many children a place has, or an estimate from the indexes in its window.
func (t *Tree) items(p Place, indexes []uint64) (c float64, estimated bool) {
	if entries := t.layout.Entries(p); entries >= 0 {
		return float64(entries), false
	}
	if len(indexes) == 0 {
		return 0, true
	}
	return Items(slices.Max(indexes), len(indexes)), true
}

func distance(a, b uint64) uint64 {
	if a > b {
		return a - b
	}
	return b - a
}

// order is the natural order of a directory, 9 before 10: the position of each entry, and the entry at each position.
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

// Position returns where a child is in the order in which the stream is read: of the listing, or natural.
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
