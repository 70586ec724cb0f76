package sim_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/brief"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
)

// TestPrefetchersInTiers: with a prefetcher, one tier is the exact cache, and where every request brings its object to
// the first of several tiers, that has the hits and the prefetches of the exact cache.
func TestPrefetchersInTiers(t *testing.T) {
	tr := simtest.Generated(t, "zipf(requests=4000,objects=300,alpha=0.8)", traces.Needs{Keys: true})
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: 500})
	for _, prefetcher := range []string{"next(n=2)", "stride", "amp", "mithril", "sandbox", "oracle", "next(n=3,delay=20)"} {
		for _, policy := range brief.Of([]string{"lru", "s3fifo", "opt", "fpb", "arc"}, []string{"lru", "opt"}) {
			replay := func(kind string, size int64) sim.Result {
				c := simtest.Cell(t, policy, capacity.Of(size, false), "cache="+kind, "prefetcher="+prefetcher, "predictor=oracle")
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
