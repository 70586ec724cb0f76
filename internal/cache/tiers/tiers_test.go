package tiers

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// configOf returns the config of a cache for a trace.
func configOf(tb must.TB, t *traces.Trace, kind, policy string, capacity int64, unit bool) cache.Config {
	tb.Helper()
	next := policytest.NextUse(t)
	c := cache.Config{Trace: t, Capacity: capacity, Unit: unit, Seed: 3, NextUse: func() []uint32 { return next },
		Params: must.Get(cache.Registry.Parse(kind))(tb).Params, Policy: must.Get(policies.Registry.Parse(policy))(tb)}
	if policies.Can[policies.PredictorUser](c.Policy.Entry) {
		c = predicting(tb, c, "noisy(p=0.3)")
	}
	if c.Policy.Entry.Relates {
		c.Relations = &policies.Relations{HitFrom: cache.IdentityOnly}
	}
	return c
}

func newCache(tb must.TB, t *traces.Trace, kind, policy string, capacity int64, unit bool) cache.Cache {
	tb.Helper()
	c := configOf(tb, t, kind, policy, capacity, unit)
	return must.Get(must.Get(cache.Registry.Parse(kind))(tb).Entry.New(c))(tb)
}

// hierarchyOf returns what all hierarchies have in common.
func hierarchyOf(c cache.Cache) *hierarchy {
	if o, ok := c.(*objects); ok {
		return &o.hierarchy
	}
	return &c.(*chains).hierarchy
}

// groupsOf returns where the groups of a trace begin, and its end: each request is one if it has none.
func groupsOf(t *traces.Trace) (starts []int) {
	for i := range t.Objects {
		starts = append(starts, i)
	}
	if t.Groups != nil {
		starts = slices.Clone(t.Groups)
	}
	return append(starts, len(t.Objects))
}

// serveEach serves a trace group by group, and calls after behind each with the group and the counts so far.
func serveEach(t *traces.Trace, c cache.Cache, bytes bool, after func(group int, n cache.Counts)) cache.Counts {
	var n cache.Counts
	buffer := make([]int64, len(t.Objects))
	starts := groupsOf(t)
	for i, from := range starts[:len(starts)-1] {
		c.Serve(cache.WindowOf(t, from, starts[i+1], bytes, buffer), &n)
		after(i, n)
	}
	return n
}

func serveAll(t *traces.Trace, c cache.Cache, bytes bool) cache.Counts {
	return serveEach(t, c, bytes, func(int, cache.Counts) {})
}

// TestOneTierIsTheCacheItself compares a single tier with the exact cache and with the prefix cache, request by
// request, for all policies.
func TestOneTierIsTheCacheItself(t *testing.T) {
	for seed := range brief.Of[uint64](8, 2) {
		rng := rand.New(rand.NewPCG(seed, 11))
		sized := policytest.Trace(seed, 300, 40)
		policytest.ChangeSizes(sized)
		for _, c := range []struct {
			trace    *traces.Trace
			kind     string
			capacity int64
			unit     bool
		}{
			{policytest.Trace(seed, 400, 50), "exact", 1 + rng.Int64N(20), true},
			{sized, "exact", 1 + rng.Int64N(200), false},
			{policytest.RandomPrompts(rng, 60, 6, 4), "prefix", 1 + rng.Int64N(30), true},
			{policytest.RandomPrompts(rng, 60, 6, 4), "prefix(concurrency=3)", 1 + rng.Int64N(30), true},
		} {
			policytest.ForSample(t, !c.unit, func(t *testing.T, e policies.Entry) {
				if e.Similar {
					t.Skip("needs more than requests")
				}
				size := policytest.CapacityFor(e, c.capacity)
				suffix := ""
				if strings.Contains(c.kind, "concurrency") {
					suffix = ",concurrency=3"
				}
				unit := "B"
				if c.unit {
					unit = ""
				}
				alone := newCache(t, c.trace, c.kind, policytest.Spec(e), size, c.unit)
				one := newCache(t, c.trace, fmt.Sprintf("tiers(memory=%d%s%s)", size, unit, suffix), policytest.Spec(e), size,
					c.unit)
				var want []cache.Counts
				serveEach(c.trace, alone, !c.unit, func(_ int, n cache.Counts) { want = append(want, n) })
				serveEach(c.trace, one, !c.unit, func(i int, n cache.Counts) {
					if n != want[i] {
						t.Fatalf("%s of %d, group %d: %+v, want %+v", c.kind, size, i, n, want[i])
					}
				})
				got, other := counters(one), counters(alone)
				for name, x := range other {
					if got[name] != x {
						t.Fatalf("%s: counter %s is %v, want %v", c.kind, name, got[name], x)
					}
				}
			})
		}
	}
}

func counters(c any) map[string]float64 {
	all := map[string]float64{}
	if reporting, ok := c.(cache.Reporting); ok {
		for _, n := range reporting.Counters() {
			all[n.Name()] = n.Value
		}
	}
	return all
}

// keeping are policies that keep what they are given, so that nothing leaves but for want of room.
var keeping = []string{"lru", "fifo", "lfu", "random", "sieve", "s3fifo", "arc", "slru", "mru", "clock", "lirs", "2q"}

