package pools_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/serving/hlem/pools"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

const twoNodes = "pools(nodes=2,gpus=1,memory=300MiB)"

// TestNodesWithEveryPolicy replays requests on nodes under every policy that works there, and checks that the counts
// add up, repeat, and depend on the trace.
func TestNodesWithEveryPolicy(t *testing.T) {
	tr := simtest.Recommended(t, 2000, 300, 600)
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: 100})
	averages := must.Get(predict.Registry.Parse("ewma"))(t)
	tested := 0
	policytest.ForSample(t, true, func(t *testing.T, e policies.Entry) {
		for _, allocator := range []string{"static(r=0.3)", "equal", "proportional(every=500,to=footprint)",
			"ucp(every=500)"} {
			c := simtest.OnNodes(t, policytest.Spec(e), twoNodes, "allocator="+allocator)
			if policies.Can[policies.PredictorUser](e) {
				c.Predictor = &averages
			}
			if sim.CheckParts(c) != nil {
				return
			}
			rec, err := r.Replay(t.Context(), c)
			if err != nil {
				if strings.Contains(err.Error(), "does not know what the optimum evicts") {
					return
				}
				t.Fatal(err)
			}
			if got := rec.Int(metric.Requests); got != int64(len(tr.Objects)-100) {
				t.Errorf("%s: %d requests", allocator, got)
			}
			if hits := rec.Int(metric.Hits); hits < 0 || hits+rec.Int(metric.Misses) != rec.Int(metric.Requests) {
				t.Errorf("%s: %d hits and %d misses", allocator, hits, rec.Int(metric.Misses))
			}
			if rec.CapacityText != "600MiB" || rec.CapacityShare != nil || rec.Optimum != "" {
				t.Errorf("%s: capacity %s, share %v, optimum %q", allocator, rec.CapacityText, rec.CapacityShare, rec.Optimum)
			}
			again, err := r.Replay(t.Context(), c)
			must.Do(t, err)
			if !reflect.DeepEqual(rec.Values, again.Values) {
				t.Errorf("%s: two replays differ", allocator)
			}
			tested++
		}
	})
	if tested < brief.Of(40, 8) {
		t.Errorf("only %d combinations work", tested)
	}
}

// TestNodesRefuse checks what does not fit together, and that the message says why.
func TestNodesRefuse(t *testing.T) {
	tr := simtest.Recommended(t, 10, 5, 9)
	lru := func(parts ...string) sim.Cell { return simtest.OnNodes(t, "lru", twoNodes, parts...) }
	untimed, exact := lru(), lru("allocator=pid")
	untimed.Model = nil
	exact.Cache, exact.Model = cache.ExactSpec(), nil
	for name, test := range map[string]struct {
		cell sim.Cell
		want string
	}{
		"no model":     {untimed, "needs a model; add --model with one of: "},
		"the future":   {simtest.OnNodes(t, "opt", twoNodes), "not with opt"},
		"no capacity":  {simtest.OnNodes(t, "infinite", twoNodes), "the memory of a node is limited"},
		"shared":       {lru("allocator=shared"), "cannot share a pool"},
		"optimal":      {lru("allocator=optimal"), "not with optimal"},
		"marginal":     {lru("allocator=marginal"), "the order in which files are read"},
		"quiver":       {lru("allocator=quiver(train=users)"), "data sets of tenants"},
		"batch sizes":  {lru("allocator=batch-sizes(train=users:1)"), "data sets of tenants"},
		"out of range": {lru("allocator=static(r=0.95)"), "outside rmin=0.1 to rmax=0.9"},
		"start":        {lru("allocator=pid(start=0.05)"), "begins with a ratio of 0.05"},
		"start, bounds": {simtest.OnNodes(t, "lru", "pools(gpus=1,memory=300MiB,rmin=0.5,r=0.6)", "allocator=milp"),
			"begins with a ratio of 0.4, outside rmin=0.5"},
		"three shares": {lru("allocator=static(shares=1;1;1)"), "shares has 3 items"},
		"exact":        {exact, "works in the cache pools, not in exact"},
		"little memory": {simtest.OnNodes(t, "lru", "pools(gpus=1,memory=9MiB)"),
			"less than 10 shards of 1048576 bytes"},
		"predictor of one pool": {simtest.OnNodes(t, "lru", "pools(embeddings=laru)"), "write --policy laru"},
		"approximate": {simtest.With(t, simtest.OnNodes(t, "lru", "pools(kv=sieve)"), "model=fluid"),
			"computes the hit ratios of LRU; it does not work with lru, sieve; or choose another model: recommender"},
		"prefetcher": {lru("prefetcher=next"), "does not work in pools"},
	} {
		err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(test.cell)
		must.Fail(t, err, test.want, name)
	}
	plain := policytest.Trace(1, 50, 10)
	if err := sim.NewReplayer(plain, sim.ReplayerOptions{}).Check(simtest.OnNodes(t, "lru", twoNodes)); err == nil ||
		!strings.Contains(err.Error(), "serves recommender requests") {
		t.Errorf("a trace without recommender requests: error %v", err)
	}
	for text, want := range map[string]string{
		"pools(memory=80)":                        "want bytes with their unit",
		"pools(r=0.05)":                           "want 0 < rmin <= r <= rmax < 1",
		"pools(kv=lruu)":                          `did you mean "lru"`,
		"pools(embeddings=lru(k=1))":              "embeddings",
		"pools(nodes=64,gpus=65536,memory=16TiB)": "more than 1EiB of memory",
		"pools(nodes=65)":                         "want a number from 1 to 64",
	} {
		must.NotGet(cache.Registry.Parse(text))(t, want, text)
	}
}

