package igtcache

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/traces"
)

// naive is the cache without prefetching and without an allocator, with lists that are searched. The tree is the same.
type naive struct {
	tree   *streams.Tree
	layout *streams.Layout
	keys   *prefetch.Addresses
	units  map[*streams.Stream]*naiveUnit
	free   int
	eager  bool
	done   []uint32       // what has been read of sequential streams, the block that was left first in front
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
	place       position
	tick        int
	initialised bool
}

func newNaive(t *rapid.T, tr *traces.Trace, capacity int, o streams.Options) *naive {
	layout := must.Get(prefetch.NewLayout(tr))(t)
	keys := must.Get(prefetch.NewAddresses(tr))(t)
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
		for _, o := range moved {
			if n.undo(o) && s.Pattern == streams.Sequential {
				n.done = append(n.done, o)
			}
		}
	}
	n.tree.Changed = func(s *streams.Stream, _ streams.Pattern) {
		n.units[s].cursor, n.units[s].tick = nil, 0
		for _, o := range n.units[s].order {
			n.undo(o)
		}
	}
	n.tree.Closed = func(s *streams.Stream) {
		n.free += n.units[s].quota
		delete(n.units, s)
	}
	n.tree.Pinned = func(s *streams.Stream) bool { return len(n.units[s].order) > 0 }
	return n
}

// has reports whether an object is resident.
func (n *naive) has(o uint32) bool {
	for _, u := range n.units {
		if slices.Contains(u.order, o) {
			return true
		}
	}
	return false
}

// request serves a request, and reports whether it hits.
func (n *naive) request(o uint32) (hit bool) {
	s := n.tree.Access(n.keys.Key(o), int64(n.pos)*second)
	u := n.units[s]
	n.last[o] = n.pos
	n.pos++
	n.undo(o)
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

// undo takes a block out of the list of what has been read, and reports whether it was there.
func (n *naive) undo(o uint32) bool {
	i := slices.Index(n.done, o)
	if i >= 0 {
		n.done = slices.Delete(n.done, i, i+1)
	}
	return i >= 0
}

func (n *naive) load(s *streams.Stream, u *naiveUnit, o uint32) {
	if len(u.order) == u.quota && n.free == 0 && len(n.done) > 0 {
		for _, holder := range n.units {
			if i := slices.Index(holder.order, n.done[0]); i >= 0 {
				holder.order = slices.Delete(holder.order, i, i+1)
				if holder != u {
					holder.quota--
					n.free++
				}
			}
		}
		n.done = n.done[1:]
	}
	if len(u.order) == u.quota && n.free > 0 {
		n.free--
		u.quota++
	}
	random := s != nil && s.Pattern == streams.Random
	if u.quota == 0 || random && len(u.order) == u.quota {
		return
	}
	if len(u.order) == u.quota {
		n.undo(u.order[0])
		u.order = u.order[1:]
	}
	u.order = append(u.order, o)
}

// readerOf returns who requests a block: the reader that has it, whose next block it is, or whose next child, the most
// recent of them; or else a new one.
func (n *naive) readerOf(s *streams.Stream, u *naiveUnit, o uint32, p position) int {
	for _, is := range []func(r naiveReader) bool{
		func(r naiveReader) bool { return r.object == o },
		func(r naiveReader) bool {
			return r.place.file == p.file && r.place.block+1 == p.block ||
				r.place.child == p.child && r.place.file+1 == p.file && p.block == 0 && r.place.last
		},
		func(r naiveReader) bool { return r.place.child+1 == p.child && r.place.last },
		func(r naiveReader) bool { return r.place.child+1 == p.child },
	} {
		at := -1
		for i, r := range u.cursor {
			if is(r) && (at < 0 || r.tick > u.cursor[at].tick) {
				at = i
			}
		}
		if at >= 0 {
			return at
		}
	}
	if len(u.cursor) < perReader*max(fewestReaders, s.Readers) {
		u.cursor = append(u.cursor, naiveReader{})
		return len(u.cursor) - 1
	}
	at := 0
	for i, r := range u.cursor {
		if r.tick < u.cursor[at].tick {
			at = i
		}
	}
	return at
}

// leave follows the readers of a sequential stream.
func (n *naive) leave(s *streams.Stream, u *naiveUnit, o uint32) {
	file, block := n.layout.Find(n.keys.Key(o))
	place := position{child: int64(block), file: file, block: block, last: n.layout.Blocks(file) == int64(block)+1}
	if file != s.Place {
		entry := file
		for n.layout.Parent(entry) != s.Place {
			entry = n.layout.Parent(entry)
		}
		place.child = int64(s.Position(uint64(n.layout.Index(entry))))
	}
	u.tick++
	at := n.readerOf(s, u, o, place)
	was := u.cursor[at]
	u.cursor[at] = naiveReader{o, place, u.tick, true}
	shrinks := place.last && place.child == n.layout.Entries(s.Place)-1 && !u.comes(-1, place)
	if was.initialised && was.object != o && !u.comes(at, was.place) {
		for of, holder := range n.units {
			if of != nil && of.Pattern == streams.Sequential {
				if at := slices.Index(holder.order, was.object); at >= 0 {
					if shrinks = true; n.eager {
						holder.order = slices.Delete(holder.order, at, at+1)
					} else {
						n.undo(was.object)
						n.done = append(n.done, was.object)
					}
				}
			}
		}
	}
	if more := u.quota - len(u.order); more > 0 && shrinks { // the least share is 0
		u.quota -= more
		n.free += more
	}
}

// comes reports whether a reader other than the given one will come to a place.
func (u *naiveUnit) comes(but int, p position) bool {
	return slices.ContainsFunc(u.cursor, func(r naiveReader) bool {
		return (but < 0 || r != u.cursor[but]) && r.place.before(p)
	})
}

// The cache decides as one with lists that are searched.
func TestNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, text := drawn(t)
		capacity := rapid.IntRange(1, 150).Draw(t, "capacity")
		eager := rapid.Bool().Draw(t, "eager")
		text = fmt.Sprintf("igtcache(%s,eager=%t,skewed=lru", text, eager) +
			",prefetch=off,ttl=off,allocate=marginal(least_mb=0,every=1000000000,period_s=1e9))"
		tr.Times = nil
		c := configOf(t, tr, text, int64(capacity), true)
		served := build(t, c)
		reference := newNaive(t, tr, capacity, served.system.tree.Options())
		reference.eager = eager
		looking := rapid.Bool().Draw(t, "some requests only look")
		for pos, o := range tr.Objects {
			looks := looking && pos*pos%7 < 3
			var n cache.Counts
			if looks {
				served.LookAll(cache.WindowOf(tr, pos, pos+1, false, nil), &n)
			} else {
				n = serve(t, served, c, pos, pos+1)
			}
			want := reference.has(o)
			if want || !looks {
				reference.request(o)
			} else {
				reference.pos++ // it is no read of its stream, and loads nothing
			}
			if got := n.Hits == 1; got != want || n.Requests != 1 {
				t.Fatalf("request %d, which looks: %t, hits: %v, want %v", pos, looks, got, want)
			}
			if got, want := served.system.free, int64(reference.free); got != want {
				t.Fatalf("after request %d %d of %d is free, want %d", pos, got, capacity, want)
			}
		}
	})
}