// draw is a random hierarchy over a random trace.
type draw struct {
	trace *traces.Trace
	text  string
	unit  bool
	cache cache.Cache
	tiers int
	mode  string
}

func drawHierarchy(t *rapid.T, modes ...string) draw {
	d := draw{unit: true, tiers: rapid.IntRange(2, 4).Draw(t, "tiers"), mode: rapid.SampledFrom(modes).Draw(t, "mode")}
	seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
	rng := rand.New(rand.NewPCG(seed, 13))
	what := rapid.SampledFrom([]string{"objects", "bytes", "prompts"}).Draw(t, "what")
	least := int64(1)
	switch what {
	case "prompts":
		least = rapid.SampledFrom([]int64{1, 6}).Draw(t, "least")
		d.trace = policytest.RandomPrompts(rng, 50, 6, 4)
	case "bytes":
		d.trace, d.unit, least = policytest.Trace(seed, 200, 30), false, 20
		if rapid.Bool().Draw(t, "changing") {
			policytest.ChangeSizes(d.trace)
			policytest.Write(d.trace, rng)
		}
	default:
		d.trace = policytest.Trace(seed, 200, 40)
	}
	var sizes, chosen []string
	size := least
	for i := range d.tiers {
		more := rapid.Int64Range(0, 8*least).Draw(t, "more")
		if d.mode == inclusive || i == 0 {
			size += more
		} else {
			size = least + more
		}
		unit := "B"
		if d.unit {
			unit = ""
		}
		name := []string{"hbm", "host", "ssd", "remote"}[i]
		sizes = append(sizes, fmt.Sprintf("%s=%d%s", name, size, unit))
		chosen = append(chosen, rapid.SampledFrom(keeping).Draw(t, "policy"))
	}
	d.text = fmt.Sprintf("tiers(%s,mode=%s,policies=%s,promote=%d", strings.Join(sizes, ","), d.mode,
		strings.Join(chosen, "/"), rapid.IntRange(0, 3).Draw(t, "promote"))
	if what == "prompts" {
		d.text += fmt.Sprintf(",concurrency=%d,last=%s", rapid.IntRange(1, 3).Draw(t, "concurrency"),
			rapid.SampledFrom(prefix.LastParam.Choices).Draw(t, "last"))
	}
	d.text += ")"
	d.cache = newCache(t, d.trace, d.text, "lru", 1, d.unit)
	return d
}

// TestTiersConserve: no tier is ever above its size; exclusive tiers have nothing twice; inclusive ones have all below
// that they have above; everything that was loaded is in some tier until it has left the last one; and no tier keeps a
// value that was replaced.
func TestTiersConserve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHierarchy(t, exclusive, inclusive, writeThrough, writeBack)
		h := hierarchyOf(d.cache)
		before := map[policies.Object]bool{}
		var gone int64
		starts := groupsOf(d.trace)
		serveEach(d.trace, d.cache, !d.unit, func(group int, n cache.Counts) {
			now := map[policies.Object]bool{}
			for o := range policies.Object(d.trace.NumObjects) {
				has := make([]bool, len(h.levels))
				for i, l := range h.levels {
					has[i] = l.pool.Has(o)
					now[o] = now[o] || has[i]
				}
				copies := 0
				for i := range has {
					if has[i] {
						copies++
					}
					if d.mode == inclusive && i > 0 && has[i-1] && !has[i] {
						t.Fatalf("%s, group %d: %s has %d and %s below it has not", d.text, group, h.levels[i-1].name, o,
							h.levels[i].name)
					}
				}
				if d.mode == exclusive && copies > 1 {
					t.Fatalf("%s, group %d: %d is in %d tiers", d.text, group, o, copies)
				}
			}
			for _, l := range h.levels {
				if l.pool.Used() > l.pool.Capacity() {
					t.Fatalf("%s, group %d: %s is above its size", d.text, group, l.name)
				}
				if o := d.trace.Objects[starts[group]]; d.trace.IsWrite(starts[group]) && l.pool.Has(o) &&
					l.pool.Charge(o) != d.trace.Size(starts[group]) {
					t.Fatalf("%s, group %d: %s has an old value of %d", d.text, group, l.name, o)
				}
			}
			// what is new must be of this group, and what is lost was counted
			var lost, added int64
			for o, was := range before {
				if was && !now[o] {
					lost++
				}
			}
			for o, is := range now {
				if is && !before[o] {
					added++
					if !slices.Contains(d.trace.Objects[starts[group]:starts[group+1]], o) {
						t.Fatalf("%s, group %d: %d came without a request", d.text, group, o)
					}
				}
			}
			left := h.gone - gone
			if left < lost || left > lost+int64(starts[group+1]-starts[group]) {
				t.Fatalf("%s, group %d: %d left, counted %d", d.text, group, lost, left)
			}
			if n.Evictions != h.gone {
				t.Fatalf("%d evictions, %d gone", n.Evictions, h.gone)
			}
			gone, before = h.gone, now
		})
	})
}

