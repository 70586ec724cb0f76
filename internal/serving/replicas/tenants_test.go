package replicas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// withTenants gives the prompts of a trace random tenants.
func withTenants(rng *rand.Rand, tr *traces.Trace) *traces.Trace {
	tenants := &traces.Tenants{Names: []string{"acme", "bolt", "corp"}}
	for range tr.Groups {
		tenants.OfPrompt = append(tenants.OfPrompt, uint32(rng.IntN(3)))
	}
	other := *tr
	other.Tenants = tenants
	return &other
}

var tenantMetrics = []metric.Metric{allocate.TenantRequests, allocate.TenantHits, allocate.TenantPrompts,
	allocate.TenantTokens, allocate.TenantHitTokens}

// TestTenantsOfNodes: with tenants, nodes serve each prompt as without. The metrics of a tenant are sums over its
// prompts, which a series of the replay without tenants has one by one; those of all tenants together are the metrics
// of the replay, after a warm-up, too. One node has the tenants of no router.
func TestTenantsOfNodes(t *testing.T) {
	hits := 0.0
	for seed := range brief.Of[uint64](40, 10) {
		rng := rand.New(rand.NewPCG(seed, 51))
		tr := randomPrompts(rng, 60, 6, 4)
		tenants := withTenants(rng, tr)
		size, warmup := int64(1+rng.IntN(20)), rng.IntN(20)
		kind := []string{"prefix", "prefix(concurrency=3)", "prefix(evict=any)", "tiers(host=2x)",
			"tiers(host=2x,remote=9x,mode=write-through,shared=remote)"}[seed%5]
		router := routers(t, []string{"3", "2@0s+1@3s+4@5s"}[rng.IntN(2)])[rng.IntN(10)]
		replay := func(tr *traces.Trace, router string) sim.Result {
			c := cell(t, kind, "lru", router, "", size)
			c.Series.Requests = 1 // a prompt has a window of its own
			if tr.Tenants != nil {
				c.Allocator = new(must.Get(allocate.Registry.Parse("shared"))(t))
			}
			return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}), c)
		}
		alone, shared := replay(tr, router), replay(tenants, router)
		for name := range alone.Values.Names() {
			a, _ := alone.Get(name)
			if b, _ := shared.Get(name); a != b {
				t.Fatalf("seed %d, %s, %s: with tenants %s is %v, without %v", seed, kind, router, name, b, a)
			}
		}
		want := map[string]float64{}
		prompt := -1
		for _, row := range alone.Series {
			if row.Name != prefix.TokenHitRatio.Name {
				continue
			}
			if prompt++; prompt < warmup {
				continue
			}
			blocks, _ := tr.Group(prompt)
			tokens := float64(prompts.Of(tr.Kind).InputTokens[prompt])
			hit := math.Round(row.Value * tokens)
			name := tenants.Tenants.Names[tenants.Tenants.OfPrompt[prompt]]
			want[allocate.TenantRequests.Of(name)] += float64(len(blocks))
			want[allocate.TenantPrompts.Of(name)]++
			want[allocate.TenantTokens.Of(name)] += tokens
			want[allocate.TenantHitTokens.Of(name)] += hit
			want[allocate.TenantHits.Of(name)] += math.Ceil(hit / float64(prompts.Of(tr.Kind).BlockTokens))
		}
		if prompt+1 != len(tr.Groups) {
			t.Fatalf("seed %d, %s, %s: the series has %d prompts of %d", seed, kind, router, prompt+1, len(tr.Groups))
		}
		all := map[string]float64{}
		for _, m := range tenantMetrics {
			for _, tenant := range tenants.Tenants.Names {
				got := named(shared, m.Of(tenant))
				if got != want[m.Of(tenant)] {
					t.Fatalf("seed %d, %s, %s: %s is %v, want %v", seed, kind, router, m.Of(tenant), got,
						want[m.Of(tenant)])
				}
				all[m.Name] += got
			}
		}
		for _, m := range []metric.Metric{metric.Requests, metric.Hits, prefix.Prompts, prefix.Tokens, prefix.HitTokens} {
			if got := all["tenant_"+m.Name]; got != shared.Float(m) {
				t.Fatalf("seed %d, %s, %s: the tenants have %v %s together, all of them %v", seed, kind, router, got, m.Name,
					shared.Float(m))
			}
		}
		hits += all[allocate.TenantHits.Name]
		if slices.Contains([]uint64{4}, seed%5) {
			continue // needs several nodes
		}
		one, none := replay(tenants, routers(t, "1")[rng.IntN(10)]), replay(tenants, "")
		if !slices.Equal(one.Series, none.Series) || len(none.Series) == 0 {
			t.Fatalf("seed %d, %s: the series of one node differs from that of no router", seed, kind)
		}
		for name := range none.Values.Names() {
			a, _ := none.Get(name)
			if b, _ := one.Get(name); a != b {
				t.Fatalf("seed %d, %s: %s is %v on one node, %v without a router", seed, kind, name, b, a)
			}
		}
	}
	if hits == 0 {
		t.Error("no tenant has a hit")
	}
}

