package igtcache

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/prefetch"
	"github.com/cachesim/cachesim/internal/streams"
	"github.com/cachesim/cachesim/internal/traces"
)

// naive is the cache without prefetching and without an allocator, with lists that are searched. The tree is the same.
type naive struct {
	tree   *streams.Tree
	layout *streams.Layout
	keys   *prefetch.Addresses
	units  map[*streams.Stream]*naiveUnit
	free   int
	last   map[uint32]int // position of the last request
	pos    int
}

type naiveUnit struct {
	quota  int
	order  []uint32 // the most recent last
	cursor []naiveReader
	tick   int
}

type naiveReader struct {
	object      uint32
	child       int64
	block       uint64
	tick        int
	initialised bool
}

func newNaive(t *rapid.T, tr *traces.Trace, capacity int, o streams.Options) *naive {
	layout, err := prefetch.NewLayout(tr)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := prefetch.NewAddresses(tr)
	if err != nil {
		t.Fatal(err)
	}
	n := &naive{tree: streams.New(layout, o), layout: layout, keys: keys, free: capacity, last: map[uint32]int{},
		units: map[*streams.Stream]*naiveUnit{nil: {}}}
	n.tree.Opened = func(s *streams.Stream) {
		from := n.units[s.Parent()]
		to := &naiveUnit{}
		n.units[s] = to
		var moved, stay []uint32
		for _, o := range from.order {
			if n.tree.Owner(n.keys.Key(o)) == s {
				moved = append(moved, o)
			} else {
				stay = append(stay, o)
			}
		}
		if used := len(from.order); used > 0 {
			given := max(int(float64(from.quota)*(float64(len(moved))/float64(used))), len(moved))
			from.quota -= given
			to.quota += given
		}
		slices.SortFunc(moved, func(a, b uint32) int { return n.last[a] - n.last[b] })
		from.order, to.order = stay, moved
	}
	n.tree.Changed = func(s *streams.Stream, _ streams.Pattern) { n.units[s].cursor, n.units[s].tick = nil, 0 }
	n.tree.Closed = func(s *streams.Stream) {
		n.free += n.units[s].quota
		delete(n.units, s)
	}
	n.tree.Pinned = func(s *streams.Stream) bool { return len(n.units[s].order) > 0 }
	return n
}

// request serves a request, and reports whether it hits.
func (n *naive) request(o uint32) (hit bool) {
	s := n.tree.Access(n.keys.Key(o), int64(n.pos)*second)
	u := n.units[s]
	n.last[o] = n.pos
	n.pos++
	for _, holder := range n.units {
		if i := slices.Index(holder.order, o); i >= 0 {
			holder.order = append(slices.Delete(holder.order, i, i+1), o)
			hit = true
		}
	}
	if !hit {
		n.load(s, u, o)
	}
	if s != nil && s.Pattern == streams.Sequential {
		n.leave(s, u, o)
	}
	return hit
}

func (n *naive) load(s *streams.Stream, u *naiveUnit, o uint32) {
	if len(u.order) == u.quota && n.free > 0 {
		n.free--
		u.quota++
	}
	random := s != nil && s.Pattern == streams.Random
	if u.quota == 0 || random && len(u.order) == u.quota {
		return
	}
	if len(u.order) == u.quota {
		u.order = u.order[1:]
	}
	u.order = append(u.order, o)
}

// leave follows the readers of a sequential stream.
func (n *naive) leave(s *streams.Stream, u *naiveUnit, o uint32) {
	file, block := n.layout.Find(n.keys.Key(o))
	child := int64(block)
	if file == s.Place {
		block = 0
	} else {
		place := file
		for n.layout.Parent(place) != s.Place {
			place = n.layout.Parent(place)
		}
		child = n.layout.Index(place)
	}
	u.tick++
	at := slices.IndexFunc(u.cursor, func(r naiveReader) bool { return r.object == o })
	if at < 0 {
		at = slices.IndexFunc(u.cursor, func(r naiveReader) bool {
			return r.child == child && r.block+1 == block || r.child+1 == child
		})
	}
	if at < 0 && len(u.cursor) < mostReaders {
		u.cursor = append(u.cursor, naiveReader{})
		at = len(u.cursor) - 1
	} else if at < 0 {
		at = 0
		for i, r := range u.cursor {
			if r.tick < u.cursor[at].tick {
				at = i
			}
		}
	}
	was := u.cursor[at]
	u.cursor[at] = naiveReader{o, child, block, u.tick, true}
	if !was.initialised || was.object == o {
		return
	}
	for i, r := range u.cursor {
		if i != at && (r.child < was.child || r.child == was.child && r.block < was.block) {
			return // it will come there
		}
	}
	for of, holder := range n.units {
		if of != nil && of.Pattern == streams.Sequential {
			at := slices.Index(holder.order, was.object)
			if at < 0 {
				continue
			}
			holder.order = slices.Delete(holder.order, at, at+1)
			if more := u.quota - len(u.order); more > 0 { // the least share is 0
				u.quota -= more
				n.free += more
			}
		}
	}
}

// The cache decides as one with lists that are searched.
func TestNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, text := drawn(t)
		capacity := rapid.IntRange(1, 150).Draw(t, "capacity")
		text = "igtcache(" + text + ",prefetch=off,ttl=off,allocate=marginal(least_mb=0,every=1000000000,period_s=1e9))"
		tr.Times = nil
		c := configOf(t, tr, text, int64(capacity), true)
		served := build(t, c)
		reference := newNaive(t, tr, capacity, served.system.tree.Options())
		for pos, o := range tr.Objects {
			got := serve(t, served, c, pos, pos+1).Hits == 1
			if want := reference.request(o); got != want {
				t.Fatalf("request %d hits: %v, want %v", pos, got, want)
			}
			if got, want := served.system.free, int64(reference.free); got != want {
				t.Fatalf("after request %d %d of %d is free, want %d", pos, got, capacity, want)
			}
		}
	})
}