// TestOnTheWayDown: what is on its way down has not left, nor is its lower copy written once more where that makes room
// for others on their way. Request 4 evicts 0 from memory, which evicts 3 from the host, which evicts 0 from the SSD.
func TestOnTheWayDown(t *testing.T) {
	tr := &traces.Trace{Name: "objects", NumObjects: 5, Objects: []uint32{0, 1, 2, 3, 0, 4}, SampleRate: 1}
	c := newCache(t, tr, "tiers(host=1,ssd=2,remote=9,mode=write-back)", "lru", 1, true)
	n := serveAll(tr, c, false)
	if got := counters(c)["tier_writes[remote]"]; n.Evictions != 0 || got != 1 {
		t.Errorf("%d objects left, want 0; %v were written to the last tier, want 1, the object 1", n.Evictions, got)
	}
}

// TestNothingIsLost: what the first tier evicts is in a lower one afterwards, unless that has evicted it for something
// else since. So with room for all in the last tier, nothing is ever requested in vain twice.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 17))
		tr := policytest.Trace(seed, 300, 60)
		if rapid.Bool().Draw(t, "prompts") {
			tr = policytest.RandomPrompts(rng, 60, 6, 4)
		}
		mode := rapid.SampledFrom([]string{exclusive, writeBack}).Draw(t, "mode")
		policy := rapid.SampledFrom(keeping).Draw(t, "policy")
		text := fmt.Sprintf("tiers(hbm=%d,host=%d,ssd=1000,mode=%s,promote=%d)", rapid.IntRange(1, 9).Draw(t, "hbm"),
			rapid.IntRange(1, 9).Draw(t, "host"), mode, rapid.IntRange(0, 2).Draw(t, "promote"))
		n := serveAll(tr, newCache(t, tr, text, policy, 1, true), false)
		if n.Misses() != int64(tr.NumObjects) || n.Evictions != 0 {
			t.Fatalf("%s, %s: %d misses of %d objects, %d evictions", text, policy, n.Misses(), tr.NumObjects, n.Evictions)
		}
	})
}

// hitsUpTo returns the hits in the first tiers, for each number of them.
func hitsUpTo(c cache.Cache) (sums []int64) {
	sum := int64(0)
	for _, l := range hierarchyOf(c).levels {
		sum += l.hits
		sums = append(sums, sum)
	}
	return sums
}

// TestLRUInTiersIsOneLRU: exclusive tiers with LRU have the hits of one LRU as large as the first of them together;
// inclusive and written-through ones those of one as large as the largest of these.
func TestLRUInTiersIsOneLRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 400, 60)
		mode := rapid.SampledFrom([]string{exclusive, inclusive, writeThrough}).Draw(t, "mode")
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 15), 3, 3).Draw(t, "sizes")
		if mode == inclusive {
			slices.Sort(sizes)
		}
		c := newCache(t, tr, fmt.Sprintf("tiers(memory=%d,flash=%d,disk=%d,mode=%s)", sizes[0], sizes[1], sizes[2], mode),
			"lru", 1, true)
		serveAll(tr, c, false)
		size := int64(0)
		for i, got := range hitsUpTo(c) {
			size = max(size, sizes[i])
			if mode == exclusive {
				size = sizes[0]
				for _, more := range sizes[1 : i+1] {
					size += more
				}
			}
			want := serveAll(tr, newCache(t, tr, "exact", "lru", size, true), false).Hits
			if got != want {
				t.Fatalf("%s, sizes %v: %d hits in the first %d tiers, one LRU of %d has %d", mode, sizes, got, i+1, size, want)
			}
		}
	})
}

// TestPromptsOfOneBlockAreObjects: prompts that are a block each hit where objects hit, tier by tier, in every mode. So
// a hit in the first tier is one of the copies below, too.
func TestPromptsOfOneBlockAreObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 17))
		letters := make([]string, 300)
		for i := range letters {
			letters[i] = string(rune('a' + rng.IntN(1+rng.IntN(26))))
		}
		asPrompts := policytest.Prompts(16, letters...)
		asObjects := &traces.Trace{SampleRate: 1, Objects: asPrompts.Objects, NumObjects: asPrompts.NumObjects}
		first := rapid.IntRange(1, 6).Draw(t, "first")
		second := first + rapid.IntRange(0, 6).Draw(t, "more")
		text := fmt.Sprintf("tiers(memory=%d,flash=%d,disk=%d,mode=%s,promote=%d)", first, second,
			second+rapid.IntRange(0, 6).Draw(t, "further"),
			rapid.SampledFrom([]string{exclusive, inclusive, writeThrough, writeBack}).Draw(t, "mode"),
			rapid.IntRange(0, 3).Draw(t, "promote"))
		policy := rapid.SampledFrom([]string{"lru", "fifo", "lfu"}).Draw(t, "policy")
		prompts, objects := newCache(t, asPrompts, text, policy, 1, true), newCache(t, asObjects, text, policy, 1, true)
		serveAll(asPrompts, prompts, false)
		serveAll(asObjects, objects, false)
		if got, want := hitsUpTo(prompts), hitsUpTo(objects); !slices.Equal(got, want) {
			t.Fatalf("%s, %s: hits in the first tiers %v as prompts, %v as objects", text, policy, got, want)
		}
	})
}

// naiveLRU are lists of objects, the one requested last in front, for exclusive tiers.
type naiveLRU struct {
	sizes []int
	tiers [][]uint32
}

