package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// blocks returns a trace of block addresses: a few streams, groups that are asked for together, and others. Sizes are
// whole sectors, and some objects change theirs.
func blocks(seed uint64, requests int, sized bool) *traces.Trace {
	rng := rand.New(rand.NewPCG(seed, 9))
	streams := []uint64{1000, 5000, 9000}
	numbers := map[uint64]uint32{}
	t := &traces.Trace{Name: "blocks"}
	ask := func(address uint64) {
		o, ok := numbers[address]
		if !ok {
			o = uint32(len(numbers))
			numbers[address] = o
			t.Keys = append(t.Keys, stream.Key{Num: address})
			if sized {
				t.ObjectSizes = append(t.ObjectSizes, int64(1+address%7))
			}
		}
		t.Objects = append(t.Objects, o)
		if sized {
			size := t.ObjectSizes[o]
			if address%13 == 0 {
				size += int64(rng.IntN(3))
			}
			t.RequestSizes = append(t.RequestSizes, size)
		}
	}
	for len(t.Objects) < requests {
		switch s := rng.IntN(5); s {
		case 0, 1, 2:
			streams[s] += uint64(1 + s)
			ask(streams[s])
			if rng.IntN(50) == 0 {
				streams[s] = uint64(1000 + 4000*s)
			}
		case 3:
			group := uint64(20000 + 10*rng.IntN(20))
			ask(group)
			ask(group + 7)
			ask(group + 3)
		default:
			ask(uint64(rng.IntN(200)))
		}
	}
	t.NumObjects = len(numbers)
	return t
}

// prefetchers are those of the tests, so small that all parts of them are used.
var prefetchers = []string{"next", "next(n=3,when=tagged)", "next(size=2)", "stride(n=2,zone=2000)", "amp(apt=2,max=9)",
	"mithril(mining=12)", "mithril(min=1,mining=8,record=all,chances=3)"}

// prefetchingConfig returns what a prefetching cache with LRU is built from.
func prefetchingConfig(t *testing.T, tr *traces.Trace, text string, capacity int64) Config {
	t.Helper()
	spec, err := prefetch.Registry.Parse(text)
	must.Do(t, err)
	lru, err := policies.Registry.Parse("lru")
	must.Do(t, err)
	c := Config{Trace: tr, Capacity: capacity, Unit: tr.ObjectSizes == nil, Policy: lru, Prefetcher: &spec}
	if spec.Entry.Addresses {
		c.Addresses = must.Get(prefetch.NewAddresses(tr))(t)
	}
	return c
}

// naiveLRU does what prefetching does with LRU, by addresses in a list, oldest first.
type naiveLRU struct {
	prefetcher prefetch.Prefetcher
	addresses  bool
	capacity   int64
	unit       bool
	sizes      map[uint64]int64 // as of the last request, at first of the trace
	keys       []uint64         // of the objects, for prefetchers that name these
	resident   []naiveEntry
	gone       []naiveEntry
	counts     Counts
	prefetched, useful, wasted, evictions,
	prefetchedBytes, wastedBytes int64
}

type naiveEntry struct {
	key    uint64
	size   int64
	unused int // how often it was loaded since it was asked for
}

func (n *naiveLRU) find(key uint64) int {
	return slices.IndexFunc(n.resident, func(e naiveEntry) bool { return e.key == key })
}

func (n *naiveLRU) object(key uint64) uint32 { return uint32(slices.Index(n.keys, key)) }

// load puts an entry in; false where it is too large.
func (n *naiveLRU) load(e naiveEntry) bool {
	if e.size > n.capacity {
		return false
	}
	used := e.size
	for _, r := range n.resident {
		used += r.size
	}
	for ; used > n.capacity; n.resident = n.resident[1:] {
		n.gone = append(n.gone, n.resident[0])
		used -= n.resident[0].size
	}
	n.resident = append(n.resident, e)
	return true
}

func (n *naiveLRU) proposal(key uint64) prefetch.Proposal {
	if n.addresses {
		return prefetch.Proposal{Key: key}
	}
	return prefetch.Proposal{Object: n.object(key)}
}

func (n *naiveLRU) settle() {
	for len(n.gone) > 0 {
		e := n.gone[0]
		n.gone = n.gone[1:]
		n.leave(e)
	}
}

func (n *naiveLRU) leave(e naiveEntry) {
	n.evictions++
	w, watches := n.prefetcher.(prefetch.Watcher)
	told := prefetch.Eviction{Unused: e.unused}
	if n.addresses {
		told.Key = e.key
	}
	if watches && w.Evicted(told) && e.unused > 0 && n.find(e.key) < 0 {
		e.unused++
		if !n.load(e) {
			panic("what was resident does not fit")
		}
		n.evictions--
		w.Loaded(n.proposal(e.key))
		return
	}
	if e.unused > 0 {
		n.wasted++
		n.wastedBytes += e.size
	}
}