// TestTenantsUnderAModel: what the prompts of all tenants find is what all prompts find, whatever the order in which a
// model of time begins them.
func TestTenantsUnderAModel(t *testing.T) {
	for seed := range brief.Of[uint64](20, 5) {
		rng := rand.New(rand.NewPCG(seed, 52))
		tr := withTenants(rng, randomPrompts(rng, 60, 6, 4))
		kind := []string{"prefix", "tiers(host=2x)"}[seed%2]
		for _, router := range []string{"", "round-robin(nodes=3@0s+1@3s)"} {
			c := cell(t, kind, "lru", router, "prefill(model=qwen3-8b,arrivals=trace,overhead_ms=300,concurrency=2)", 8)
			c.Allocator = new(must.Get(allocate.Registry.Parse("shared"))(t))
			rec := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: 13}), c)
			prompts, tokens, mean, slowest := 0.0, 0.0, 0.0, 0.0
			for _, tenant := range tr.Tenants.Names {
				prompts += named(rec, allocate.TenantPrompts.Of(tenant))
				tokens += named(rec, allocate.TenantHitTokens.Of(tenant))
				of := named(rec, allocate.TenantPrompts.Of(tenant))
				mean += named(rec, models.TenantLatencyMean.Of(tenant)) * of / (60 - 13)
				slowest = max(slowest, named(rec, models.TenantLatencyP99.Of(tenant)))
			}
			// Of fewer than 100 prompts the P99 is the longest time.
			if all := rec.Float(models.LatencyMean); math.Abs(mean-all) > 1e-9*all || slowest != rec.Float(models.LatencyP99) {
				t.Errorf("seed %d, %s, %s: the tenants take %v ms on average and %v at most, all %v and %v", seed, kind, router,
					mean, slowest, all, rec.Float(models.LatencyP99))
			}
			if prompts != 60-13 || tokens != rec.Float(prefix.HitTokens) || tokens == 0 {
				t.Errorf("seed %d, %s, %s: %v prompts with %v tokens that hit, want 47 with %v", seed, kind, router, prompts,
					tokens, rec.Float(prefix.HitTokens))
			}
		}
	}
}

// TestTenantsAreNotDivided: prompts of several tenants hit the same blocks.
func TestTenantsAreNotDivided(t *testing.T) {
	tr := withTenants(rand.New(rand.NewPCG(1, 53)), policytest.Prompts(16, "ab", "ac", "b", "ab", "ac", "ab"))
	for _, test := range []struct{ kind, allocator, router, want string }{
		{"prefix", "proportional", "", "not in prefix; or choose another allocator: shared, equal"},
		{"prefix", "equal", "round-robin(nodes=2)", "allocator equal divides one cache"},
		{"prefix", "equal", "", "prompts of several tenants of"},
		{"prefix", "guarantee(shares=3;1;1)", "", "have blocks in common"},
		{"prefix", "isolated(shares=3;1;1)", "", "or --cache 'prefix(evict=chunk)'; it does not work in prefix"},
		{"tiers(host=2x)", "equal", "round-robin(nodes=2)", "not in tiers; or choose another allocator: shared"},
		{"exact", "shared", "", "but the cache exact cannot tell them apart"},
	} {
		c := cell(t, test.kind, "lru", test.router, "", 3)
		c.Allocator = new(must.Get(allocate.Registry.Parse(test.allocator))(t))
		err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(c)
		must.Fail(t, err, test.want, fmt.Sprint(test))
	}
}

// named returns a value of a result by its name, 0 without one.
func named(r sim.Result, name string) float64 {
	x, _ := r.Get(name)
	return x
}