// request returns the tier that has an object, -1 for none, and brings it to the first tier.
func (n *naiveLRU) request(o uint32) (at int) {
	at = slices.IndexFunc(n.tiers, func(tier []uint32) bool { return slices.Contains(tier, o) })
	if at >= 0 {
		n.tiers[at] = slices.DeleteFunc(n.tiers[at], func(other uint32) bool { return other == o })
	}
	for i := range n.tiers {
		n.tiers[i] = slices.Insert(n.tiers[i], 0, o)
		if len(n.tiers[i]) <= n.sizes[i] {
			break
		}
		o = n.tiers[i][n.sizes[i]]
		n.tiers[i] = n.tiers[i][:n.sizes[i]]
	}
	return at
}

func TestExclusiveLRUAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 300, 40)
		n := naiveLRU{sizes: rapid.SliceOfN(rapid.IntRange(1, 9), 2, 4).Draw(t, "sizes")}
		n.tiers = make([][]uint32, len(n.sizes))
		text := "tiers("
		for i, size := range n.sizes {
			text += fmt.Sprintf("%s=%d,", []string{"memory", "flash", "disk", "remote"}[i], size)
		}
		c := newCache(t, tr, text+"mode=exclusive)", "lru", 1, true)
		h, hits := hierarchyOf(c), make([]int64, len(n.sizes))
		serveEach(tr, c, false, func(i int, _ cache.Counts) {
			if at := n.request(tr.Objects[i]); at >= 0 {
				hits[at]++
			}
			compareTiers(t, i, tr.NumObjects, h, n.tiers, hits)
		})
	})
}

// compareTiers compares what each tier has, and its hits, with those of a naive version after a request.
func compareTiers(t *rapid.T, request, objects int, h *hierarchy, tiers [][]uint32, hits []int64) {
	t.Helper()
	for k, l := range h.levels {
		var got []uint32
		for o := range policies.Object(objects) {
			if l.pool.Has(o) {
				got = append(got, o)
			}
		}
		if want := slices.Sorted(slices.Values(tiers[k])); !slices.Equal(got, want) || l.hits != hits[k] {
			t.Fatalf("request %d: tier %d has %v and %d hits, want %v and %d", request, k, got, l.hits, want, hits[k])
		}
	}
}

// state is what a hierarchy of two tiers has, as sets of objects.
type state struct{ first, second uint32 }

// leastCost is the least cost of a trace over all schedules of two tiers in which each request brings its object to the
// first one: hits in the second and misses have costs. Exclusive: nothing is in both; inclusive: the second has all.
func leastCost(objects []uint32, sizes [2]int, second, miss int, isInclusive bool) int {
	reached := map[state]int{{}: 0}
	for _, o := range objects {
		next := map[state]int{}
		x := uint32(1) << o
		for s, cost := range reached {
			switch {
			case s.first&x != 0:
			case s.second&x != 0:
				cost += second
			default:
				cost += miss
			}
			all := s.first | s.second | x
			for first := range subsets(s.first | x) {
				if first&x == 0 || count(first) > sizes[0] {
					continue
				}
				for below := range subsets(all) {
					if count(below) > sizes[1] || isInclusive != (first&^below == 0) || !isInclusive && first&below != 0 {
						continue
					}
					to := state{first, below}
					if have, ok := next[to]; !ok || cost < have {
						next[to] = cost
					}
				}
			}
		}
		reached = next
	}
	return slices.Min(slices.Collect(maps.Values(reached)))
}

func count(set uint32) (n int) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// subsets yields all subsets of a set.
func subsets(of uint32) func(yield func(uint32) bool) {
	return func(yield func(uint32) bool) {
		for set := of; ; set = (set - 1) & of {
			if !yield(set) || set == 0 {
				return
			}
		}
	}
}

// TestOptimumOfTiersAgainstBruteForce: opt in each tier has the least cost of all schedules, whatever hits below cost.
func TestOptimumOfTiersAgainstBruteForce(t *testing.T) {
	for seed := range brief.Of[uint64](60, 12) {
		rng := rand.New(rand.NewPCG(seed, 19))
		tr := policytest.Trace(seed, 14, 6)
		for _, mode := range []string{exclusive, inclusive} {
			sizes := [2]int{1 + rng.IntN(2), 1 + rng.IntN(3)}
			if mode == inclusive {
				sizes[1] = max(sizes[0], sizes[1])
			}
			c := newCache(t, tr, fmt.Sprintf("tiers(memory=%d,flash=%d,mode=%s)", sizes[0], sizes[1], mode), "opt", 1, true)
			n := serveAll(tr, c, false)
			below := hierarchyOf(c).levels[1].hits
			for _, cost := range [][2]int{{0, 1}, {1, 1}, {1, 2}, {1, 10}, {9, 10}} {
				got := int(below)*cost[0] + int(n.Misses())*cost[1]
				if want := leastCost(tr.Objects, sizes, cost[0], cost[1], mode == inclusive); got != want {
					t.Fatalf("seed %d, %s, sizes %v, a hit below costs %d, a miss %d: opt costs %d, the least is %d", seed, mode,
						sizes, cost[0], cost[1], got, want)
				}
			}
		}
	}
}

