package replicas_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/cache/tiers"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

var modes = []string{"exclusive", "inclusive", "write-through", "write-back"}

// TestOneNodeWithTiersIsNoRouter: on one node, with a tier that it shares with nobody or without one, tiers give the
// hits of each tier, writes, loads and latencies of no router, prompt by prompt.
func TestOneNodeWithTiersIsNoRouter(t *testing.T) {
	const singles = "prefill(model=qwen3-8b,arrivals=trace)|prefill(model=qwen3-8b,concurrency=3,prefetch=true)|" +
		"prefill(model=qwen3-8b,arrivals=poisson,rate=20,concurrency=2,overlap=true)||"
	for seed := range brief.Of[uint64](60, 12) {
		rng := rand.New(rand.NewPCG(seed, 31))
		tr := randomPrompts(rng, 60, 6, 4)
		size, warmup := int64(1+rng.IntN(15)), rng.IntN(20)
		model := strings.Split(singles, "|")[rng.IntN(5)]
		kind := fmt.Sprintf("host=2x,ssd=%d,remote=5x,mode=%s,promote=%d", 3*size, modes[seed%4], rng.IntN(3))
		if model == "" && rng.IntN(2) == 0 {
			kind += ",concurrency=3"
		}
		kind += []string{"", ",last=full", ",last=computed"}[rng.IntN(3)]
		policy := []string{"lru", "s3fifo", "random", "duel"}[rng.IntN(4)]
		var admission *admit.Spec
		if seed%4 != 1 && rng.IntN(2) == 0 {
			admission = new(must.Get(admit.Registry.Parse([]string{"second", "learned"}[rng.IntN(2)]))(t))
		}
		replay := func(shared, router string) sim.Result {
			c := cell(t, "tiers("+kind+shared+")", policy, router, model, size)
			c.Series.Requests, c.Admission = 1, admission
			return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}), c)
		}
		want := replay("", "")
		for _, shared := range []string{"", ",shared=host", ",shared=ssd", ",shared=remote"} {
			router := routers(t, "1")[rng.IntN(10)]
			got := replay(shared, router)
			if !slices.Equal(got.Series, want.Series) || len(got.Series) == 0 {
				t.Fatalf("seed %d, %s, %s%s, %s, %s: the prompts differ from those without a router", seed, policy, kind,
					shared, model, router)
			}
			for name := range want.Values.Names() {
				a, _ := want.Get(name)
				if b, ok := got.Get(name); a != b || !ok {
					t.Fatalf("seed %d, %s, %s%s, %s, %s: %s is %v, want %v", seed, policy, kind, shared, model, router, name,
						b, a)
				}
			}
		}
	}
}

// TestSharedStoreMakesRoutersEqual: with a shared tier that has room for everything and is written through, each block
// is computed once, whatever the router; without sharing it, a router makes a difference.
func TestSharedStoreMakesRoutersEqual(t *testing.T) {
	for seed := range brief.Of[uint64](10, 3) {
		tr := randomPrompts(rand.New(rand.NewPCG(seed, 32)), 120, 6, 4)
		want := int64(len(tr.Objects) - tr.NumObjects)
		apart := map[int64]bool{}
		for _, router := range routers(t, "4") {
			hits := func(shared string) int64 {
				kind := fmt.Sprintf("tiers(host=2x,remote=%d,mode=write-through%s)", tr.NumObjects, shared)
				return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
					cell(t, kind, "lru", router, "", 4)).Int(metric.Hits)
			}
			if got := hits(",shared=remote"); got != want {
				t.Errorf("seed %d, %s: %d hits, want all but the first requests, %d", seed, router, got, want)
			}
			apart[hits("")] = true
		}
		if len(apart) < 3 {
			t.Errorf("seed %d: without a shared tier the routers have the hits %v", seed, apart)
		}
	}
}

// TestTiersStayBelowTheBound: the bound is what one cache as large as all tiers of all nodes can have, and no router
// and no mode exceeds it.
func TestTiersStayBelowTheBound(t *testing.T) {
	reached := 0
	for seed := range brief.Of[uint64](400, 80) {
		rng := rand.New(rand.NewPCG(seed, 33))
		tr := randomPrompts(rng, 8, 3, 3)
		if tr.NumObjects > 8 {
			continue
		}
		mode, warmup, host, remote := modes[rng.IntN(4)], rng.IntN(3), 1+rng.IntN(2), 1+rng.IntN(3)
		if mode == "inclusive" {
			remote = max(host, remote)
		}
		shared, whole := "", 2*(1+host+remote)
		if rng.IntN(2) == 0 {
			shared, whole = ",shared=remote", 2*(1+host)+remote
		}
		if mode == "inclusive" && shared == "" {
			whole = 2 * remote
		} else if mode == "inclusive" {
			whole = remote
		}
		kind := fmt.Sprintf("tiers(host=%d,remote=%d,mode=%s%s)", host, remote, mode, shared)
		router := routers(t, "2")[rng.IntN(10)]
		rec := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}), cell(t, kind,
			[]string{"lru", "fifo", "random", "lfu"}[rng.IntN(4)], router, "", 1))
		requests := len(tr.Objects) - tr.Groups[warmup]
		bound := int(rec.Float(replicas.HitRatioBound)*float64(requests) + 0.5)
		if want := mostOfOne(tr, min(whole, tr.NumObjects), warmup); bound != want {
			t.Fatalf("seed %d, %s: the bound is %d, one cache of %d blocks has %d", seed, kind, bound, whole, want)
		}
		if hits := rec.Int(metric.Hits); int(hits) > bound {
			t.Fatalf("seed %d, %s, %s: %d hits, the bound is %d", seed, kind, router, hits, bound)
		} else if int(hits) == bound && hits > 0 {
			reached++
		}
	}
	if reached == 0 {
		t.Error("the bound is never reached")
	}
}

