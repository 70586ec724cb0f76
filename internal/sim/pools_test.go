package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/results/series"
	"github.com/cachesim/cachesim/internal/serving"
	"github.com/cachesim/cachesim/internal/serving/pools"
	nodes "github.com/cachesim/cachesim/internal/serving/recommender"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// recommended returns a trace of so many recommender requests of users who read shards, three each.
func recommended(tb testing.TB, requests, users, shards int) *traces.Trace {
	tb.Helper()
	t := &traces.Trace{Name: "recommended", SampleRate: 1}
	builder := recommender.Kind{}.NewColumns(stream.Fields{Time: true})
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := map[int]uint32{}
	for i := range requests {
		key := int(float64(users) * rng.Float64() * rng.Float64())
		user, ok := numbers[key]
		if !ok {
			user = uint32(len(numbers))
			numbers[key] = user
		}
		head := &recommender.Head{Tokens: int64(1000 + key%5*3000), ShardRows: 512, Hot: recommender.Unknown}
		for k := range 3 {
			shard := uint32(float64(shards/3)*rng.Float64()*rng.Float64()) + uint32(k*(shards/3))
			head.List = append(head.List, recommender.Lookup{Shard: shard, Rows: 100})
		}
		now := int64(i) * int64(100*time.Millisecond)
		must.Do(tb, builder.Add(&stream.Record{Time: now, Extra: head}, user))
		t.Objects, t.Times = append(t.Objects, user), append(t.Times, now)
	}
	t.NumObjects, t.Kind = len(numbers), builder.Finish()
	return t
}

// takingTurns is a model in which nodes serve requests in turn, two at a time, and epochs are 50 requests.
var takingTurns = models.Spec{Params: params.Values{}, Entry: models.Entry{
	Name: "turns", Cache: "pools", Drives: true,
	Run: func(_ context.Context, c models.Config) (v metric.Values, err error) {
		memory := c.Cache.(nodes.Cache)
		memory.UseCosts(serving.DefaultCosts())
		for i := range c.Trace.Objects {
			if i == c.Warmup {
				c.EndWarmup()
			}
			node, now := i%memory.Nodes(), time.Duration(c.Trace.Times[i])
			if i%50 == 0 {
				for n := range memory.Nodes() {
					memory.Epoch(n, &serving.Window{Objective: serving.DefaultObjective()})
				}
			}
			memory.Start(node, i, now)
			memory.Refill(node, 4<<20)
			if last := i - 2*memory.Nodes(); last >= 0 {
				memory.Finish(node, last)
			}
			if i%100 == 99 && c.Windows.End != nil {
				if err := c.Windows.End(models.Window{Asked: int64(i + 1), Ends: now}); err != nil {
					return v, err
				}
			}
		}
		return v, nil
	},
}}

// onNodes returns a cell on two small nodes.
func onNodes(tb testing.TB, policy, cacheText string) Cell {
	tb.Helper()
	kind := must.Get(cache.Registry.Parse(cacheText))(tb)
	c := Cell{Parts: Parts{Policy: mustSpec(policy), Cache: kind, Model: &takingTurns}, Seed: 1}
	c.Capacity, _ = OwnCapacity(kind)
	return c
}

const twoNodes = "pools(nodes=2,gpus=1,memory=300MiB)"

func withAllocator(tb testing.TB, c Cell, text string) Cell {
	tb.Helper()
	spec := must.Get(allocate.Registry.Parse(text))(tb)
	c.Allocator = &spec
	return c
}

