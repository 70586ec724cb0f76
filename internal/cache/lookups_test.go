package cache

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
)

// TestLookupsLoadNothing: with any policy, in one pool and in several, a request that only looks loads nothing, even if
// its object expires at that time or its pool has just shrunk. It hits if its object was resident and has neither
// expired nor lost its room. Tenants count all requests, and the hits are theirs.
func TestLookupsLoadNothing(t *testing.T) {
	var names []string
	for _, e := range policies.Registry.All() {
		predicts := policies.Can[policies.PredictorUser](e)
		if e.Kind == policies.Online && !e.Relates && !predicts && e.New != nil && e.Name != "igtcache" &&
			works(e.Name, true) {
			names = append(names, e.Name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTenants(t, 4)
		tr.Written.Passing = 1 // some requests load nothing
		allocator := rapid.SampledFrom([]string{"", "shared", "equal", "ucp(every=20)"}).Draw(t, "allocator")
		policy := rapid.SampledFrom(names).Draw(t, "policy")
		if allocator != "" { // not all policies work in several pools
			policy = rapid.SampledFrom(severalPolicies[:8]).Draw(t, "policy in pools")
		}
		if spec := must.Get(policies.Registry.Parse(policy))(t); policies.NeedsClock(spec) {
			for pos := range tr.Objects {
				tr.Times = append(tr.Times, int64(pos)*1e9)
			}
		}
		served, err := newExactCache(configOf(t, tr, policy, allocator, rapid.Int64Range(4, 20).Draw(t, "capacity"), true))
		if err != nil {
			return // it works in one pool, or in other caches only
		}
		c := served.(Dropping)
		resident := func() (all []policies.Object) {
			for o := range tr.NumObjects {
				if c.Holds(policies.Object(o)) {
					all = append(all, policies.Object(o))
				}
			}
			return all
		}
		var n Counts
		for pos, o := range tr.Objects {
			w := WindowOf(tr, pos, pos+1, false, nil)
			if !rapid.Bool().Draw(t, "looks") {
				served.Serve(w, &n)
				continue
			}
			before, counts := resident(), n
			c.LookAll(w, &n)
			for _, is := range resident() {
				if !slices.Contains(before, is) {
					t.Fatalf("%s: request %d for %d only looks, but %d is loaded", policy, pos, o, is)
				}
			}
			hit := n.Hits > counts.Hits
			if n.Requests != counts.Requests+1 || hit && !slices.Contains(before, o) || !hit && c.Holds(o) {
				t.Fatalf("%s: request %d for %d hits: %t, of %v", policy, pos, o, hit, before)
			}
		}
		if tenanted, ok := served.(Tenanted); ok && allocator != "" {
			requests, hits := int64(0), int64(0)
			for _, tenant := range tenanted.Tenants() {
				requests, hits = requests+tenant.Requests, hits+tenant.Hits
			}
			if requests != n.Requests || hits != n.Hits {
				t.Fatalf("tenants have %d hits in %d requests, want %d in %d", hits, requests, n.Hits, n.Requests)
			}
		}
	})
}
