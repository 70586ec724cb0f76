package prefetch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
)

var mithrilEntry = Entry{
	Name: "mithril",
	Summary: "objects that were requested shortly after this one, each time that it was: associations of objects that " +
		"miss now and then",
	Source: "Yang et al., MITHRIL: Mining Sporadic Associations for Cache Prefetching, SoCC 2017; defaults of " +
		"libCacheSim",
	Memory: "in bytes: (16+4 min)·recording + (16+4 max)·mining + (20+4 list)·table, plus 40 to 80 for each row in use " +
		"to find it: 22 MB at most with the defaults",
	Params: []params.Param{
		{Name: "lookahead", Default: 20, Min: 1, Max: 1 << 20, Doc: "most requests between the times of two " +
			"associated objects"},
		{Name: "min", Default: 2, Min: 1, Max: 64, Doc: "requests after which an object is mined"},
		{Name: "max", Default: 8, Min: 1, Max: 64, Doc: "requests above which an object counts as frequent, " +
			"and is left to the policy of the cache"},
		{Name: "errors", Default: 1, Min: 0, Max: 64, Doc: "times that may be further apart than lookahead, and times " +
			"that one of two objects may have more than the other"},
		{Name: "rule", Default: authors, Choices: []string{authors, "all"}, Doc: "authors: as in their program, the first " +
			"object within lookahead uses up the association that needs no adjacent times, even if its times are too far " +
			"apart, and the last time of a pair is not compared; all: the first one whose times are close is associated, and " +
			"all times are compared"},
		{Name: "list", Default: 2, Min: 1, Max: 64, Doc: "objects that are proposed after an object: the newest " +
			"associations"},
		{Name: "chances", Default: 1, Min: 0, Max: 100, Doc: "how often what was prefetched in vain is loaded again"},
		{Name: "record", Default: "miss", Choices: []string{"miss", "all"}, Doc: "which requests are recorded"},
		{Name: "mining", Default: 2560, Min: 2, Max: 1 << 20, Doc: "objects that are mined at a time"},
		{Name: "recording", Default: 1 << 16, Min: 1, Max: 1 << 26, Doc: "objects that wait for enough requests; a new one " +
			"replaces the oldest"},
		{Name: "table", Default: 1 << 16, Min: 1, Max: 1 << 26, Doc: "objects whose associations are kept; a new one " +
			"replaces the oldest"},
	},
	Check: func(v params.Values) error {
		if v.Int("min") > v.Int("max") {
			return fmt.Errorf("min=%d is above max=%d", v.Int("min"), v.Int("max"))
		}
		return nil
	},
	New: func(c Config) Prefetcher { return newMithril(c.Params) },
}

// authors is the value of rule by which times are compared as in the program of the paper's authors.
const authors = "authors"

// mithril records when objects miss, and mines its records once it has enough objects.
//
// An object is first in the recording table. With its min-th time it moves to the mining table, and with more than max
// times it is forgotten. When the mining table is full, all pairs in it with times close to each other become
// associations, and it is emptied.
type mithril struct {
	lookahead int32
	errors    int
	chances   int
	all       bool // hits are recorded, too
	authors   bool // times are compared as in the authors' program

	places    map[Object]place // of objects in either table
	recording timeTable
	turn      int // row of the recording table that is given to the next object
	mining    timeTable
	order     []int // rows of the mining table by their first times

	rows    map[Object]int32 // of the associations of objects
	owners  []Object
	objects []Object // list of them per row, oldest first
	lengths []uint8
	next    int // row of the associations that is given to the next object
	list    int
	full    bool // every row has been given once
}

// place is a row of the recording table, or of the mining table.
type place struct {
	row    int32
	mining bool
}

// timeTable holds objects with the times of their requests: the low 32 bits of positions, whose differences are right
// while two times are less than 2^31 requests apart.
type timeTable struct {
	width   int // most times of an object
	objects []Object
	counts  []uint8 // times of each row; 0: the row is empty
	times   []uint32
}

func newTimeTable(rows, width int) timeTable {
	return timeTable{width, make([]Object, 0, rows), make([]uint8, 0, rows), make([]uint32, 0, rows*width)}
}

func (t *timeTable) of(row int) []uint32 { return t.times[row*t.width:][:t.counts[row]] }

func (t *timeTable) grow() int {
	t.objects, t.counts = append(t.objects, 0), append(t.counts, 0)
	t.times = t.times[:len(t.times)+t.width] // newTimeTable has allocated all rows
	return len(t.objects) - 1
}

func (t *timeTable) set(row int, o Object, times []uint32) {
	t.objects[row], t.counts[row] = o, uint8(len(times))
	copy(t.times[row*t.width:], times)
}

func (t *timeTable) add(row int, time uint32) {
	t.times[row*t.width+int(t.counts[row])] = time
	t.counts[row]++
}

func (t *timeTable) reset() { t.objects, t.counts, t.times = t.objects[:0], t.counts[:0], t.times[:0] }

func newMithril(v params.Values) *mithril {
	m := &mithril{
		lookahead: int32(v.Int("lookahead")),
		errors:    v.Int("errors"),
		chances:   v.Int("chances"),
		all:       v.Text("record") == "all",
		authors:   v.Text("rule") == authors,
		places:    map[Object]place{},
		recording: newTimeTable(v.Int("recording"), v.Int("min")),
		mining:    newTimeTable(v.Int("mining"), v.Int("max")),
		rows:      map[Object]int32{},
		list:      v.Int("list"),
	}
	m.owners = make([]Object, v.Int("table"))
	m.objects = make([]Object, v.Int("table")*m.list)
	m.lengths = make([]uint8, v.Int("table"))
	return m
}