// TestOptimumIsABound: no mode, policy or promotion has fewer misses than one optimal cache as large as all tiers.
func TestOptimumIsABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHierarchy(t, exclusive, inclusive, writeThrough, writeBack)
		if !d.unit {
			t.Skip("no optimum is known where sizes differ")
		}
		c := configOf(t, d.trace, d.text, "lru", 1, true)
		size := must.Get(whole(c))(t)
		kind := "exact"
		if d.trace.Groups != nil {
			kind = fmt.Sprintf("prefix(concurrency=%d)", c.Params.Int("concurrency"))
		}
		policy := "opt"
		if must.Get(cache.Registry.Parse(d.text))(t).Entry.Bypasses {
			policy = "opt-bypass"
		}
		if c.Params.Int("concurrency") > 1 {
			t.Skip("what is held depends on the policy")
		}
		if d.trace.Groups != nil && must.Get(resolve(must.Get(parse(c.Params))(t), c))(t)[0] < 6 {
			t.Skip("prompts may be longer than the first tier")
		}
		bound := serveAll(d.trace, newCache(t, d.trace, kind, policy, size, true), false)
		c.Params, c.Policy = references(c.Params), must.Get(policies.Registry.Parse(policy))(t)
		if joined := serveAll(d.trace, must.Get(build(c))(t), false); joined != bound {
			t.Fatalf("%s joined: %+v, one cache %+v", d.text, joined, bound)
		}
		if got := serveAll(d.trace, d.cache, false); got.Hits > bound.Hits {
			t.Fatalf("%s has %d hits, opt in one %s cache of %d has %d", d.text, got.Hits, kind, size, bound.Hits)
		}
	})
}

// TestOptimumOfPrompts: opt in exclusive tiers has the hits of opt in one prefix cache as large as all of them, where
// the first tier has room for every prompt.
func TestOptimumOfPrompts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 23))
		tr := policytest.RandomPrompts(rng, 60, 5, 4)
		policy := rapid.SampledFrom([]string{"opt", "lru"}).Draw(t, "policy")
		first, second := rapid.IntRange(5, 20).Draw(t, "first"), rapid.IntRange(1, 20).Draw(t, "second")
		got := serveAll(tr, newCache(t, tr, fmt.Sprintf("tiers(hbm=%d,host=%d)", first, second), policy, 1, true), false)
		want := serveAll(tr, newCache(t, tr, "prefix", policy, int64(first+second), true), false)
		if got.Hits != want.Hits {
			t.Fatalf("%s in %d over %d: %d hits, in one of both %d", policy, first, second, got.Hits, want.Hits)
		}
	})
}

// TestCountsAreOfTiers: hits of the tiers are the hits of the cache, and what is written to a tier is what came and is
// there or has left.
func TestCountsAreOfTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHierarchy(t, exclusive, inclusive, writeThrough, writeBack)
		n := serveAll(d.trace, d.cache, !d.unit)
		h := hierarchyOf(d.cache)
		var hits, tokens, bytes int64
		for _, l := range h.levels {
			hits, tokens, bytes = hits+l.hits, tokens+l.hitTokens, bytes+l.readBytes
			left := l.written - l.evicted - int64(l.pool.Len())
			if d.mode != exclusive && left != 0 || l.at == 0 && left != 0 || left < 0 {
				t.Fatalf("%s: %s: %d written, %d evicted, %d resident", d.text, l.name, l.written, l.evicted, l.pool.Len())
			}
		}
		if hits != n.Hits || tokens != n.HitTokens || !d.unit && bytes != n.HitBytes {
			t.Fatalf("%s: tiers have %d hits, %d tokens, %d bytes; the cache %+v", d.text, hits, tokens, bytes, n)
		}
	})
}

// TestPromotionOnTheNthHit: an object remains in the lower tier for n-1 hits.
func TestPromotionOnTheNthHit(t *testing.T) {
	for promote, want := range map[int]string{0: "-1111", 1: "-1000", 2: "-1100", 3: "-1110"} {
		// a is loaded, b evicts it from the first tier, and then a is requested four times
		tr := &traces.Trace{Name: "by hand", SampleRate: 1, NumObjects: 2, Objects: []uint32{0, 1, 0, 0, 0, 0}}
		c := newCache(t, tr, fmt.Sprintf("tiers(memory=1,flash=5,promote=%d)", promote), "lru", 1, true)
		h := hierarchyOf(c)
		got := "-"
		last := []int64{0, 0}
		serveEach(tr, c, false, func(i int, _ cache.Counts) {
			for k, l := range h.levels {
				if i > 1 && l.hits > last[k] {
					got += fmt.Sprint(k)
				}
				last[k] = l.hits
			}
		})
		if got != want {
			t.Errorf("promote=%d: hits in the tiers %s, want %s", promote, got, want)
		}
	}
}

// TestWhatIsWritten follows six requests by hand: a b c a d a in one object of memory over two of flash.
func TestWhatIsWritten(t *testing.T) {
	tr := &traces.Trace{Name: "by hand", SampleRate: 1, NumObjects: 4, Objects: []uint32{0, 1, 2, 0, 3, 0},
		ObjectSizes: []int64{1, 1, 1, 1}}
	for mode, want := range map[string][2]int64{
		// a and b come down; a moves up and c comes down in its place; d pushes a down, where b leaves; a moves up, d down
		exclusive: {6, 5},
		// each is written below when it is loaded; a leaves for c and is loaded again, for which b leaves, and c for d
		inclusive:    {6, 5},
		writeThrough: {6, 5},
		// a, b; a is copied, and c comes down, for which b leaves; a is below when d evicts it; d comes down, c leaves
		writeBack: {6, 4},
	} {
		c := newCache(t, tr, "tiers(memory=1,flash=2,mode="+mode+")", "lru", 1, true)
		serveAll(tr, c, false)
		h := hierarchyOf(c)
		if got := [2]int64{h.levels[0].written, h.levels[1].written}; got != want {
			t.Errorf("%s: %v writes, want %v", mode, got, want)
		}
	}
}

