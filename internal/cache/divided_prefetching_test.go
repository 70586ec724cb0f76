package cache

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// tenantBlocks returns blocks of several tenants, which take turns at random. All tenants have the same addresses, each
// its own objects for them.
func tenantBlocks(seed uint64, tenants, requests int, sized bool) *traces.Trace {
	rng := rand.New(rand.NewPCG(seed, 3))
	parts := make([]*traces.Trace, tenants)
	for i := range parts {
		parts[i] = blocks(seed+uint64(i), requests, sized)
	}
	t := &traces.Trace{Name: "tenants", Tenants: &traces.Tenants{}}
	at, first := make([]int, tenants), make([]map[uint32]uint32, tenants)
	for i := range parts {
		t.Tenants.Names = append(t.Tenants.Names, string(rune('a'+i)))
		first[i] = map[uint32]uint32{}
	}
	for len(t.Objects) < requests {
		i := rng.IntN(tenants)
		part, pos := parts[i], at[i]
		at[i]++
		o, ok := first[i][part.Objects[pos]]
		if !ok {
			o = uint32(t.NumObjects)
			t.NumObjects++
			first[i][part.Objects[pos]] = o
			t.Keys = append(t.Keys, part.Keys[part.Objects[pos]])
			t.Tenants.Of = append(t.Tenants.Of, uint32(i))
			if sized {
				t.ObjectSizes = append(t.ObjectSizes, part.ObjectSizes[part.Objects[pos]])
			}
		}
		t.Objects = append(t.Objects, o)
		if sized {
			t.RequestSizes = append(t.RequestSizes, part.RequestSizes[pos])
		}
	}
	return t
}

func withAllocator(t *testing.T, c Config, allocator string) Config {
	t.Helper()
	a := must.Get(allocate.Registry.Parse(allocator))(t)
	c.Allocator = &a
	return c
}

// alone returns the requests of one tenant as a trace of its own.
func alone(t *traces.Trace, tenant uint32) *traces.Trace {
	part := &traces.Trace{Name: "alone"}
	numbers := map[uint32]uint32{}
	for pos, o := range t.Objects {
		if t.Tenants.Of[o] != tenant {
			continue
		}
		n, ok := numbers[o]
		if !ok {
			n = uint32(len(numbers))
			numbers[o] = n
			part.Keys = append(part.Keys, t.Keys[o])
			if t.ObjectSizes != nil {
				part.ObjectSizes = append(part.ObjectSizes, t.ObjectSizes[o])
			}
		}
		part.Objects = append(part.Objects, n)
		if t.RequestSizes != nil {
			part.RequestSizes = append(part.RequestSizes, t.RequestSizes[pos])
		}
	}
	part.NumObjects = len(numbers)
	return part
}

// With a fixed division and a prefetcher without memory, each tenant has what it has in a cache of its own.
func TestPrefetchingTenantsAreCaches(t *testing.T) {
	for _, sized := range []bool{false, true} {
		for _, text := range []string{"next", "next(n=3)", "next(n=2,when=miss)"} {
			tr := tenantBlocks(5, 3, 6000, sized)
			c := withAllocator(t, prefetchingConfig(t, tr, text, 300), "equal")
			served, n := serveAll(t, c)
			var hits, evictions int64
			loaded := map[string]float64{}
			for i := range uint32(3) {
				part := alone(tr, i)
				own, counts := serveAll(t, prefetchingConfig(t, part, text, 100))
				hits, evictions = hits+counts.Hits, evictions+counts.Evictions
				for _, counter := range own.(Reporting).Counters() {
					loaded[counter.Name()] += counter.Value
				}
			}
			if n.Hits != hits || n.Evictions != evictions {
				t.Errorf("%s: %d hits, %d evictions, want %d and %d as in caches of their own", text, n.Hits, n.Evictions, hits,
					evictions)
			}
			got := values(served)
			for _, m := range []string{prefetch.Prefetches.Name, prefetch.UsefulPrefetches.Name} {
				if got[m] != loaded[m] || got[m] == 0 {
					t.Errorf("%s: %s is %v, want %v", text, m, got[m], loaded[m])
				}
			}
		}
	}
}

// Every prefetcher works in every division, at once and later, never above the capacity of any pool.
func TestPrefetchingTenantsKeepToTheirPools(t *testing.T) {
	for _, text := range append(slices.Clone(prefetchers), "oracle(n=3)", "igt") {
		for _, allocator := range []string{"shared", "equal", "proportional(every=50)", "ucp(every=100)"} {
			for _, policy := range brief.Sample(3, "lru", "s3fifo", "2-random") {
				tr := tenantBlocks(7, 4, 3000, true)
				c := withAllocator(t, prefetchingConfig(t, tr, text, 200), allocator)
				spec, err := policies.Registry.Parse(policy)
				must.Do(t, err)
				c.Policy = spec
				if c.Prefetcher.Entry.Layout {
					c.Layout = must.Get(prefetch.NewLayout(tr))(t)
				}
				built, err := newExactCache(c)
				must.Do(t, err)
				served := built.(*prefetchingTenants)
				var n Counts
				for i := range tr.Objects {
					served.Serve(WindowOf(tr, i, i+1, true, nil), &n)
					if served.Used() > 200 {
						t.Fatalf("%s, %s, %s: %d of 200 are used", text, allocator, policy, served.Used())
					}
					for _, tenant := range served.Tenants() {
						if tenant.Used > tenant.Quota {
							t.Fatalf("%s, %s: tenant %s uses %d of %d", text, allocator, tenant.Name, tenant.Used, tenant.Quota)
						}
					}
				}
				got := values(served)
				if useful, wasted := got[prefetch.UsefulPrefetches.Name], got[prefetch.WastedPrefetches.Name]; n.Hits == 0 ||
					useful+wasted != got[prefetch.Prefetches.Name] {
					t.Errorf("%s, %s: %d hits, %v useful and %v wasted of %v", text, allocator, n.Hits, useful, wasted,
						got[prefetch.Prefetches.Name])
				}
				if policy == "lru" && text == "next" { // several proposals at once may evict each other
					compareServed(t, c)
				}
			}
		}
	}
}

// A stranger is charged to the tenant whose request it was proposed after, even if it arrives after one of another
// tenant, and an object to its own tenant.
func TestStrangersAreChargedToTheRequest(t *testing.T) {
	tr := &traces.Trace{Name: "two", NumObjects: 3, Objects: []uint32{0, 1, 1, 2},
		Keys:    []stream.Key{{Num: 10}, {Num: 20}, {Num: 21}},
		Tenants: &traces.Tenants{Names: []string{"a", "b"}, Of: []uint32{0, 1, 0}}}
	for text, want := range map[string][][2]int64{
		"next":          {{2, 0}, {3, 1}, {3, 1}, {4, 1}}, // 10 11, 20 and 21 of a, then 22
		"next(delay=2)": {{1, 0}, {1, 1}, {2, 1}, {3, 1}}, // 10, 20, 11 arrives, 21 is requested before it does
	} {
		built := must.Get(newExactCache(withAllocator(t, prefetchingConfig(t, tr, text, 20), "equal")))(t)
		served := built.(*prefetchingTenants)
		for i, want := range want {
			var n Counts
			served.Serve(WindowOf(tr, i, i+1, false, nil), &n)
			if all := served.Tenants(); all[0].Used != want[0] || all[1].Used != want[1] {
				t.Errorf("%s: after request %d the tenants use %d and %d, want %v", text, i, all[0].Used, all[1].Used, want)
			}
		}
	}
}
