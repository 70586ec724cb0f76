package cache

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

// guarded returns a config of configOf with an admission.
func guarded(t must.TB, c Config, admission string) Config {
	spec := must.Get(admit.Registry.Parse(admission))(t)
	c.Admission = &spec
	return c
}

// naiveGuarded returns the hits, and what was not admitted after the warm-up, of LRU that loads an object from its n-th
// request on. Every tenant has the same share of the capacity.
func naiveGuarded(tr *traces.Trace, capacity int64, unit bool, n, warmup int) (hits, refused int64) {
	lists := map[uint32][]uint32{} // per tenant, the most recent object first
	requested := map[uint32]int{}
	share := capacity
	if tr.Tenants != nil {
		share /= int64(len(tr.Tenants.Names))
	}
	size := func(o uint32) int64 {
		if unit {
			return 1
		}
		return tr.ObjectSizes[o]
	}
	for pos, o := range tr.Objects {
		tenant := uint32(0)
		if tr.Tenants != nil {
			tenant = tr.Tenants.Of[o]
		}
		requested[o]++
		list := lists[tenant]
		at := slices.Index(list, o)
		switch {
		case at >= 0:
			hits++
			list = slices.Delete(list, at, at+1)
		case size(o) > share:
			continue
		case requested[o] < n:
			if pos >= warmup {
				refused++
			}
			continue
		}
		list = slices.Insert(list, 0, o)
		used := int64(0)
		for i, o := range list {
			if used += size(o); used > share {
				list = list[:i]
				break
			}
		}
		lists[tenant] = list
	}
	return hits, refused
}

// TestGuardIsNaive: a guard in front of the exact cache, of one pool or of one for each tenant, admits what a count of
// requests says, by objects and bytes, and with n=1 changes nothing.
func TestGuardIsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 300, 40)
		allocator, share := "", 1
		if rapid.Bool().Draw(t, "tenants") {
			tr = drawTenants(t, 4)
			allocator, share = "equal", len(tr.Tenants.Names)
		}
		unit := rapid.Bool().Draw(t, "unit")
		capacity := int64(share * rapid.IntRange(1, 60).Draw(t, "capacity"))
		warmup := rapid.IntRange(0, len(tr.Objects)-1).Draw(t, "warmup")
		serve := func(c Config) (hits, refused int64) {
			c.Warmup = warmup
			built, n := serveAll(t, c)
			for _, counter := range built.(Reporting).Counters() {
				if counter.Name() == NotAdmitted.Name {
					refused = int64(counter.Value)
				}
			}
			return n.Hits, refused
		}
		c := configOf(t, tr, "lru", allocator, capacity, unit)
		hits, refused := serve(guarded(t, c, "second(n=2)"))
		wantHits, wantRefused := naiveGuarded(tr, capacity, unit, 2, warmup)
		if hits != wantHits || refused != wantRefused {
			t.Fatalf("%d hits, %d not admitted; want %d and %d", hits, refused, wantHits, wantRefused)
		}
		all, _ := serve(c)
		if hits, refused := serve(guarded(t, c, "second(n=1)")); hits != all || refused != 0 {
			t.Fatalf("where everything is admitted: %d hits, %d not admitted; want %d and 0", hits, refused, all)
		}
	})
}

// TestGuardWithEveryPolicy: no policy evicts what its guard has kept out, and an object that is requested once is never
// resident.
func TestGuardWithEveryPolicy(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		policytest.ForEach(t, bytes, func(t *testing.T, e policies.Entry) {
			if e.Kind == policies.Bound || e.Kind == policies.Offline {
				return
			}
			tr := policytest.Trace(5, 2000, 300)
			c := guarded(t, configOf(t, tr, "lru", "", policytest.CapacityFor(e, 40), !bytes), "second")
			built := NewExact(policytest.Build(t, e, tr, c.Capacity, c.Unit), c.Capacity, tr.NumObjects)
			must.Do(t, must.Get(NewGuard(c))(t).Before(built.Pool))
			for pos := range tr.Objects {
				w := WindowOf(tr, pos, pos+1, bytes, make([]int64, 1))
				built.Serve(w, &Counts{})
			}
			requested := make([]int, tr.NumObjects)
			for _, o := range tr.Objects {
				requested[o]++
			}
			for o, n := range requested {
				if n == 1 && built.Holds(policies.Object(o)) {
					t.Errorf("object %d is resident after its only request", o)
				}
			}
		})
	}
}