// TestWritesPerDayInAnyOrder: the days are those from the earliest to the latest request.
func TestWritesPerDayInAnyOrder(t *testing.T) {
	const day = int64(24 * 3600e9)
	flat := &traces.Trace{Name: "objects", NumObjects: 4, Objects: []uint32{0, 1, 2, 3}}
	chained := policytest.RandomPrompts(rand.New(rand.NewPCG(1, 1)), 4, 3, 2)
	for _, times := range [][]int64{{0, 1, 2, 4}, {4, 2, 1, 0}, {2, 4, 0, 3}} {
		flat.Times = nil
		columns := prompts.Of(chained.Kind)
		columns.Arrivals = nil
		for _, at := range times {
			flat.Times = append(flat.Times, at*day)
			columns.Arrivals = append(columns.Arrivals, at*day)
		}
		for _, tr := range []*traces.Trace{flat, chained} {
			c := newCache(t, tr, "tiers(host=2)", "lru", 1, true)
			serveAll(tr, c, false)
			n := counters(c)
			first := hierarchyOf(c).levels[0].name
			if got, want := n["tier_writes_day["+first+"]"], n["tier_writes["+first+"]"]/4; got != want || want == 0 {
				t.Errorf("%s, times %v: %v writes a day, want %v", tr.Name, times, got, want)
			}
		}
	}
}

// TestDropsAreFromAllTiers: what is deleted is in no tier afterwards.
func TestDropsAreFromAllTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHierarchy(t, exclusive, inclusive, writeThrough, writeBack)
		c, ok := d.cache.(*objects)
		if !ok {
			t.Skip("prompts have no deletions")
		}
		serveEach(d.trace, c, !d.unit, func(i int, _ cache.Counts) {
			if i%7 == 3 {
				o := d.trace.Objects[i/2]
				was := c.find(o) >= 0
				if got := c.Drop(o); got != was || c.find(o) >= 0 {
					t.Fatalf("%s: drop of %d: %v, it was there: %v", d.text, o, got, was)
				}
			}
		})
	})
}