// TestASharedTierSurvives: a node that goes loses what it has in all its own tiers, and what it wrote through remains.
func TestASharedTierSurvives(t *testing.T) {
	tr := twoSessions()
	for _, test := range []struct {
		kind       string
		hits, lost int64
	}{
		{"tiers(host=9,remote=9)", 3 + 3, 3},
		{"tiers(host=9,remote=9,mode=write-through)", 3 + 3, 3 + 3 + 3},
		{"tiers(host=9,remote=9,mode=write-through,shared=remote)", 3 + 3 + 3, 3 + 3},
		{"tiers(host=9,remote=9,mode=write-through,shared=host)", 3 + 3 + 3, 3},
		{"tiers(host=9,remote=9,shared=remote)", 3 + 3, 3},         // it had evicted nothing
		{"tiers(host=1,remote=9,shared=remote)", 3 + 3 + 0, 1 + 1}, // y and z were evicted; x is lost, and they follow it
	} {
		size := int64(10)
		if strings.Contains(test.kind, "host=1,") {
			size = 1
		}
		rec := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
			cell(t, test.kind, "lru", "session(nodes=2@0s+1@5s)", "", size))
		if got := rec.Int(metric.Hits); got != test.hits {
			t.Errorf("%s: %d hits, want %d", test.kind, got, test.hits)
		}
		if got := rec.Int(replicas.BlocksLost); got != test.lost {
			t.Errorf("%s: %d blocks lost, want %d", test.kind, got, test.lost)
		}
		if n, _ := rec.GetInt(tiers.Residents.Of("hbm")); n > size {
			t.Errorf("%s: %d blocks in the first tier of the node that is left, which has room for %d", test.kind, n, size)
		}
	}
}

// TestTiersOfNodesUnderAModel: the tokens that hit in the tiers are all that hit, after a warm-up that ends at
// different times on different nodes, whatever nodes come and go and when loads begin.
func TestTiersOfNodesUnderAModel(t *testing.T) {
	loaded := false
	for seed := range brief.Of[uint64](40, 10) {
		rng := rand.New(rand.NewPCG(seed, 34))
		tr := randomPrompts(rng, 80, 6, 4)
		kind := fmt.Sprintf("tiers(host=2x,remote=9x,mode=%s%s)", modes[rng.IntN(4)], []string{"", ",shared=remote",
			",shared=host"}[rng.IntN(3)])
		model := fmt.Sprintf("prefill(model=qwen3-8b,overhead_ms=%d,concurrency=2,arrivals=%s,prefetch=%v,overlap=%v)",
			rng.IntN(500),
			[]string{"trace", "closed", "poisson,rate=9"}[rng.IntN(3)], rng.IntN(2) == 0, rng.IntN(2) == 0)
		router := routers(t, "3@0s+1@3s+4@5s")[rng.IntN(10)]
		rec := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: 20}), cell(t, kind, "lru", router, model,
			5))
		tokens, hits := int64(0), int64(0)
		for _, name := range []string{"hbm", "host", "remote"} {
			n, _ := rec.GetInt(tiers.HitTokens.Of(name))
			h, _ := rec.GetInt(tiers.Hits.Of(name))
			tokens, hits = tokens+n, hits+h
		}
		if tokens != rec.Int(prefix.HitTokens) || hits != rec.Int(metric.Hits) {
			t.Errorf("seed %d, %s, %s, %s: %d hits of %d tokens in the tiers, %d of %d in all", seed, kind, router, model,
				hits, tokens, rec.Int(metric.Hits), rec.Int(prefix.HitTokens))
		}
		if n, _ := rec.GetInt(models.LoadedBytes.Of("remote")); n > 0 {
			loaded = true
		}
	}
	if !loaded {
		t.Error("nothing was loaded from the last tier")
	}
}

