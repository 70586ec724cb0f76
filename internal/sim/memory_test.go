package sim_test

import (
	"runtime"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// What an Entry says about its memory is compared with what the policy takes, at a capacity and in units for which it
// may not have been measured.
func TestPoliciesTakeTheMemoryThatTheySay(t *testing.T) {
	brief.Long(t, "measures the memory of large replays")
	trace := simtest.Generated(t, "zipf(requests=60000,objects=40000,alpha=0.6,size=lognormal)",
		traces.Needs{Sizes: true, Times: true})
	oracle := must.Get(predict.Registry.Parse("oracle"))(t)
	for _, e := range brief.Sample(4, policies.Registry.All()...) {
		if e.New == nil || e.Relates {
			continue // of similar queries the similarity takes most
		}
		parts := sim.Parts{Policy: simtest.Policy(t, e.Name), Cache: cache.ExactSpec()}
		c := sim.Cell{Parts: parts, Capacity: capacity.Of(int64(trace.NumObjects)/5, false)}
		if e.Units == policies.UnitsBytes {
			c.Capacity = capacity.Of(trace.Footprint()/5, true)
		}
		if policies.Can[policies.PredictorUser](e) {
			c.Predictor = &oracle
		}
		r := sim.NewReplayer(trace, sim.ReplayerOptions{})
		taken := sim.MemoryOf(t, r, c)
		said := e.Memory.Bytes(int64(trace.NumObjects), r.Slots(c), c.Capacity.Bytes)
		const constant = 400 << 10 // small tables of their own
		if taken > 2*said+constant || said > 3*taken+constant {
			t.Errorf("%s takes %d bytes and says %d", e.Name, taken, said)
		}
	}
}

// takenAndSaid returns the memory that the cache of a cell has taken after a replay of the trace, without what replays
// share, and the estimate of what it needs.
func takenAndSaid(t *testing.T, trace *traces.Trace, c sim.Cell) (taken, said int64) {
	t.Helper()
	r := sim.NewReplayer(trace, sim.ReplayerOptions{})
	must.Get(r.EmptyCache(t.Context(), c))(t) // what replays share
	before := policytest.ReachableBytes()
	served := must.Get(r.EmptyCache(t.Context(), c))(t)
	must.Get(sim.Replay(t.Context(), trace, served, sim.ReplayOptions{Bytes: c.Capacity.Bytes}))(t)
	taken, said = policytest.ReachableBytes()-before, r.NeedOf(c)
	runtime.KeepAlive(served)
	return taken, said
}

// What a cache says about its memory beside its policy is compared with what both keep.
func TestCachesTakeTheMemoryThatTheySay(t *testing.T) {
	brief.Long(t, "measures the memory of large replays")
	trace := simtest.Generated(t, "zipf(requests=400000,objects=200000,alpha=0.9,size=lognormal)",
		traces.Needs{Keys: true, Sizes: true, Times: true})
	for _, e := range cache.Registry.All() {
		if e.Memory == (policies.Memory{}) || e.NeedsPrompts() {
			continue
		}
		for _, policy := range brief.Sample(3, "lru", "arc", "hyperbolic") {
			for _, size := range []capacity.Capacity{capacity.Of(int64(trace.NumObjects)/5, false),
				capacity.Of(trace.Footprint()/5, true)} {
				c := simtest.Cell(t, policy, size, "cache="+e.Name)
				taken, said := takenAndSaid(t, trace, c)
				t.Logf("%s with %s at %s takes %d bytes and says %d", e.Name, policy, size, taken, said)
				if taken > 2*said || said > 3*taken {
					t.Errorf("%s with %s at %s takes %d bytes and says %d", e.Name, policy, size, taken, said)
				}
			}
		}
	}
}

// What a node keeps does not grow with the requests of the others, of which there are many for each block here.
func TestNodesTakeNoMemoryForRequestsOfOthers(t *testing.T) {
	// Answers would have as many blocks as prompts.
	trace := simtest.Generated(t, "llm(prompts=2000,conversations=40)", traces.Needs{Kind: true}).Requested()
	for _, of := range []struct {
		cache, policy string
		most          int64 // MiB
	}{
		{"tiers(host=2x)", "lru", 20}, {"tiers(host=1000000)", "tensorrt-llm", 40},
		{"tiers(host=2x,mode=write-through,policies=/vllm-arc)", "vllm", 20},
	} {
		c := simtest.Cell(t, of.policy, capacity.Of(int64(trace.NumObjects)/10, false), "cache="+of.cache,
			"router=round-robin(nodes=60)")
		c.Parts = c.Replayed()
		taken, said := takenAndSaid(t, trace, c)
		t.Logf("%s with %s takes %d bytes and says %d", of.cache, of.policy, taken, said)
		if taken > said || taken > of.most<<20 {
			t.Errorf("%s with %s takes %d bytes and says %d", of.cache, of.policy, taken, said)
		}
	}
}

// A second memory has a slot for each block that has come to it, if there is room: several for each block of the trace.
func TestSecondMemoriesTakeTheMemoryThatTheySay(t *testing.T) {
	brief.Long(t, "measures the memory of large replays")
	trace := simtest.Generated(t, "llm(prompts=20000,conversations=400)", traces.Needs{Kind: true})
	for _, host := range []string{"100000000", "10TiB", "4000"} {
		if host == "10TiB" {
			prompts.Of(trace.Kind).Memory.BlockBytes = 1 << 20
		}
		c := simtest.Cell(t, "tensorrt-llm", capacity.Of(300, false), "cache=tiers(host="+host+")")
		c.Parts = c.Replayed()
		taken, said := takenAndSaid(t, trace, c)
		t.Logf("host=%s takes %d bytes and says %d", host, taken, said)
		if taken > said || said > 3*taken {
			t.Errorf("host=%s takes %d bytes and says %d", host, taken, said)
		}
	}
}

// What nodes with a router say about their memory is compared with what they keep.
func TestReplicasTakeTheMemoryThatTheySay(t *testing.T) {
	brief.Long(t, "measures the memory of large replays")
	trace := simtest.Generated(t, "llm(prompts=3000,conversations=900)", traces.Needs{Kind: true})
	for i, router := range brief.Sample(2, "prefix-aware", "round-robin", "session", "llm-d") {
		for k, kind := range []string{"prefix", "tiers(host=2x,remote=4x)", "tiers(host=2x,remote=8x,shared=remote)",
			"tiers(host=2x,remote=8x,mode=write-through,shared=host)"} {
			policy := []string{"lru", "s3fifo"}[(i+k)%2]
			c := simtest.Cell(t, policy, capacity.Of(int64(trace.NumObjects)/10, false), "cache="+kind,
				"router="+router+"(nodes=20)")
			taken, said := takenAndSaid(t, trace, c)
			if taken > said || said > 3*taken {
				t.Errorf("%s on %s with %s takes %d bytes and says %d", router, kind, policy, taken, said)
			}
		}
	}
}

// A predictor that follows a formula needs no room for the rows that others learn from.
func TestPredictorsNeedWhatTheyKeep(t *testing.T) {
	trace := simtest.Generated(t, "zipf(requests=100000,objects=1000)", traces.Needs{Sizes: true, Times: true})
	need := func(name string) int64 {
		c := simtest.Cell(t, "laru", capacity.Of(100, false), "predictor="+name)
		return sim.NewReplayer(trace, sim.ReplayerOptions{}).NeedOf(c)
	}
	for _, learns := range []string{"gbm", "auto"} {
		for _, other := range []string{"ewma", "popu", "oracle"} {
			if more := need(learns) - need(other); more < 10<<20 {
				t.Errorf("%s needs %d bytes more than %s, want those of its rows", learns, more, other)
			}
		}
	}
}

// TestNodesTakeTheMemoryThatTheySay compares the estimate with what the cache takes: per shard, and per user that the
// nodes meet.
func TestNodesTakeTheMemoryThatTheySay(t *testing.T) {
	for _, size := range brief.Sample(2, []struct{ users, shards int }{{200, 600_000}, {60_000, 6000}}...) {
		tr := simtest.Recommended(t, 100_000, size.users, size.shards)
		r := sim.NewReplayer(tr, sim.ReplayerOptions{})
		c := simtest.OnNodes(t, "lru", "pools(nodes=3,gpus=1,memory=40GiB)")
		before := policytest.ReachableBytes()
		served := must.Get(r.EmptyCache(t.Context(), c))(t)
		config := models.Config{Trace: tr, Cache: served, EndWarmup: func() {}}
		must.Get(simtest.TakingTurns.Entry.Run(t.Context(), config))(t)
		taken, said := policytest.ReachableBytes()-before, r.NeedOf(c)-sim.ModelledBytes*int64(len(tr.Objects))
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
	tr := simtest.Recommended(t, 1000, 200, 1_000_000)
	r := sim.NewReplayer(tr, sim.ReplayerOptions{})
	c := simtest.OnNodes(t, "lru", "pools(nodes=3,gpus=1,memory=40GiB)")
	predicted := simtest.Cell(t, "lru", capacity.Capacity{}, "cache="+c.Cache.String(), "model=fluid")
	before := sim.Allocated()
	must.Get(r.EmptyCache(t.Context(), predicted))(t)
	taken := sim.Allocated() - before
	served, said := r.NeedOf(c), r.NeedOf(predicted)
	t.Logf("takes %d bytes and says %d; %d if requests are served", taken, said, served)
	if taken > said || said > 8<<20 || served < 20<<20 {
		t.Errorf("takes %d bytes and says %d, and %d if requests are served; want at most 8 MiB, and at least 20 MiB",
			taken, said, served)
	}
}

// What caches of prompts say about their memory, per block, is compared with what they keep. The rest of the bounds is
// what a block may take: a trace of 10 million prompts has some 170 million.
func TestPromptsTakeTheMemoryThatTheySay(t *testing.T) {
	brief.Long(t, "measures the memory of large replays")
	trace := simtest.Generated(t, "llm(prompts=6000,conversations=1650,prompt-mean=1000)", traces.Needs{Kind: true})
	blocks := float64(trace.NumObjects)
	for _, c := range []struct {
		cache, policy string
		most          float64 // bytes per block
	}{
		{"prefix", "lru", 12}, {"prefix", "opt", 12}, {"prefix", "fifo", 12}, {"prefix", "s3fifo", 36},
		{"prefix(evict=node)", "lru", 16}, {"prefix(concurrency=4)", "lru", 16}, {"prefix(evict=any)", "lru", 8},
		{"tiers(host=4x,ssd=8x)", "lru", 30}, {"tiers(host=4x,ssd=8x)", "opt", 28},
		{"tiers(host=4x,ssd=8x)", "s3fifo", 60}, {"tiers(host=4x,ssd=8x,mode=inclusive)", "lru", 32},
		{"tiers(host=4x,ssd=8x,mode=inclusive)", "arc", 105}, {"tiers(host=4x,ssd=8x,mode=write-back)", "lru", 30},
		{"tiers(host=4x,mode=write-through)", "sglang-lru", 30}, {"tiers(host=4x,mode=write-back)", "sglang-lru", 52},
		{"tiers(host=4x,mode=write-through-selective)", "sglang-lfu", 48},
		{"tiers(host=4x)", "tensorrt-llm", 52}, {"tiers(host=4x,mode=write-through,policies=/vllm-arc)", "vllm", 36},
	} {
		cell := simtest.Cell(t, c.policy, capacity.Of(int64(trace.NumObjects)/50, false), "cache="+c.cache)
		cell.Parts = cell.Replayed()
		bytes, estimate := takenAndSaid(t, trace, cell)
		taken, said := float64(bytes)/blocks, float64(estimate-sim.ReplayBytes)/blocks
		t.Logf("%s with %s takes %.1f bytes per block and says %.1f", c.cache, c.policy, taken, said)
		if taken > c.most || taken > 1.1*said || said > 4*taken {
			t.Errorf("%s with %s takes %.1f bytes per block, of at most %g, and says %.1f", c.cache, c.policy, taken, c.most,
				said)
		}
	}
}
