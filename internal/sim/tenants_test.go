package sim

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
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
		policytest.ForEach(t, bytes, func(t *testing.T, e policies.Entry) {
			if e.Kind == policies.Bound || e.Unbounded {
				return
			}
			tr := tenantsOf(policytest.Trace(5, 3000, 150))
			r := NewReplayer(tr, ReplayerOptions{})
			size := capacity.Capacity{Amount: 40, Simulated: 40}
			if bytes {
				size = capacity.Capacity{Amount: 4000, Simulated: 4000, Bytes: true}
			}
			optimum := int64(0)
			if !bytes {
				rec := must.Get(r.Replay(t.Context(), References(cellOf(t, policytest.Spec(e), size, 1))[0]))(t)
				optimum = rec.Int(metric.Misses)
			}
			for _, allocator := range []string{"equal", "proportional(every=100)", "ucp(every=100)", "optimal"} {
				c := cellOf(t, policytest.Spec(e), size, 1)
				spec := must.Get(allocate.Registry.Parse(allocator))(t)
				c.Allocator = &spec
				must.Do(t, r.Check(c))
				a := must.Get(r.Replay(t.Context(), c))(t).Record
				b := must.Get(r.Replay(t.Context(), c))(t).Record
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%s: %+v, and %+v the second time", allocator, a, b)
				}
				if a.Int(metric.Hits) == 0 != e.Idle || a.Int(metric.Misses) < optimum || a.Allocator != spec.String() {
					t.Errorf("%s: %d hits, %d misses, the optimum has %d", allocator, a.Int(metric.Hits), a.Int(metric.Misses),
						optimum)
				}
			}
		})
	}
}

func TestAllocatorsAreRefused(t *testing.T) {
	equal := must.Get(allocate.Registry.Parse("equal"))(t)
	size := capacity.Capacity{Amount: 4, Simulated: 4}
	cell := func(policy, cache string) Cell {
		c := cellOf(t, policy, size, 0)
		for _, part := range parts(t, "cache="+cache)[CacheKind] {
			part.Into(&c.Parts)
		}
		c.Allocator = &equal
		return c
	}
	tenants := tenantsOf(fromKeys("abcabcdd"))
	perFile := tenantsOf(fromKeys("abcabcdd"))
	perFile.Starts = []int{0, 4}
	for name, test := range map[string]struct {
		trace *traces.Trace
		cell  Cell
		want  string
	}{
		"no tenants":     {fromKeys("abab"), cell("lru", "exact"), "the requests of abab have none"},
		"no pools":       {tenants, cell("lru", "sets(ways=2)"), "no pools to divide"},
		"a bound":        {tenants, cell("pfoo-l", "exact"), "not divided"},
		"no end of room": {tenants, cell("infinite", "exact"), "nothing to divide"},
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
		r := NewReplayer(test.trace, ReplayerOptions{})
		err := r.Check(c)
		if err == nil {
			_, err = r.Replay(t.Context(), c)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}

// What an allocator that knows the future gives is no online policy's merit.
func TestOptimalDivisionIsNeverBest(t *testing.T) {
	recs := must.Get(Run(t.Context(), tenantsOf(policytest.Trace(1, 500, 50)), RunOptions{Policies: specs(t, "lru"),
		Parts: parts(t, "allocator=optimal,equal"), Capacities: []capacity.Capacity{{Amount: 10, Simulated: 10}}}))(t)
	for _, rec := range recs {
		if rec.Best != (rec.Allocator == "equal") {
			t.Errorf("%s: best %v", rec.Allocator, rec.Best)
		}
		if !rec.Has(metric.OptMisses) || rec.Int(metric.Misses) < rec.Int(metric.OptMisses) {
			t.Errorf("%s: %d misses, optimum %d", rec.Allocator, rec.Int(metric.Misses), rec.Int(metric.OptMisses))
		}
	}
}