func TestTiersRejectBadInput(t *testing.T) {
	for text, want := range map[string]string{
		"tiers":                                         "no tier has a size",
		"tiers()":                                       "no tier has a size",
		"tiers(shared=64MiB)":                           "--route 'ring(behind=8)'",
		"tiers(host=10x,shared=64MiB)":                  "--route 'ring(behind=8)'",
		"tiers(host=10x,host=20x)":                      "host is given twice",
		"tiers(hots=10x)":                               `did you mean "host"?`,
		"tiers(host=x)":                                 "want a multiple of the first tier",
		"tiers(host=-1x)":                               "want a multiple of the first tier",
		"tiers(host=1e300x)":                            "want a multiple of the first tier",
		"tiers(host=10gb)":                              "did you mean",
		"tiers(host=0)":                                 "must be above 0",
		"tiers(hbm=9e30TiB,host=1)":                     "hbm",
		"tiers(hbm=99999999999999999999)":               "too large",
		"tiers(hbm=10x)":                                "cannot be a multiple of itself",
		"tiers(hbm=5%,host=10x)":                        "write --capacity 5%",
		"tiers(hbm=100,host=50,mode=inclusive)":         "smaller than the tier above it",
		"tiers(host=0.5x,mode=inclusive)":               "smaller than the tier above it",
		"tiers(host=10x,ssd=5x,mode=inclusive)":         "smaller than the tier above it",
		"tiers(hbm=10,mode=write-back)":                 "no effect with one tier",
		"tiers(host=10x,mode=sideways)":                 "want one of exclusive, inclusive",
		"tiers(host=10x,policies=lru)":                  "1 policies for 2 tiers",
		"tiers(host=10x,policies=lru/nosuch)":           "nosuch",
		"tiers(host=10x,policies=lru/s3fifo(small=9))":  "small=9",
		"tiers(host=10x,promote=256)":                   "from 0 to 255",
		"tiers(hbm=1,host=2,ssd=3,policies=/(/)":        "unbalanced",
		"tiers(host=10x,policies=lru/s3fifo(small=0.2)": "unbalanced parentheses",
	} {
		must.NotGet(cache.Registry.Parse(text))(t, want, text)
	}
	tr := policytest.Trace(1, 50, 10)
	for text, want := range map[string]string{
		"tiers(hbm=1GiB,host=2GiB)":               "add --kv",
		"tiers(hbm=3,host=10%,mode=inclusive)":    "smaller than the tier above it",
		"tiers(host=1000000000x,ssd=1000000000x)": "larger than",
		"tiers(hbm=3,host=4611686018427387903)":   "larger than",
		"tiers(hbm=4611686018427387903,host=2x)":  "larger than",
		"tiers(host=10x,policies=lru/ttl)":        "",
		"tiers(hbm=3,host=5,policies=lru/gdsf)":   "",
	} {
		on := tr
		if strings.Contains(text, "GiB") {
			on = policytest.Prompts(16, "ab", "abc")
		}
		spec := must.Get(cache.Registry.Parse(text))(t)
		_, err := spec.Entry.New(configOf(t, on, text, "lru", 4611686018, true))
		if want == "" {
			must.Do(t, err)
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	for policies, want := range map[string]string{"infinite": "ignores the size", "fpb": "needs more of the trace",
		"pfoo-l": ""} {
		spec, err := cache.Registry.Parse("tiers(host=10x,policies=lru/" + policies + ")")
		if err == nil {
			err = spec.Entry.Check(spec.Params, must.Get(parsePolicy("lru"))(t))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", policies, err, want)
		}
	}
}

func parsePolicy(text string) (policies.Entry, error) {
	s, err := policies.Registry.Parse(text)
	return s.Entry, err
}

// TestSizesOfTiers: multiples are of the first tier, shares of the trace, bytes of prompts whole blocks.
func TestSizesOfTiers(t *testing.T) {
	sizesOf := func(tr *traces.Trace, text string, capacity, blockBytes int64) (sizes []int64) {
		c := configOf(t, tr, text, "lru", capacity, true)
		c.BlockBytes = blockBytes
		for _, l := range hierarchyOf(must.Get(must.Get(cache.Registry.Parse(text))(t).Entry.New(c))(t)).levels {
			sizes = append(sizes, l.pool.Capacity())
		}
		return sizes
	}
	tr, chat := policytest.Trace(1, 500, 200), policytest.Prompts(16, strings.Repeat("a", 3000))
	share := int64(tr.NumObjects / 2)
	for _, c := range []struct {
		trace *traces.Trace
		text  string
		want  []int64
	}{
		{tr, "tiers(flash=2.5x,disk=50%)", []int64{10, 25, share}},
		{tr, "tiers(memory=7,disk=3x)", []int64{7, 21}},
		{tr, "tiers(disk=0.01x)", []int64{10, 1}},
		{chat, "tiers(hbm=1MiB,host=2MiB,ssd=10x)", []int64{1024, 2048, 10240}},
		{chat, "tiers(host=2MiB)", []int64{10, 2048}},
	} {
		got := sizesOf(c.trace, c.text, 10, 1024)
		got[0] = min(got[0], cmp.Or(c.want[0], got[0])) // a tree has no more room than there are blocks
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: sizes %v, want %v", c.text, got, c.want)
		}
	}
	sampled := policytest.Trace(1, 500, 200)
	sampled.SampleRate = 0.1
	if got := sizesOf(sampled, "tiers(memory=70,disk=300)", 7, 0); !slices.Equal(got, []int64{7, 30}) {
		t.Errorf("a sample of a tenth has tiers of %v", got)
	}
}

// TestTokensOfTiers: the last block of a prompt may not be full, and its tokens count once.
func TestTokensOfTiers(t *testing.T) {
	tr := policytest.Prompts(16, "abc", "xyz", "abc")
	prompts.Of(tr.Kind).InputTokens = []int32{40, 48, 40}
	c := newCache(t, tr, "tiers(hbm=4,host=9)", "lru", 1, true)
	n := serveAll(tr, c, false)
	h := hierarchyOf(c)
	// x, y, z leave room for a, whose block the first tier has; b and c are below
	if n.HitTokens != 40 || h.levels[0].hitTokens != 16 || h.levels[1].hitTokens != 24 {
		t.Errorf("%d tokens hit, %d and %d in the tiers", n.HitTokens, h.levels[0].hitTokens, h.levels[1].hitTokens)
	}
}

// TestAdmissionKeepsOut: an admission decides about tiers of storage alone, and what it refuses was not written there.
func TestAdmissionKeepsOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 300, 60)
		if rapid.Bool().Draw(t, "prompts") {
			tr = policytest.RandomPrompts(rand.New(rand.NewPCG(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 29)), 60, 6, 4)
		}
		mode := rapid.SampledFrom([]string{exclusive, writeThrough, writeBack}).Draw(t, "mode")
		text := fmt.Sprintf("tiers(hbm=%d,host=%d,ssd=%d,mode=%s)", rapid.IntRange(6, 12).Draw(t, "hbm"),
			rapid.IntRange(1, 9).Draw(t, "host"), rapid.IntRange(1, 30).Draw(t, "ssd"), mode)
		replay := func(admission string) (*hierarchy, cache.Counts) {
			c := configOf(t, tr, text, "lru", 1, true)
			if admission != "" {
				spec := must.Get(admit.Registry.Parse(admission))(t)
				c.Admission = &spec
			}
			built := must.Get(build(c))(t)
			return hierarchyOf(built), serveAll(tr, built, false)
		}
		all, n := replay("")
		if some, m := replay("second(n=1)"); n != m || fmt.Sprint(some.levels[2].counts) != fmt.Sprint(all.levels[2].counts) {
			t.Fatalf("%s: %+v where everything is admitted, %+v without admission", text, m, n)
		}
		requested := map[policies.Object]int{}
		for _, o := range tr.Objects {
			requested[o]++
		}
		some, _ := replay("second(n=3)")
		for o := range policies.Object(tr.NumObjects) {
			if some.levels[2].pool.Has(o) && requested[o] < 3 {
				t.Fatalf("%s: %d was written after %d requests", text, o, requested[o])
			}
		}
		if host := some.levels[1]; host.refused != 0 || mode != writeThrough && host.written != all.levels[1].written {
			t.Fatalf("%s: the host has %d writes, %d without admission, and refused %d", text, host.written,
				all.levels[1].written, host.refused)
		}
	})
	for text, want := range map[string]string{"tiers(host=2x)": "none of the tiers is storage",
		"tiers(ssd=2x,mode=inclusive)": "mode=inclusive needs a copy", "tiers(ssd=2x,joined=true)": "joined=true",
		"tiers(ssd=2x)": ""} {
		if err := admits(must.Get(cache.Registry.Parse(text))(t).Params, admit.Entry{}); err != nil != (want != "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestColumnsAreOfTiers: every tier has a column for its hits, and every tier of storage one for its writes.
func TestColumnsAreOfTiers(t *testing.T) {
	var storage []string
	for _, k := range kinds {
		if k.storage {
			storage = append(storage, k.name)
		}
	}
	if got := strings.Fields(allTiers); !slices.Equal(got, Names()) {
		t.Errorf("columns of %v, tiers %v", got, Names())
	}
	if got := strings.Fields(storageTiers); !slices.Equal(got, storage) {
		t.Errorf("columns of %v, storage %v", got, storage)
	}
}

// naiveWriteBack are lists of objects as in naiveLRU, for tiers in which what moves up leaves a copy.
type naiveWriteBack struct {
	naiveLRU
	coming uint32 // the object that is requested, which the first tier is about to have
}

func (n *naiveWriteBack) request(o uint32) (at int) {
	n.coming, at = o, -1
	for i := len(n.tiers) - 1; i >= 0; i-- {
		if k := slices.Index(n.tiers[i], o); k >= 0 {
			n.tiers[i] = slices.Insert(slices.Delete(n.tiers[i], k, k+1), 0, o)
			at = i
		}
	}
	if at != 0 {
		n.insert(0, o)
	}
	return at
}

// insert makes room in a tier, by writing its last object to the next one where that is needed, and then inserts.
func (n *naiveWriteBack) insert(i int, o uint32) {
	if len(n.tiers[i]) == n.sizes[i] {
		last := n.tiers[i][n.sizes[i]-1]
		n.tiers[i] = n.tiers[i][:n.sizes[i]-1]
		above := i > 0 && last == n.coming
		for _, tier := range n.tiers[:i] {
			above = above || slices.Contains(tier, last)
		}
		if !above && i+1 < len(n.tiers) && !slices.Contains(n.tiers[i+1], last) {
			n.insert(i+1, last)
		}
	}
	n.tiers[i] = slices.Insert(n.tiers[i], 0, o)
}

func TestWriteBackLRUAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 300, 40)
		n := naiveWriteBack{naiveLRU: naiveLRU{sizes: rapid.SliceOfN(rapid.IntRange(1, 9), 3, 3).Draw(t, "sizes")}}
		n.tiers = make([][]uint32, len(n.sizes))
		c := newCache(t, tr, fmt.Sprintf("tiers(memory=%d,flash=%d,disk=%d,mode=write-back)", n.sizes[0], n.sizes[1],
			n.sizes[2]), "lru", 1, true)
		h, hits := hierarchyOf(c), make([]int64, len(n.sizes))
		serveEach(tr, c, false, func(i int, _ cache.Counts) {
			if at := n.request(tr.Objects[i]); at >= 0 {
				hits[at]++
			}
			compareTiers(t, i, tr.NumObjects, h, n.tiers, hits)
		})
	})
}

