package sim_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// A policy that is short for a cache with a policy inside is replayed as that cache, and compared with the same optima,
// under its own name.
func TestIGTCacheWithAPolicyInside(t *testing.T) {
	tr := simtest.Generated(t, "cluster(scale=0.0005)", traces.Needs{Keys: true, Sizes: true, Times: true})
	misses := map[int64]bool{}
	for _, test := range []struct {
		short, in, inside string
		other             []string
	}{
		{"igtcache", "igtcache", "duel", nil},
		{"igtcache(mode=paper)", "igtcache(mode=paper)", "lru", nil},
		{"igtcache(mode=safe)", "igtcache(mode=safe)", "duel(among=arc/s3fifo/lru/w-tinylfu)", nil},
		{"igtcache(mode=safe)", "igtcache(mode=safe)", "duel(among=arc/s3fifo/lru/w-tinylfu)",
			[]string{"model=storage(arrivals=closed)"}},
		{"igtcache(skewed=s3fifo)", "igtcache", "s3fifo", nil},
		{"igtcache(skewed=lru-k(k=3),window=30)", "igtcache(window=30)", "lru-k(k=3)", nil},
		{"igtcache(prefetch=off,skewed=w-tinylfu)", "igtcache(prefetch=off)", "w-tinylfu", nil},
		{"igtcache(evict=arc,skewed=fifo)", "igtcache(evict=policy)", "arc", nil},
		{"igtcache(mode=paper,evict=random)", "igtcache(mode=paper,evict=policy)", "random", nil},
		{"igtcache(skewed=laru)", "igtcache", "laru", []string{"predictor=ewma"}},
		{"igtcache(skewed=arc)", "igtcache", "arc", []string{"prefetcher=next(n=2)"}},
		{"igtcache(skewed=ttl(ttl=20))", "igtcache", "ttl(ttl=20)", []string{"model=storage(arrivals=closed)"}},
	} {
		t.Run(test.short, func(t *testing.T) {
			r := sim.NewReplayer(tr, sim.ReplayerOptions{})
			for _, size := range []capacity.Capacity{capacity.Of(60, false), capacity.Of(18<<20, true)} {
				a := simtest.Cell(t, test.short, size, test.other...)
				if sim.CheckUnits(a.Policy.Entry, size.Bytes) != nil {
					continue
				}
				b := simtest.Cell(t, test.inside, size, append(test.other, "cache="+test.in)...)
				want, got := simtest.Replay(t, r, a).Record, simtest.Replay(t, r, b).Record
				if want.Label != test.short || got.Label != test.inside || want.Cache != "exact" || got.Cache != test.in {
					t.Errorf("records of %s in %s and of %s in %s", want.Label, want.Cache, got.Label, got.Cache)
				}
				misses[want.Int(metric.Misses)] = true
				for name := range want.Names() {
					x, _ := want.Get(name)
					if y, ok := got.Get(name); x != y || !ok {
						t.Errorf("%s at %s: %v, and %v as a cache", name, size, x, y)
					}
				}
				if !sim.DependsOnSeed(&want) || !sim.DependsOnSeed(&got) || !a.Random() || !b.Random() {
					t.Error("the outcome is said not to depend on the seed")
				}
				optima, others := sim.References(a), sim.References(b)
				if len(optima) != len(others) {
					t.Fatalf("compared with %d optima, and with %d as a cache", len(optima), len(others))
				}
				for i := range optima {
					if optima[i].Key() != others[i].Key() {
						t.Errorf("compared with %s, and with %s as a cache", optima[i].Key(), others[i].Key())
					}
				}
			}
		})
	}
	if len(misses) < 12 {
		t.Errorf("only %d numbers of misses: the policies inside make no difference", len(misses))
	}
}
