package sim_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// TestPrefetchersInTiers: with a prefetcher, one tier is the exact cache, and where every request brings its object to
// the first of several tiers, that has the hits and the prefetches of the exact cache.
func TestPrefetchersInTiers(t *testing.T) {
	tr := simtest.Generated(t, "zipf(requests=4000,objects=300,alpha=0.8)", traces.Needs{Keys: true})
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: 500})
	for _, prefetcher := range []string{"next(n=2)", "stride", "amp", "mithril", "sandbox", "oracle",
		"next(n=3,delay=20)"} {
		for _, policy := range brief.Of([]string{"lru", "s3fifo", "opt", "fpb", "arc"}, []string{"lru", "opt"}) {
			replay := func(kind string, size int64) sim.Result {
				c := simtest.Cell(t, policy, capacity.Of(size, false), "cache="+kind, "prefetcher="+prefetcher,
					"predictor=oracle")
				return simtest.Replay(t, r, c)
			}
			want, one := replay("exact", 30), replay("tiers(memory=30)", 30)
			for name := range want.Names() {
				if got, _ := one.Get(name); got != want.Float(metric.Metric{Name: name}) && !strings.Contains(name, "ns") {
					t.Errorf("%s, %s: %s is %v in one tier, %v in the exact cache", policy, prefetcher, name, got,
						want.Float(metric.Metric{Name: name}))
				}
			}
			several := replay("tiers(flash=2x,disk=4x)", 30)
			first := several.Float(metric.Metric{Name: "tier_hits[memory]"})
			if first != want.Float(metric.Hits) || several.Float(metric.Hits) < first ||
				several.Float(prefetch.Prefetches) != want.Float(prefetch.Prefetches) {
				t.Errorf("%s, %s: %v hits and %v prefetches in the first tier of %v, %v and %v in the exact cache", policy,
					prefetcher, first, several.Float(prefetch.Prefetches), several.Float(metric.Hits), want.Float(metric.Hits),
					want.Float(prefetch.Prefetches))
			}
		}
	}
}

// TestTenantsShareTiers: the tenants of one tier have the counts that they have in the exact cache, alone or with a
// prefetcher, and those of several tiers all hits together.
func TestTenantsShareTiers(t *testing.T) {
	tr := *simtest.Generated(t, "zipf(requests=4000,objects=300,alpha=0.8)", traces.Needs{Keys: true})
	tr.Tenants = &traces.Tenants{Names: []string{"a", "b", "c"}}
	for o := range tr.NumObjects {
		tr.Tenants.Of = append(tr.Tenants.Of, uint32(o*o%3))
	}
	r := sim.NewReplayer(&tr, sim.ReplayerOptions{Warmup: 500})
	for _, prefetcher := range []string{"none", "next(n=2)"} {
		replay := func(kind string) sim.Result {
			return simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Of(30, false), "cache="+kind, "prefetcher="+prefetcher,
				"allocator=shared"))
		}
		want, one := replay("exact"), replay("tiers(memory=30)")
		for name := range want.Names() {
			if got, _ := one.Get(name); got != want.Float(metric.Metric{Name: name}) {
				t.Errorf("%s: %s is %v in one tier, %v in the exact cache", prefetcher, name, got,
					want.Float(metric.Metric{Name: name}))
			}
		}
		several, hits, requests := replay("tiers(flash=3x)"), 0.0, 0.0
		for _, name := range tr.Tenants.Names {
			hits += several.Float(metric.Metric{Name: "tenant_hits[" + name + "]"})
			requests += several.Float(metric.Metric{Name: "tenant_requests[" + name + "]"})
		}
		if hits != several.Float(metric.Hits) || requests != 3500 || hits <= want.Float(metric.Hits) {
			t.Errorf("%s: tenants have %v hits and %v requests, all %v", prefetcher, hits, requests,
				several.Float(metric.Hits))
		}
	}
	c := simtest.Cell(t, "lru", capacity.Of(30, false), "cache=tiers(flash=3x)", "allocator=ucp")
	if err := r.Check(c); err == nil || !strings.Contains(err.Error(), "choose another allocator: shared") {
		t.Errorf("error %v", err)
	}
}