func (n *naiveLRU) request(pos int, key uint64, size int64) {
	if n.unit {
		size = 1
	}
	n.sizes[key] = size
	a := prefetch.Access{Object: n.object(key), Pos: pos, Size: size}
	if n.addresses {
		a.Key = key
	}
	if i := n.find(key); i >= 0 {
		e := n.resident[i]
		a.Hit, a.Prefetched = true, e.unused > 0
		if e.unused > 0 {
			n.useful++
		}
		e.unused = 0
		n.resident = append(slices.Delete(n.resident, i, i+1), e)
		n.counts.Hits++
	} else if !n.load(naiveEntry{key: key, size: size}) {
		n.counts.Oversized++
	}
	n.settle()
	a.Resident = n.find(key) >= 0
	for _, p := range n.prefetcher.Request(a, nil) {
		e := naiveEntry{key: p.Key, size: p.Size, unused: 1}
		if !n.addresses {
			e.key = n.keys[p.Object]
		}
		if n.find(e.key) >= 0 {
			continue
		}
		switch known, ok := n.sizes[e.key]; {
		case n.unit:
			e.size = 1
		case e.size == 0 && ok:
			e.size = known
		case e.size == 0:
			e.size = size
		}
		if n.load(e) {
			n.prefetched++
			n.prefetchedBytes += e.size
			if w, ok := n.prefetcher.(prefetch.Watcher); ok {
				w.Loaded(n.proposal(e.key))
			}
		}
		n.settle()
	}
}

// run replays a trace and returns what the cache would count.
func (n *naiveLRU) run(t *traces.Trace, looks func(pos int) bool) (Counts, []policies.Counter) {
	seen := 0 // by the prefetcher
	for pos, o := range t.Objects {
		size := int64(1)
		if t.RequestSizes != nil {
			size = t.RequestSizes[pos]
			n.counts.Bytes += size
			if n.find(t.Keys[o].Num) >= 0 {
				n.counts.HitBytes += size
			}
		}
		if looks(pos) && n.find(t.Keys[o].Num) < 0 {
			continue
		}
		n.request(seen, t.Keys[o].Num, size)
		seen++
	}
	n.counts.Requests, n.counts.Evictions = int64(len(t.Objects)), n.evictions
	for _, e := range n.resident {
		if e.unused > 0 {
			n.wasted++
			n.wastedBytes += e.size
		}
	}
	counters := []policies.Counter{policies.Count(prefetch.Prefetches, float64(n.prefetched)),
		policies.Count(prefetch.UsefulPrefetches, float64(n.useful)),
		policies.Count(prefetch.WastedPrefetches, float64(n.wasted))}
	if !n.unit {
		counters = append(counters, policies.Count(prefetch.PrefetchedBytes, float64(n.prefetchedBytes)),
			policies.Count(prefetch.WastedBytes, float64(n.wastedBytes)))
	}
	return n.counts, counters
}

func newNaiveLRU(t *traces.Trace, c Config) *naiveLRU {
	n := &naiveLRU{prefetcher: prefetch.New(*c.Prefetcher, prefetch.Config{Trace: c.Trace}),
		addresses: c.Addresses != nil, capacity: c.Capacity, unit: c.Unit, sizes: map[uint64]int64{}}
	for o, key := range t.Keys {
		n.keys = append(n.keys, key.Num)
		if !c.Unit {
			n.sizes[key.Num] = t.ObjectSizes[o]
		}
	}
	return n
}

func TestPrefetchingEqualsNaiveLRU(t *testing.T) {
	for _, text := range prefetchers {
		for _, sized := range []bool{false, true} {
			for _, capacity := range []int64{1, 2, 9, 60, 400} {
				t.Run(fmt.Sprintf("%s,sized=%t,capacity=%d", text, sized, capacity), func(t *testing.T) {
					tr := blocks(uint64(capacity), 4000, sized)
					tr.Written.Passing = 1
					config := prefetchingConfig(t, tr, text, capacity)
					looks := func(pos int) bool { return capacity%2 == 0 && pos/25*pos/25%3 == 1 } // in runs
					wantCounts, wantCounters := newNaiveLRU(tr, config).run(tr, looks)
					c := must.Get(newExactCache(config))(t)
					var counts Counts
					for from, to := 0, 0; from < len(tr.Objects); from = to {
						for to = from + 1; to < min(from+700, len(tr.Objects)) && looks(to) == looks(from); to++ {
						}
						if w := WindowOf(tr, from, to, sized, nil); looks(from) {
							c.(Dropping).LookAll(w, &counts)
						} else {
							c.Serve(w, &counts)
						}
					}
					if counts != wantCounts {
						t.Errorf("counts\n%+v, want\n%+v", counts, wantCounts)
					}
					if got := c.(Reporting).Counters(); !slices.Equal(got, wantCounters) {
						t.Errorf("counters %v, want %v", got, wantCounters)
					}
				})
			}
		}
	}
}