// TestEveryPolicyInTiers: every policy serves objects and prompts in every mode, with no tier above its size and with
// nothing in two tiers that are exclusive.
func TestEveryPolicyInTiers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 31))
	traces := map[string]*traces.Trace{"objects": policytest.Trace(5, 400, 60), "bytes": policytest.Trace(6, 400, 60),
		"prompts": policytest.RandomPrompts(rng, 80, 6, 4)}
	for what, tr := range traces {
		policytest.ForEach(t, what == "bytes", func(t *testing.T, e policies.Entry) {
			if e.Similar {
				t.Skip("needs more than requests")
			}
			for _, mode := range []string{exclusive, inclusive, writeThrough, writeBack} {
				text := "tiers(hbm=7,host=10,ssd=20,mode=" + mode + ")"
				if what == "bytes" {
					text = "tiers(hbm=70B,host=100B,ssd=200B,mode=" + mode + ")"
				}
				c := newCache(t, tr, text, policytest.Spec(e), 7, what != "bytes")
				serveAll(tr, c, what == "bytes")
				copies := map[policies.Object]int{}
				for _, l := range hierarchyOf(c).levels {
					if l.pool.Used() > l.pool.Capacity() {
						t.Errorf("%s of %s: %s has %d of %d", text, what, l.name, l.pool.Used(), l.pool.Capacity())
					}
					for o := range policies.Object(tr.NumObjects) {
						if l.pool.Has(o) {
							copies[o]++
						}
						if copies[o] > 1 && mode == exclusive {
							t.Errorf("%s of %s: %d is in two tiers", text, what, o)
						}
					}
				}
			}
		})
	}
}
