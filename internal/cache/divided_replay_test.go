package cache_test

import (
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// tenantsOf makes a trace of three tenants of one that has none: an object belongs to the tenant of its number.
func tenantsOf(t *traces.Trace) *traces.Trace {
	t.Tenants = &traces.Tenants{Names: []string{"a", "b", "c"}}
	for o := range t.NumObjects {
		t.Tenants.Of = append(t.Tenants.Of, uint32(o%7%3))
	}
	return t
}

// Every policy works in pools that follow an allocator, in objects and in bytes: capacities that move leave the
// counts whole and repeatable, and no division beats the optimum of the whole cache.
func TestEveryPolicyIsDivided(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		policytest.ForSample(t, bytes, func(t *testing.T, e policies.Entry) {
			if e.Kind == policies.Bound || e.Unbounded {
				return
			}
			tr := tenantsOf(policytest.Trace(5, 3000, 150))
			r := sim.NewReplayer(tr, sim.ReplayerOptions{})
			size := capacity.Of(40, false)
			if bytes {
				size = capacity.Of(4000, true)
			}
			optimum := int64(0)
			if !bytes {
				rec := must.Get(r.Replay(t.Context(), sim.References(simtest.Cell(t, policytest.Spec(e), size))[0]))(t)
				optimum = rec.Int(metric.Misses)
			}
			for _, allocator := range []string{"equal", "proportional(every=100)", "ucp(every=100)", "optimal"} {
				c := simtest.Cell(t, policytest.Spec(e), size, "allocator="+allocator)
				a, b := simtest.Replay(t, r, c).Record, simtest.Replay(t, r, c).Record
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%s: %+v, and %+v the second time", allocator, a, b)
				}
				if a.Int(metric.Hits) == 0 != e.Idle || a.Int(metric.Misses) < optimum || a.Allocator != c.Allocator.String() {
					t.Errorf("%s: %d hits, %d misses, the optimum has %d", allocator, a.Int(metric.Hits), a.Int(metric.Misses),
						optimum)
				}
			}
		})
	}
}

func TestAllocatorsAreRefused(t *testing.T) {
	cell := func(policy, cache string) sim.Cell {
		return simtest.Cell(t, policy, capacity.Of(4, false), "cache="+cache, "allocator=equal")
	}
	tenants := tenantsOf(simtest.FromKeys("abcabcdd"))
	perFile := tenantsOf(simtest.FromKeys("abcabcdd"))
	perFile.Starts = []int{0, 4}
	for name, test := range map[string]struct {
		trace *traces.Trace
		cell  sim.Cell
		want  string
	}{
		"no tenants":     {simtest.FromKeys("abab"), cell("lru", "exact"), "but abab has none"},
		"no pools":       {tenants, cell("lru", "sets(ways=2)"), "works in the caches exact, pools, prefix, not in sets"},
		"a bound":        {tenants, cell("pfoo-l", "exact"), "not with pfoo-l"},
		"no end of room": {tenants, cell("infinite", "exact"), "not with infinite"},
		"file by file":   {perFile, cell("lru", "exact"), "remove --per-file"},
		"a wrong tenant": {tenants, cell("lru", "exact"), `did you mean "a"`},
	} {
		c := test.cell
		if name == "a wrong tenant" {
			spec := must.Get(allocate.Registry.Parse("static(shares=A:1,rest=1)"))(t)
			c.Allocator = &spec
		}
		if name == "a bound" {
			c.Capacity.Bytes = true
			test.trace.ObjectSizes = []int64{1, 2, 3, 4}
		}
		r := sim.NewReplayer(test.trace, sim.ReplayerOptions{})
		err := r.Check(c)
		if err == nil {
			_, err = r.Replay(t.Context(), c)
		}
		must.Fail(t, err, test.want, name)
	}
}

// What an allocator that knows the future gives is no online policy's merit.
func TestOptimalDivisionIsNeverBest(t *testing.T) {
	recs := simtest.Run(t, tenantsOf(policytest.Trace(1, 500, 50)), simtest.Options{Policies: "lru,mru",
		Parts: []string{"allocator=optimal,equal"}, Capacities: simtest.Objects(10)})
	most := int64(0)
	for _, rec := range recs {
		if rec.Allocator != "optimal" {
			most = max(most, rec.Int(metric.Hits))
		}
	}
	for _, rec := range recs {
		if rec.Best != (rec.Allocator != "optimal" && rec.Int(metric.Hits) == most) {
			t.Errorf("%s: best %v with %d hits, of at most %d", rec.Allocator, rec.Best, rec.Int(metric.Hits), most)
		}
		if !rec.Has(metric.OptMisses) || rec.Int(metric.Misses) < rec.Int(metric.OptMisses) {
			t.Errorf("%s: %d misses, optimum %d", rec.Allocator, rec.Int(metric.Misses), rec.Int(metric.OptMisses))
		}
	}
}