// A proposal that the trace never asks for takes its room: of two streams, next loads an address behind each end.
func TestWhatIsNeverAskedForTakesRoom(t *testing.T) {
	tr := &traces.Trace{Name: "two", NumObjects: 2, Objects: []uint32{0, 1, 0, 1},
		Keys: []stream.Key{{Num: 10}, {Num: 20}}}
	for capacity, want := range map[int64]int64{2: 0, 3: 0, 4: 2} {
		c := must.Get(newExactCache(prefetchingConfig(t, tr, "next", capacity)))(t)
		var n Counts
		c.Serve(WindowOf(tr, 0, 4, false, nil), &n)
		if n.Hits != want {
			t.Errorf("capacity %d: %d hits, want %d, as 11 and 21 are resident, too", capacity, n.Hits, want)
		}
	}
}

func TestWarmupDoesNotCountPrefetches(t *testing.T) {
	tr := &traces.Trace{Name: "run", NumObjects: 4, Objects: []uint32{0, 1, 2, 3},
		Keys: []stream.Key{{Num: 10}, {Num: 11}, {Num: 12}, {Num: 13}}}
	c := must.Get(newExactCache(prefetchingConfig(t, tr, "next", 10)))(t)
	var n Counts
	c.Serve(WindowOf(tr, 0, 2, false, nil), &n)
	c.(Warming).BeginCounting()
	c.Serve(WindowOf(tr, 2, 4, false, nil), &n)
	// 12 was prefetched before and is asked for after it: it counts as neither. 13 and 14 are, and 13 is asked for.
	want := []policies.Counter{policies.Count(prefetch.Prefetches, 2), policies.Count(prefetch.UsefulPrefetches, 1),
		policies.Count(prefetch.WastedPrefetches, 1)}
	if got := c.(Reporting).Counters(); !slices.Equal(got, want) {
		t.Errorf("counters %v, want %v", got, want)
	}
}

// recorder notes what an observer is told.
type recorder struct{ hits, loaded, left []policies.Object }

func (r *recorder) Hit(o policies.Object) { r.hits = append(r.hits, o) }

func (r *recorder) Loaded(o policies.Object, _ int64, _ policies.Reason) {
	r.loaded = append(r.loaded, o)
}

func (r *recorder) Left(o policies.Object, _ int64, _ Departure) { r.left = append(r.left, o) }

func TestPrefetchingTellsItsObserver(t *testing.T) {
	tr := &traces.Trace{Name: "run", NumObjects: 2, Objects: []uint32{0, 1, 1},
		Keys: []stream.Key{{Num: 10}, {Num: 20}}}
	config := prefetchingConfig(t, tr, "next", 2)
	told := &recorder{}
	config.Observer = told
	c := must.Get(newExactCache(config))(t)
	c.Serve(WindowOf(tr, 0, 3, false, nil), &Counts{})
	if want := []policies.Object{1}; !slices.Equal(told.hits, want) {
		t.Errorf("hits of %v, want %v", told.hits, want)
	}
	if want := []policies.Object{0, 2, 1, 3}; !slices.Equal(told.loaded, want) {
		t.Errorf("loaded %v, want %v", told.loaded, want)
	}
	if want := []policies.Object{0, 2}; !slices.Equal(told.left, want) {
		t.Errorf("left %v, want %v", told.left, want)
	}
}

func BenchmarkPrefetching(b *testing.B) {
	tr := blocks(1, 200_000, false)
	addresses := must.Get(prefetch.NewAddresses(tr))(b)
	lru := must.Get(policies.Registry.Parse("lru"))(b)
	for _, e := range prefetch.Registry.All() {
		if e.Files {
			continue // the trace has none
		}
		b.Run(e.Name, func(b *testing.B) {
			spec := must.Get(prefetch.Registry.Parse(e.Name))(b)
			config := Config{Trace: tr, Capacity: 2000, Unit: true, Policy: lru, Prefetcher: &spec}
			if e.Addresses {
				config.Addresses = addresses
			}
			for b.Loop() {
				c := must.Get(newExactCache(config))(b)
				c.Serve(WindowOf(tr, 0, len(tr.Objects), false, nil), &Counts{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tr.Objects)), "ns/request")
		})
	}
}