// TestNodesHaveSeries checks that a series of a cell on nodes has the counts of its windows.
func TestNodesHaveSeries(t *testing.T) {
	r := sim.NewReplayer(simtest.Recommended(t, 1000, 200, 300), sim.ReplayerOptions{})
	c := simtest.OnNodes(t, "lru", "pools(nodes=2,gpus=1,memory=300MiB,kv=sieve,embeddings=s3fifo)")
	c.Series = series.Window{Requests: 100}
	names := map[string]int{}
	for _, row := range simtest.Replay(t, r, c).Series {
		names[row.Name]++
		if row.Name == "occupancy" && (row.Value <= 0 || row.Value > 1) {
			t.Errorf("occupancy %v", row.Value)
		}
	}
	if names[metric.HitRatio.Name] != 10 || names["occupancy"] != 10 {
		t.Errorf("the series has %v, want 10 windows", names)
	}
}

// TestNodesNeedNoTenants checks that records of nodes can be turned into parts again.
func TestNodesNeedNoTenants(t *testing.T) {
	r := sim.NewReplayer(simtest.Recommended(t, 100, 20, 30), sim.ReplayerOptions{})
	c := simtest.OnNodes(t, "lru", twoNodes, "allocator=static(r=0.3)")
	rec := must.Get(r.Replay(t.Context(), c))(t)
	if rec.Cache != twoNodes || rec.Allocator != "static(r=0.3)" {
		t.Errorf("the record names %s and %s", rec.Cache, rec.Allocator)
	}
}

// TestNodesCountAfterTheWarmup checks that the counters of nodes leave out the warm-up, as hits and evictions do.
func TestNodesCountAfterTheWarmup(t *testing.T) {
	const requests, warmup = 1000, 500
	trace := simtest.Recommended(t, requests, 200, 300)
	replay := func(length, warmup int) map[string]float64 {
		part := *trace
		part.Objects, part.Times = trace.Objects[:length], trace.Times[:length]
		r := sim.NewReplayer(&part, sim.ReplayerOptions{Warmup: warmup})
		rec := simtest.Replay(t, r, simtest.OnNodes(t, "lru", twoNodes, "allocator=ucp(every=100)"))
		counts := map[string]float64{}
		for _, m := range []metric.Metric{pools.ShardEvictions, pools.BorderMoved, pools.Unpinned} {
			counts[m.Name], _ = rec.Get(m.Name)
		}
		return counts
	}
	all, before, after := replay(requests, 0), replay(warmup, 0), replay(requests, warmup)
	for name, sum := range all {
		if want := sum - before[name]; math.Abs(after[name]-want) > 1e-9 {
			t.Errorf("%s is %v after the warm-up, want %v - %v", name, after[name], sum, before[name])
		}
	}
	if all[pools.ShardEvictions.Name] == before[pools.ShardEvictions.Name] || before[pools.ShardEvictions.Name] == 0 {
		t.Errorf("shards are evicted %v times, %v of them in the warm-up", all, before)
	}
}

// TestBoundsOfHindsight checks that an allocator that begins with what the first epoch needs fits any bounds.
func TestBoundsOfHindsight(t *testing.T) {
	c := simtest.OnNodes(t, "lru", "pools(gpus=1,memory=300MiB,rmin=0.5,r=0.6)", "allocator=hindsight")
	if err := sim.NewReplayer(simtest.Recommended(t, 10, 5, 9), sim.ReplayerOptions{}).Check(c); err != nil {
		t.Error(err)
	}
}

// TestPredictionsEvictNothing checks that a model that loads nothing reports no evictions of shards: 0 would be wrong.
func TestPredictionsEvictNothing(t *testing.T) {
	c := simtest.With(t, simtest.OnNodes(t, "lru", twoNodes), "model=fluid")
	rec := simtest.Replay(t, sim.NewReplayer(simtest.Recommended(t, 300, 20, 90), sim.ReplayerOptions{}), c)
	if rec.Has(pools.ShardEvictions) || rec.Has(pools.Unpinned) || !rec.Has(pools.BorderMoved) {
		t.Errorf("the record has %v", slices.Collect(rec.Names()))
	}
}

// TestApproximationsRefuse checks that a model that serves no requests refuses what it could not tell apart.
func TestApproximationsRefuse(t *testing.T) {
	for name, c := range map[string]struct{ policy, cache, allocator, want string }{
		"lru":                 {"lru", "pools", "milp", ""},
		"another policy":      {"s3fifo", "pools", "milp", "not with s3fifo"},
		"of one pool":         {"lru", "pools(embeddings=s3fifo)", "milp", "with s3fifo, lru"},
		"both overridden":     {"s3fifo", "pools(embeddings=lru,kv=lru)", "milp", ""},
		"curves":              {"lru", "pools", "ucp", "but allocator ucp measures them"},
		"footprints":          {"lru", "pools", "proportional(to=footprint)", "but allocator proportional measures them"},
		"curves or forecasts": {"lru", "pools", "balance", ""},
	} {
		cell := simtest.With(t, simtest.OnNodes(t, c.policy, c.cache, "allocator="+c.allocator), "model=fluid")
		err := sim.CheckParts(cell)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