func (m *mithril) Request(a Access, proposals []Proposal) []Proposal {
	if m.all || !a.Hit {
		m.record(a.Object, uint32(a.Pos))
	}
	row, ok := m.rows[a.Object]
	if !ok {
		return proposals
	}
	for _, o := range m.objects[int(row)*m.list:][:m.lengths[row]] {
		proposals = append(proposals, Proposal{Object: o})
	}
	return proposals
}

func (m *mithril) record(o Object, time uint32) {
	at, known := m.places[o]
	row := int(at.row)
	switch {
	case !known && m.recording.width == 1:
		m.promote(o, []uint32{time})
	case !known:
		m.places[o] = place{row: int32(m.start(o, time))}
	case at.mining && int(m.mining.counts[row]) == m.mining.width:
		m.forget(row)
	case at.mining:
		m.mining.add(row, time)
	case int(m.recording.counts[row]) == m.recording.width-1:
		m.recording.add(row, time)
		m.promote(o, m.recording.of(row))
		m.recording.counts[row] = 0
	default:
		m.recording.add(row, time)
	}
}

// start gives an object a row of the recording table and returns it. If all are taken, it reuses the oldest.
func (m *mithril) start(o Object, time uint32) int {
	row := m.turn
	if m.turn++; m.turn == cap(m.recording.objects) {
		m.turn = 0
	}
	if row == len(m.recording.objects) {
		m.recording.grow()
	} else if m.recording.counts[row] > 0 {
		delete(m.places, m.recording.objects[row])
	}
	m.recording.set(row, o, []uint32{time})
	return row
}

// promote moves an object to the mining table, and mines when that is full.
func (m *mithril) promote(o Object, times []uint32) {
	row := m.mining.grow()
	m.mining.set(row, o, times)
	m.places[o] = place{row: int32(row), mining: true}
	if len(m.mining.objects) == cap(m.mining.objects) {
		m.mine()
	}
}

// forget takes a row out of the mining table; the last one takes its place.
func (m *mithril) forget(row int) {
	t := &m.mining
	delete(m.places, t.objects[row])
	end := len(t.objects) - 1
	if row != end {
		t.set(row, t.objects[end], t.of(end))
		m.places[t.objects[row]] = place{row: int32(row), mining: true}
	}
	t.objects, t.counts, t.times = t.objects[:end], t.counts[:end], t.times[:end*t.width]
}

// mine associates the objects of the mining table with each other, and empties it.
func (m *mithril) mine() {
	t := &m.mining
	m.order = m.order[:0]
	for row := range t.objects {
		m.order = append(m.order, row)
	}
	slices.SortFunc(m.order, func(a, b int) int {
		if d := distance(t.of(b)[0], t.of(a)[0]); d != 0 {
			return int(d)
		}
		return cmp.Compare(t.objects[a], t.objects[b])
	})
	for i, a := range m.order {
		m.mineFrom(a, m.order[i+1:])
	}
	for _, o := range t.objects {
		delete(m.places, o)
	}
	t.reset()
}

// mineFrom associates the object of one row with objects of the rows behind it: with the first one whose times are all
// within the lookahead, and with others that were once requested right after or before it.
func (m *mithril) mineFrom(row int, behind []int) {
	times := m.mining.of(row)
	first := true
	for _, other := range behind {
		theirs := m.mining.of(other)
		if distance(times[0], theirs[0]) > m.lookahead {
			return
		}
		if max(len(times), len(theirs))-min(len(times), len(theirs)) > m.errors {
			continue
		}
		together, adjacent := m.compare(times, theirs)
		if together && (first || adjacent) {
			m.associate(m.mining.objects[row], m.mining.objects[other])
		}
		first = first && !together && !m.authors
	}
}

// compare reports whether the times of two objects are within the lookahead of each other, except for the permitted
// errors, and whether two are next to each other.
func (m *mithril) compare(a, b []uint32) (together, adjacent bool) {
	compared := min(len(a), len(b))
	if m.authors {
		compared = max(1, compared-1)
	}
	errors := 0
	for k := range compared {
		switch d := distance(a[k], b[k]); {
		case d > m.lookahead || d < -m.lookahead:
			errors++
		case d == 1 || d == -1:
			adjacent = true
		}
	}
	return errors <= m.errors, adjacent
}

// distance returns how long b is after a.
func distance(a, b uint32) int32 { return int32(b - a) }

// associate has b proposed after a. If the list of a is full, its oldest association is removed; if the table is full,
// its oldest object loses all of its associations.
func (m *mithril) associate(a, b Object) {
	row, ok := m.rows[a]
	if !ok {
		row = int32(m.next)
		if m.full {
			delete(m.rows, m.owners[row])
		}
		m.rows[a], m.owners[row], m.lengths[row] = row, a, 0
		if m.next++; m.next == len(m.owners) {
			m.next, m.full = 0, true
		}
	}
	all := m.objects[int(row)*m.list:][:m.list]
	list := all[:m.lengths[row]]
	if slices.Contains(list, b) {
		return
	}
	if len(list) == m.list {
		copy(all, all[1:])
		m.lengths[row]--
	}
	all[m.lengths[row]] = b
	m.lengths[row]++
}

func (m *mithril) Loaded(Proposal)                 {}
func (m *mithril) Evicted(e Eviction) (again bool) { return e.Unused > 0 && e.Unused <= m.chances }