// TestRoutersSeeTheFirstTier: its capacity in blocks, whether the user states it in bytes or in blocks.
func TestRoutersSeeTheFirstTier(t *testing.T) {
	tr := randomPrompts(rand.New(rand.NewPCG(2, 35)), 200, 6, 4)
	prompts.Of(tr.Kind).Memory.BlockBytes = 1000
	seen := map[int64]bool{}
	for _, router := range routers(t, "4") {
		hits := func(kind string, size capacity.Capacity) int64 {
			c := cell(t, kind, "lru", router, "", 1)
			c.Capacity = size
			return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c).Int(metric.Hits)
		}
		want := hits("tiers(hbm=6,host=3x)", capacity.Of(6, false))
		if got := hits("tiers(hbm=6000B,host=18000B)", capacity.Of(6000, true)); got != want {
			t.Errorf("%s: %d hits with 6000 bytes, %d with 6 blocks", router, got, want)
		}
		seen[want] = true
	}
	if len(seen) < 3 {
		t.Errorf("the routers have the hits %v", seen)
	}
}

// TestLinkOfASharedTier: two nodes that load from a shared tier at the same time do so one after the other over one
// link, and at once over links of their own; so they do from tiers of their own.
func TestLinkOfASharedTier(t *testing.T) {
	// Both nodes load abc, which was evicted by xyz and uvw, when nothing else goes on.
	tr := policytest.Prompts(16, "abc", "abc", "xyz", "uvw", "abc", "abc")
	p := prompts.Of(tr.Kind)
	p.Arrivals = nil
	for _, second := range []int64{0, 10, 20, 30, 40, 40} {
		p.Arrivals = append(p.Arrivals, second*int64(time.Second))
	}
	const model = "prefill(model=qwen3-8b,arrivals=trace,concurrency=9,output=1,kv_kb=1000000," +
		"bandwidth_gbs=1000000,host_gbs=48," +
		"host_us=0"
	for _, test := range []struct {
		shared, link string
		seconds      float64 // the last one waits: 48 tokens of 10^9 bytes at 48 * 10^9 bytes per second
	}{
		{"", "", 1}, {",shared=host", "", 2}, {",shared=host", ",shared_link=one", 2},
		{",shared=host", ",shared_link=each", 1},
	} {
		rec := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: 4}), cell(t,
			"tiers(host=9,mode=write-through"+test.shared+")", "lru", "round-robin(nodes=2)", model+test.link+")", 3))
		wait := rec.Float(models.LoadWait) / 1e3
		if want := (1 + test.seconds) / 2; wait < want-1e-6 || wait > want+1e-6 {
			t.Errorf("%q, %q: the prompts wait for %v s, want %v", test.shared, test.link, wait, want)
		}
		links := 2.
		if test.seconds == 2 {
			links = 1
		}
		gbs, _ := rec.Get(models.LoadBandwidth.Of("host"))
		if got, _ := rec.Get(models.LoadUtilisation.Of("host")); got < gbs/48/links-1e-9 || got > gbs/48/links+1e-9 {
			t.Errorf("%q, %q: a utilisation of %v at %v GB/s", test.shared, test.link, got, gbs)
		}
	}
}

func TestTiersOfNodesAreChecked(t *testing.T) {
	tr := policytest.Prompts(16, "a", "b")
	for _, test := range []struct{ kind, policy, router, model, want string }{
		{"tiers(host=4x,remote=9x,shared=remote)", "lru", "", "", "add --nodes 8, or remove shared"},
		{"tiers(host=4x,policies=opt/lru)", "lru", "round-robin(nodes=2)", "", "not on which node"},
		{"tiers(host=4x)", "opt", "round-robin(nodes=2)", "", "not on which node"},
		{"tiers(host=4x)", "laru", "round-robin(nodes=2)", "", "predictor noisy knows when a block"},
		{"tiers(host=4x,policies=lru/laru)", "lru", "round-robin(nodes=2)", "", "policies names laru, which does not work"},
	} {
		err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(cell(t, test.kind, test.policy, test.router, test.model, 5))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %s: %v, want an error with %q", test.policy, test.kind, err, test.want)
		}
	}
	c := cell(t, "tiers(host=4x)", "lru", "round-robin(nodes=2)", "", 5)
	c.Prefetcher = new(must.Get(prefetch.Registry.Parse("next"))(t))
	if err := sim.CheckParts(c); err == nil || !strings.Contains(err.Error(), "prefetcher next loads into one cache") {
		t.Errorf("a prefetcher: %v", err)
	}
	c.Prefetcher, c.Allocator = nil, new(must.Get(allocate.Registry.Parse("equal"))(t))
	if err := sim.CheckParts(c); err == nil || !strings.Contains(err.Error(), "choose another allocator: shared") {
		t.Errorf("an allocator: %v", err)
	}
	objects := policytest.Trace(1, 50, 10)
	err := sim.NewReplayer(objects, sim.ReplayerOptions{}).Check(cell(t, "tiers(host=4x,remote=9x,shared=remote)", "lru",
		"round-robin(nodes=2)", "", 5))
	if err == nil || !strings.Contains(err.Error(), "nodes share tiers where they serve prompts") {
		t.Errorf("objects on nodes: %v", err)
	}
	_, err = sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(t.Context(), cell(t, "tiers(host=4x)", "lru",
		"round-robin(nodes=2)", "prefill(model=qwen3-8b,shared_link=each)", 5))
	if err == nil || !strings.Contains(err.Error(), "shared_link=each has no effect") {
		t.Errorf("a link to a tier that is not shared: %v", err)
	}
}