// TestNodesWithEveryPolicy replays requests on nodes under every policy that works there, and checks that the counts
// add up, repeat, and depend on the trace.
func TestNodesWithEveryPolicy(t *testing.T) {
	tr := recommended(t, 2000, 300, 600)
	r := NewReplayer(tr, ReplayerOptions{Warmup: 100})
	averages := must.Get(predict.Registry.Parse("ewma"))(t)
	tested := 0
	policytest.ForEach(t, true, func(t *testing.T, e policies.Entry) {
		for _, allocator := range []string{"static(r=0.3)", "equal", "proportional(every=500,to=footprint)",
			"ucp(every=500)"} {
			c := withAllocator(t, onNodes(t, policytest.Spec(e), twoNodes), allocator)
			if e.Predicts {
				c.Predictor = &averages
			}
			if CheckParts(c) != nil {
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
	if tested < 40 {
		t.Errorf("only %d combinations work", tested)
	}
}

// TestNodesRefuse checks what does not fit together, and that the message says why.
func TestNodesRefuse(t *testing.T) {
	tr := recommended(t, 10, 5, 9)
	for name, want := range map[string]struct {
		change func(c *Cell)
		text   string
	}{
		"no model":     {func(c *Cell) { c.Model = nil }, "needs a model of time"},
		"the future":   {func(c *Cell) { c.Policy = mustSpec("opt") }, "knows only the past"},
		"no capacity":  {func(c *Cell) { c.Policy = mustSpec("infinite") }, "the memory of a node is limited"},
		"shared":       {func(c *Cell) { *c = withAllocator(t, *c, "shared") }, "cannot share a pool"},
		"optimal":      {func(c *Cell) { *c = withAllocator(t, *c, "optimal") }, "knows the requests of the trace"},
		"marginal":     {func(c *Cell) { *c = withAllocator(t, *c, "marginal") }, "the order in which files are read"},
		"quiver":       {func(c *Cell) { *c = withAllocator(t, *c, "quiver(train=users)") }, "data sets of tenants"},
		"fluid":        {func(c *Cell) { *c = withAllocator(t, *c, "fluid(train=users:1)") }, "data sets of tenants"},
		"out of range": {func(c *Cell) { *c = withAllocator(t, *c, "static(r=0.95)") }, "outside rmin=0.1 to rmax=0.9"},
		"start":        {func(c *Cell) { *c = withAllocator(t, *c, "pid(start=0.05)") }, "begins with a ratio of 0.05"},
		"start, bounds": {func(c *Cell) {
			c.Cache = onNodes(t, "lru", "pools(gpus=1,memory=300MiB,rmin=0.5,r=0.6)").Cache
			*c = withAllocator(t, *c, "milp")
		}, "begins with a ratio of 0.4, outside rmin=0.5"},
		"three shares": {func(c *Cell) { *c = withAllocator(t, *c, "static(shares=1;1;1)") }, "shares has 3 items"},
		"exact": {func(c *Cell) {
			*c = withAllocator(t, *c, "pid")
			c.Cache, c.Model = cache.ExactSpec(), nil
		}, "it works in the cache pools, not in exact"},
		"little memory": {func(c *Cell) { c.Cache = onNodes(t, "lru", "pools(gpus=1,memory=9MiB)").Cache },
			"less than 10 pages of 1048576 bytes"},
		"predictor of one pool": {func(c *Cell) { c.Cache = onNodes(t, "lru", "pools(embeddings=laru)").Cache },
			"write --policy laru"},
		"approximate": {func(c *Cell) { c.Cache, c.Model = onNodes(t, "lru", "pools(kv=sieve)").Cache, approximate(t) },
			"computes the hit ratios of LRU, not those of sieve; use LRU, or a model that serves requests: recommender"},
		"prefetcher": {func(c *Cell) { c.Prefetcher = prefetcherOf(t, "next") }, "loads only requested objects"},
	} {
		c := onNodes(t, "lru", twoNodes)
		want.change(&c)
		if err := NewReplayer(tr, ReplayerOptions{}).Check(c); err == nil || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: error %v, want one with %q", name, err, want.text)
		}
	}
	plain := policytest.Trace(1, 50, 10)
	if err := NewReplayer(plain, ReplayerOptions{}).Check(onNodes(t, "lru", twoNodes)); err == nil ||
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
		if _, err := cache.Registry.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// approximate returns the model that serves no requests.
func approximate(tb testing.TB) *models.Spec {
	tb.Helper()
	spec := must.Get(models.Registry.Parse("fluid"))(tb)
	return &spec
}

// TestNodesHaveSeries checks that a series of a cell on nodes has the counts of its windows.
func TestNodesHaveSeries(t *testing.T) {
	r := NewReplayer(recommended(t, 1000, 200, 300), ReplayerOptions{})
	c := onNodes(t, "lru", "pools(nodes=2,gpus=1,memory=300MiB,kv=sieve,embeddings=s3fifo)")
	window := must.Get(series.ParseWindow("100"))(t)
	c.Series = window
	names := map[string]int{}
	for _, row := range must.Get(r.Replay(t.Context(), c))(t).Series {
		names[row.Name]++
		if row.Name == occupancy.Name && (row.Value <= 0 || row.Value > 1) {
			t.Errorf("occupancy %v", row.Value)
		}
	}
	if names[metric.HitRatio.Name] != 10 || names[occupancy.Name] != 10 {
		t.Errorf("the series has %v, want 10 windows", names)
	}
}

// TestNodesTakeTheMemoryThatTheySay compares the estimate with what the cache takes: per shard, and per user that the
// nodes meet.
func TestNodesTakeTheMemoryThatTheySay(t *testing.T) {
	for _, size := range []struct{ users, shards int }{{200, 600_000}, {60_000, 6000}} {
		tr := recommended(t, 100_000, size.users, size.shards)
		r := NewReplayer(tr, ReplayerOptions{})
		c := onNodes(t, "lru", "pools(nodes=3,gpus=1,memory=40GiB)")
		before := policytest.ReachableBytes()
		served, _ := must.Get2(r.build(t.Context(), c, tr, 0, nil, nil))(t)
		config := models.Config{Trace: tr, Cache: served, EndWarmup: func() {}}
		must.Get(takingTurns.Entry.Run(t.Context(), config))(t)
		taken, said := policytest.ReachableBytes()-before, r.Need(Job{cells: []Cell{c}})-modelledBytes*int64(len(tr.Objects))
		runtime.KeepAlive(served)
		t.Logf("%d users, %d shards: takes %d bytes and says %d", tr.NumObjects, size.shards, taken, said)
		if taken > said || said > 3*taken+(10<<20) {
			t.Errorf("%d users, %d shards: takes %d bytes and says %d", tr.NumObjects, size.shards, taken, said)
		}
	}
}

// TestPredictedNodesNeedLittle: a model that serves no request from the cache needs memory neither per shard nor per
// user.
func TestPredictedNodesNeedLittle(t *testing.T) {
	tr := recommended(t, 1000, 200, 1_000_000)
	r := NewReplayer(tr, ReplayerOptions{})
	c := onNodes(t, "lru", "pools(nodes=3,gpus=1,memory=40GiB)")
	fluid := must.Get(models.Registry.Parse("fluid"))(t)
	predicted := c
	predicted.Model = &fluid
	before := allocated()
	_, _ = must.Get2(r.build(t.Context(), predicted, tr, 0, nil, nil))(t)
	taken := allocated() - before
	served, said := r.Need(Job{cells: []Cell{c}}), r.Need(Job{cells: []Cell{predicted}})
	t.Logf("takes %d bytes and says %d; %d if requests are served", taken, said, served)
	if taken > said || said > 8<<20 || served < 20<<20 {
		t.Errorf("takes %d bytes and says %d, and %d if requests are served; want at most 8 MiB, and at least 20 MiB",
			taken, said, served)
	}
}

// TestNodesNeedNoTenants checks that records of nodes can be turned into parts again.
func TestNodesNeedNoTenants(t *testing.T) {
	r := NewReplayer(recommended(t, 100, 20, 30), ReplayerOptions{})
	c := withAllocator(t, onNodes(t, "lru", twoNodes), "static(r=0.3)")
	rec := must.Get(r.Replay(t.Context(), c))(t)
	if rec.Cache != twoNodes || rec.Allocator != "static(r=0.3)" {
		t.Errorf("the record names %s and %s", rec.Cache, rec.Allocator)
	}
	if !slices.Contains(cache.WithPools(), c.Cache.Name()) {
		t.Errorf("%v divide nodes", cache.WithPools())
	}
}

// TestNodesCountAfterTheWarmup checks that the counters of nodes leave out the warm-up, as hits and evictions do.
func TestNodesCountAfterTheWarmup(t *testing.T) {
	const requests, warmup = 1000, 500
	trace := recommended(t, requests, 200, 300)
	replay := func(length, warmup int) map[string]float64 {
		part := *trace
		part.Objects, part.Times = trace.Objects[:length], trace.Times[:length]
		r := NewReplayer(&part, ReplayerOptions{Warmup: warmup})
		rec := must.Get(r.Replay(t.Context(), withAllocator(t, onNodes(t, "lru", twoNodes), "ucp(every=100)")))(t)
		counts := map[string]float64{}
		for _, m := range []metric.Metric{pools.ShardEvictions, pools.BorderMoved, pools.Unpinned} {
			counts[m.Name], _ = rec.Values.Get(m.Name)
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
	c := withAllocator(t, onNodes(t, "lru", "pools(gpus=1,memory=300MiB,rmin=0.5,r=0.6)"), "hindsight")
	if err := NewReplayer(recommended(t, 10, 5, 9), ReplayerOptions{}).Check(c); err != nil {
		t.Error(err)
	}
}

// TestPredictionsEvictNothing checks that a model that loads nothing reports no evictions of shards: 0 would be wrong.
func TestPredictionsEvictNothing(t *testing.T) {
	c := onNodes(t, "lru", twoNodes)
	c.Model = approximate(t)
	rec := must.Get(NewReplayer(recommended(t, 300, 20, 90), ReplayerOptions{}).Replay(t.Context(), c))(t)
	if rec.Has(pools.ShardEvictions) || rec.Has(pools.Unpinned) || !rec.Has(pools.BorderMoved) {
		t.Errorf("the record has %v", slices.Collect(rec.Names()))
	}
}

// TestApproximationsRefuse checks that a model that serves no requests refuses what it could not tell apart.
func TestApproximationsRefuse(t *testing.T) {
	for name, c := range map[string]struct{ policy, cache, allocator, want string }{
		"lru":                 {"lru", "pools", "milp", ""},
		"another policy":      {"s3fifo", "pools", "milp", "not those of s3fifo"},
		"of one pool":         {"lru", "pools(embeddings=s3fifo)", "milp", "not those of s3fifo"},
		"both overridden":     {"s3fifo", "pools(embeddings=lru,kv=lru)", "milp", ""},
		"curves":              {"lru", "pools", "ucp", "to measure what allocator ucp divides by"},
		"footprints":          {"lru", "pools", "proportional(to=footprint)", "to measure"},
		"curves or forecasts": {"lru", "pools", "balance", ""},
	} {
		cell := withAllocator(t, onNodes(t, c.policy, c.cache), c.allocator)
		model := must.Get(models.Registry.Parse("fluid"))(t)
		cell.Model = &model
		if err := CheckParts(cell); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
