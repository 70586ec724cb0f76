package replicas_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// randomPrompts is a trace of prompts with conversations and times, which now and then go back.
func randomPrompts(rng *rand.Rand, n, length, letters int) *traces.Trace {
	t := policytest.RandomPrompts(rng, n, length, letters)
	p := prompts.Of(t.Kind)
	p.Sessions, p.Arrivals = nil, nil
	now := int64(time.Hour)
	for range n {
		p.Sessions = append(p.Sessions, int32(rng.IntN(n/3+1)))
		now += int64(rng.IntN(300)-30) * int64(time.Millisecond)
		p.Arrivals = append(p.Arrivals, now)
	}
	t.Times = make([]int64, len(t.Objects))
	for i, first := range t.Groups {
		for pos := first; pos < len(t.Objects); pos++ {
			t.Times[pos] = p.Arrivals[i]
		}
	}
	return t
}

func cell(t must.TB, kind, policy, router, model string, size int64) sim.Cell {
	t.Helper()
	c := simtest.Cell(t, policy, capacity.Of(size, false), "cache="+kind)
	c.Seed = 5
	if router != "" {
		c.Router = new(must.Get(route.Registry.Parse(router))(t))
	}
	if model != "" {
		c.Model = new(must.Get(models.Registry.Parse(model))(t))
	}
	return c
}

// routers returns the routers of prompts, with a number of nodes.
func routers(t must.TB, nodes string) (calls []string) {
	for _, e := range route.Registry.All() {
		if e.New != nil {
			calls = append(calls, must.Get(route.WithNodes(e.Name, nodes))(t))
		}
	}
	return append(calls, must.Get(route.WithNodes("hash(by=session)", nodes))(t))
}

// TestOneNodeIsNoRouter: on one node every router gives the hits, evictions and latencies of no router, prompt by
// prompt.
func TestOneNodeIsNoRouter(t *testing.T) {
	const singles = "prefill(model=qwen3-8b,arrivals=trace)|prefill(model=qwen3-8b,concurrency=3)|" +
		"prefill(model=qwen3-8b,arrivals=poisson,rate=20,concurrency=2)||"
	for seed := range brief.Of[uint64](12, 3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		tr := randomPrompts(rng, 60, 6, 4)
		size, warmup := int64(1+rng.IntN(30)), rng.IntN(20)
		for _, policy := range []string{"lru", "s3fifo", "random"} {
			model := strings.Split(singles, "|")[rng.IntN(5)]
			kind := "prefix"
			if model == "" {
				kind = []string{"prefix", "prefix(evict=node)", "prefix(evict=any)", "prefix(concurrency=3)"}[rng.IntN(4)]
			}
			replay := func(router string) sim.Result {
				c := cell(t, kind, policy, router, model, size)
				c.Series.Requests = 1 // a prompt has a window of its own
				return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}), c)
			}
			want := replay("")
			for _, router := range routers(t, "1") {
				got := replay(router)
				if !slices.Equal(got.Series, want.Series) || len(got.Series) == 0 {
					t.Fatalf("seed %d, %s, %s, %s, %s: the prompts differ from those without a router", seed, policy, kind,
						model, router)
				}
				for name := range want.Values.Names() {
					a, _ := want.Get(name)
					if b, _ := got.Get(name); a != b {
						t.Fatalf("seed %d, %s, %s, %s, %s: %s is %v, want %v", seed, policy, kind, model, router, name, b, a)
					}
				}
				if x := got.Float(replicas.Imbalance); got.Has(replicas.Imbalance) && x != 1 {
					t.Errorf("imbalance %v of one node", x)
				}
			}
		}
	}
}

// watched is a cache that checks how it is used.
type watched struct {
	cache.Replica
	t        rapid.TB
	node     int
	capacity int64
	log      *log
}

// log has what happened on all nodes.
type log struct {
	begun, ended []int // per prompt
	node         []int // per prompt
	up           func() int
	served       [][]int // per node: prompts in the order in which they began
}

func (w *watched) Begin(i int, n *cache.Counts) int64 {
	w.log.begun[i]++
	w.log.node[i] = w.node
	w.log.served[w.node] = append(w.log.served[w.node], i)
	if w.node >= w.log.up() {
		w.t.Fatalf("prompt %d begins on node %d of %d", i, w.node, w.log.up())
	}
	hits := w.Replica.Begin(i, n)
	if w.Used() > w.capacity {
		w.t.Fatalf("node %d has %d blocks, more than its capacity of %d", w.node, w.Used(), w.capacity)
	}
	return hits
}

func (w *watched) Finish(i int) {
	if w.log.ended[i]++; w.log.node[i] != w.node {
		w.t.Fatalf("prompt %d began on node %d and ends on node %d", i, w.log.node[i], w.node)
	}
	w.Replica.Finish(i)
}

// cluster returns nodes that check how they are used.
func cluster(t rapid.TB, tr *traces.Trace, router, kind string, size int64, modelled bool) (*replicas.Cluster, *log) {
	t.Helper()
	n := len(tr.Groups)
	l := &log{begun: make([]int, n), ended: make([]int, n), node: make([]int, n), served: make([][]int, 9),
		up: func() int { return 9 }}
	c := cell(t, kind, "lru", router, "", size)
	k := must.Get(replicas.New(replicas.Config{Trace: tr, Router: *c.Router, Capacity: size, Seed: 3, Modelled: modelled,
		NewCache: func(node int) (cache.Replica, error) {
			made, err := c.Cache.Entry.New(cache.Config{Trace: tr, Capacity: size, Unit: true, Params: c.Cache.Params,
				Policy: c.Policy, AnyOrder: true})
			if err != nil {
				return nil, err
			}
			return &watched{made.(cache.Replica), t, node, size, l}, nil
		}}))(t)
	l.up = k.Nodes
	return k, l
}

// TestEveryPromptIsServedOnce, on a node that exists, whatever nodes are added and removed, and ends where it began.
func TestEveryPromptIsServedOnce(t *testing.T) {
	rerouted, lost := int64(0), int64(0)
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		tr := randomPrompts(rng, 50, 6, 4)
		nodes, at := fmt.Sprint(rapid.IntRange(1, 5).Draw(t, "nodes")), 0
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			at += rapid.IntRange(1, 2000).Draw(t, "after")
			next := fmt.Sprintf(",%d@%dms", rapid.IntRange(1, 5).Draw(t, "nodes"), at)
			if _, err := route.ParseNodes(nodes + next); err == nil {
				nodes += next
			}
		}
		router := rapid.SampledFrom(routers(t, nodes)).Draw(t, "router")
		size := int64(rapid.IntRange(1, 30).Draw(t, "size"))
		modelled := rapid.Bool().Draw(t, "modelled")
		k, l := cluster(t, tr, router, "prefix(concurrency=2)", size, modelled)
		var counts cache.Counts
		if modelled {
			arrivals := rapid.SampledFrom([]string{"trace", "closed", "poisson,rate=5"}).Draw(t, "arrivals")
			spec := must.Get(models.Registry.Parse("prefill(model=qwen3-8b,overhead_ms=400,concurrency=2,arrivals=" +
				arrivals + ")"))(t)
			var order []int
			v := must.Get(spec.Entry.Run(t.Context(), models.Config{Trace: tr, Cache: k, Params: spec.Params, Unit: true,
				Serve: func(from, _ int) models.Served {
					i, _ := slices.BinarySearch(tr.Groups, from)
					order = append(order, i)
					return models.Served{HitTokens: k.Begin(i, &counts)}
				}}))(t)
			if v.Float(models.LatencyP99) <= 0 || len(order) != len(tr.Groups) {
				t.Fatalf("P99 %v, %d prompts served", v.Float(models.LatencyP99), len(order))
			}
		} else {
			k.Serve(cache.WindowOf(tr, 0, len(tr.Objects), false, nil), &counts)
		}
		for i, n := range l.begun {
			// Without a model the last prompts run on at the end.
			if n != 1 || l.ended[i] > 1 || modelled && l.ended[i] != 1 {
				t.Fatalf("prompt %d has begun %d times and ended %d times", i, n, l.ended[i])
			}
		}
		if counts.Prompts != int64(len(tr.Groups)) || counts.Requests != int64(len(tr.Objects)) {
			t.Fatalf("%+v", counts)
		}
		for node := range k.Nodes() {
			if modelled && (k.Prompts(node) != 0 || k.Tokens(node) != 0 || k.Waiting(node) != 0 || k.Usage(node) != 0) {
				t.Fatalf("something is left on node %d: %d prompts of %d tokens, %d waiting", node, k.Prompts(node),
					k.Tokens(node), k.Waiting(node))
			}
		}
		var v metric.Values
		for _, c := range k.Counters() {
			v.SetNamed(c.Name(), c.Value)
		}
		rerouted += v.Int(replicas.PromptsRerouted)
		lost += v.Int(replicas.BlocksLost)
		checkNodes(t, tr, l, v, counts)
	})
	t.Logf("%d prompts were routed again, and %d blocks lost", rerouted, lost)
}

// checkNodes compares what is reported of the nodes with the counts, and these with the bound.
func checkNodes(t *rapid.T, tr *traces.Trace, l *log, v metric.Values, counts cache.Counts) {
	n := v.Int(replicas.NodeCount)
	most, sum, promptsServed := int64(0), int64(0), int64(0)
	for node := range n {
		label := fmt.Sprintf("[%d]", node)
		tokens, _ := v.Get(replicas.NodeTokens.Name + label)
		hits, _ := v.Get(replicas.NodeHitTokens.Name + label)
		served, _ := v.Get(replicas.NodePrompts.Name + label)
		if int(served) != len(l.served[node]) {
			t.Fatalf("node %d served %v prompts, want %d", node, served, len(l.served[node]))
		}
		ratio, known := v.Get(replicas.NodeTokenHitRatio.Name + label)
		if known != (tokens > 0) || known && ratio != hits/tokens {
			t.Fatalf("node %d has a token hit ratio of %v, known %v; want %v of %v tokens", node, ratio, known, hits, tokens)
		}
		most, sum = max(most, int64(tokens-hits)), sum+int64(tokens-hits)
		promptsServed += int64(served)
	}
	if sum != counts.Tokens-counts.HitTokens || promptsServed != counts.Prompts {
		t.Fatalf("the nodes computed %d tokens of %d prompts, want %d of %d", sum, promptsServed,
			counts.Tokens-counts.HitTokens, counts.Prompts)
	}
	if want := float64(most) * float64(n) / float64(sum); v.Float(replicas.Imbalance) != want {
		t.Fatalf("imbalance %v, want %v", v.Float(replicas.Imbalance), want)
	}
	ratio := float64(counts.Hits) / float64(len(tr.Objects))
	if bound := v.Float(replicas.HitRatioBound); ratio > bound || bound-ratio != v.Float(replicas.BelowBound) {
		t.Fatalf("hit ratio %v, bound %v, below it %v", ratio, bound, v.Float(replicas.BelowBound))
	}
}

// TestNodesAreIndependent: without locks each node has the hits of a single cache that serves its prompts alone.
func TestNodesAreIndependent(t *testing.T) {
	for seed := range brief.Of[uint64](30, 8) {
		rng := rand.New(rand.NewPCG(seed, 3))
		tr := randomPrompts(rng, 80, 6, 4)
		size := int64(1 + rng.IntN(20))
		for _, router := range routers(t, "3") {
			k, l := cluster(t, tr, router, "prefix(evict=any)", size, false)
			var got cache.Counts
			k.Serve(cache.WindowOf(tr, 0, len(tr.Objects), false, nil), &got)
			var hits int64
			for _, served := range l.served {
				hits += simtest.Counts(simtest.Replay(t, sim.NewReplayer(only(tr, served), sim.ReplayerOptions{}),
					cell(t, "prefix(evict=any)", "lru", "", "", size)).Values).Hits
			}
			if got.Hits != hits {
				t.Errorf("seed %d, %s: %d hits, the nodes by themselves have %d", seed, router, got.Hits, hits)
			}
		}
	}
}

// only returns the trace of some prompts, in which blocks keep their numbers.
func only(t *traces.Trace, served []int) *traces.Trace {
	p := *prompts.Of(t.Kind)
	part := &traces.Trace{Name: "part", SampleRate: 1, NumObjects: t.NumObjects, Kind: &p}
	p.InputTokens, p.Sessions, p.Arrivals, p.OutputTokens = nil, nil, nil, nil
	for _, i := range served {
		part.Groups = append(part.Groups, len(part.Objects))
		part.Objects = append(part.Objects, blocksOf(t, i)...)
		p.InputTokens = append(p.InputTokens, prompts.Of(t.Kind).InputTokens[i])
	}
	if len(served) == 0 {
		part.Groups, part.Objects, p.InputTokens = []int{0}, []uint32{0}, []int32{1}
	}
	return part
}

func blocksOf(t *traces.Trace, i int) []uint32 {
	end := len(t.Objects)
	if i+1 < len(t.Groups) {
		end = t.Groups[i+1]
	}
	return t.Objects[t.Groups[i]:end]
}

// TestBoundAgainstEveryRouting tries all ways to route a few prompts to two nodes, and all choices of what each node
// keeps. None has more hits than the bound, after a warm-up or without one, and the bound is what one cache as large as
// both can have if it may evict anything and need not load what misses.
func TestBoundAgainstEveryRouting(t *testing.T) {
	reached, positive := 0, 0
	for seed := range brief.Of[uint64](300, 60) {
		rng := rand.New(rand.NewPCG(seed, 4))
		tr := randomPrompts(rng, 7, 3, 3)
		if tr.NumObjects > 9 {
			continue
		}
		size, warmup := 1+rng.IntN(2), rng.IntN(3)
		r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup})
		rec := simtest.Replay(t, r, cell(t, "prefix", "lru", "round-robin(nodes=2)", "", int64(size)))
		requests := len(tr.Objects) - tr.Groups[warmup]
		bound := int(rec.Float(replicas.HitRatioBound)*float64(requests) + 0.5)
		most := mostOfAll(tr, size, warmup)
		if most > bound {
			t.Fatalf("seed %d: some routing has %d hits, the bound is %d", seed, most, bound)
		}
		if want := mostOfOne(tr, 2*size, warmup); bound != want {
			t.Fatalf("seed %d, warm-up %d: the bound is %d, one cache has %d", seed, warmup, bound, want)
		}
		if most == bound {
			reached++
		}
		if bound > 0 {
			positive++
		}
	}
	if positive == 0 || reached == 0 {
		t.Errorf("the bound is reached %d times, and above 0 %d times", reached, positive)
	}
}

// mostOfAll follows every set of blocks that two nodes may have after each prompt: a node keeps any of what it has and
// of what it has just computed, as long as these are whole prefixes.
func mostOfAll(t *traces.Trace, size, warmup int) (most int) {
	parents := prompts.Of(t.Kind).Parents
	var kept [][2]uint16 // unused bits are 0
	for set := range uint16(1) << t.NumObjects {
		if whole(set, parents, size) {
			kept = append(kept, [2]uint16{set})
		}
	}
	reached := map[[2]uint16]int{{}: 0}
	for i := range t.Groups {
		next := map[[2]uint16]int{}
		blocks := blocksOf(t, i)
		var all uint16
		for _, o := range blocks {
			all |= 1 << o
		}
		for state, hits := range reached {
			for node := range 2 {
				n := hits
				for _, o := range blocks {
					if state[node]&(1<<o) == 0 {
						break
					}
					if i >= warmup {
						n++
					}
				}
				for _, k := range kept {
					if k[0]&^(state[node]|all) == 0 {
						after := state
						after[node] = k[0]
						if have, ok := next[after]; !ok || n > have {
							next[after] = n
						}
					}
				}
			}
		}
		reached = next
	}
	for _, hits := range reached {
		most = max(most, hits)
	}
	return most
}

// mostOfOne follows every set of blocks that one cache may have after each request.
func mostOfOne(t *traces.Trace, size, warmup int) (most int) {
	reached := map[uint16]int{0: 0}
	for pos, o := range t.Objects {
		next := map[uint16]int{}
		for set, hits := range reached {
			if set&(1<<o) != 0 && pos >= t.Groups[warmup] {
				hits++
			}
			for after := range uint16(1) << t.NumObjects {
				if after&^(set|1<<o) == 0 && bits.OnesCount16(after) <= size {
					next[after] = max(next[after], hits)
				}
			}
		}
		reached = next
	}
	for _, hits := range reached {
		most = max(most, hits)
	}
	return most
}

// whole reports whether a set of blocks fits, with every block that precedes one.
func whole(set uint16, parents []int32, size int) bool {
	n := 0
	for o := range parents {
		if set&(1<<o) != 0 {
			n++
			if parents[o] >= 0 && set&(1<<parents[o]) == 0 {
				return false
			}
		}
	}
	return n <= size
}

// twoSessions are two conversations that take turns, and come back after 7 seconds.
func twoSessions() *traces.Trace {
	tr := policytest.Prompts(16, "abc", "xyz", "abc", "abc", "xyz")
	p := prompts.Of(tr.Kind)
	p.Sessions, p.Arrivals = []int32{0, 1, 0, 0, 1}, nil
	for _, second := range []int64{0, 1, 2, 7, 8} {
		p.Arrivals = append(p.Arrivals, second*int64(time.Second))
	}
	return tr
}

// TestARemovedNodeLosesItsCache: the same prompt hits on a node that stays, and misses on one that was away.
func TestARemovedNodeLosesItsCache(t *testing.T) {
	tr := twoSessions()
	replay := func(nodes string) sim.Result {
		return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
			cell(t, "prefix", "lru", "session(nodes="+nodes+")", "", 10))
	}
	if got := replay("2").Int(metric.Hits); got != 3+3+3 {
		t.Errorf("%d hits on two nodes, want 9", got)
	}
	// Node 1 has xyz and goes after 5 seconds; xyz then comes to node 0.
	rec := replay("2@0s+1@5s")
	if got := rec.Int(metric.Hits); got != 3+3 {
		t.Errorf("%d hits if node 1 goes, want 6", got)
	}
	if got := rec.Int(replicas.BlocksLost); got != 3 {
		t.Errorf("%d blocks lost, want 3", got)
	}
	rec = replay("2@0s+1@5s+2@6s")
	if got := rec.Int(metric.Hits); got != 3+3 {
		t.Errorf("%d hits if node 1 comes back empty, want 6", got)
	}
	if got := rec.Int(replicas.NodeCount); got != 2 {
		t.Errorf("%d nodes, want the most at any time", got)
	}
}

// TestNodesThatGoInTheWarmupLoseNothing that counts, and prompts of the warm-up that are routed again do not count.
func TestNodesThatGoInTheWarmupLoseNothing(t *testing.T) {
	waiting := policytest.Prompts(16, "a", "b", "c", "d", "e", "f")
	prompts.Of(waiting.Kind).Arrivals = make([]int64, 6)
	for _, test := range []struct {
		trace         *traces.Trace
		router, model string
		warmup        int
		metric        metric.Metric
		want          int64
	}{
		{twoSessions(), "session(nodes=2@0s+1@5s)", "", 2, replicas.BlocksLost, 3},
		{twoSessions(), "session(nodes=2@0s+1@5s)", "", 3, replicas.BlocksLost, 0}, // before the fourth prompt
		{waiting, "round-robin(nodes=2@0s+1@1s)",
			"prefill(model=qwen3-8b,arrivals=trace,overhead_ms=3000,concurrency=9)", 3,
			replicas.PromptsRerouted, 2},
		{waiting, "round-robin(nodes=2@0s+1@1s)",
			"prefill(model=qwen3-8b,arrivals=trace,overhead_ms=3000,concurrency=9)", 4,
			replicas.PromptsRerouted, 1},
	} {
		rec := simtest.Replay(t, sim.NewReplayer(test.trace, sim.ReplayerOptions{Warmup: test.warmup}),
			cell(t, "prefix", "lru", test.router, test.model, 10))
		if got := rec.Int(test.metric); got != test.want {
			t.Errorf("%s, warm-up of %d prompts: %s is %d, want %d", test.router, test.warmup, test.metric.Name, got,
				test.want)
		}
	}
}

// TestUnboundedNodesHaveNoRatio: on several nodes caches without a limit miss more than first requests, so that what
// they miss is no optimum.
func TestUnboundedNodesHaveNoRatio(t *testing.T) {
	tr := randomPrompts(rand.New(rand.NewPCG(3, 3)), 60, 6, 4)
	for nodes, ratio := range map[int]bool{1: true, 3: false} {
		got := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
			cell(t, "prefix", "infinite", fmt.Sprintf("round-robin(nodes=%d)", nodes), "", 10))
		if got.Has(metric.CompetitiveRatio) != ratio || (got.Int(metric.Misses) == int64(tr.NumObjects)) != ratio {
			t.Errorf("%d nodes: ratio %v, %d misses of %d blocks", nodes, got.Has(metric.CompetitiveRatio),
				got.Int(metric.Misses), tr.NumObjects)
		}
	}
}

// TestWaitingPromptsAreRoutedAgain, and those that have begun on the node are not.
func TestWaitingPromptsAreRoutedAgain(t *testing.T) {
	tr := policytest.Prompts(16, "a", "b", "c", "d", "e", "f")
	prompts.Of(tr.Kind).Arrivals = make([]int64, 6)
	// Prompts 1, 3 and 5 are on node 1, which goes while 1 is prefilled.
	rec := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), cell(t, "prefix", "lru",
		"round-robin(nodes=2@0s+1@1s)", "prefill(model=qwen3-8b,arrivals=trace,overhead_ms=3000,concurrency=9)", 10))
	if got := rec.Int(replicas.PromptsRerouted); got != 2 {
		t.Errorf("%d prompts were routed again, want 2", got)
	}
	a, _ := rec.Get(replicas.NodePrompts.Of("0"))
	if b, _ := rec.Get(replicas.NodePrompts.Of("1")); a != 5 || b != 1 {
		t.Errorf("node 0 served %v prompts and node 1 %v, want 5 and 1", a, b)
	}
}

// TestCapacityIsOfEachNode: two nodes of 3 blocks hold what one of 6 does if a router knows where.
func TestCapacityIsOfEachNode(t *testing.T) {
	tr := policytest.Prompts(16, "abc", "xyz", "abc", "xyz")
	prompts.Of(tr.Kind).Sessions = []int32{0, 1, 0, 1}
	for _, test := range []struct {
		router string
		size   int64
		hits   int64
	}{{"session(nodes=2)", 3, 6}, {"session(nodes=1)", 3, 0}, {"session(nodes=1)", 6, 6}, {"session(nodes=2)", 2, 4}} {
		rec := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), cell(t, "prefix", "lru", test.router, "",
			test.size))
		if got := rec.Int(metric.Hits); got != test.hits {
			t.Errorf("%s of %d blocks: %d hits, want %d", test.router, test.size, got, test.hits)
		}
	}
}

// TestPromptsInFlightWithoutAModel: concurrency on each node, of all nodes together, in the order of the trace.
func TestPromptsInFlightWithoutAModel(t *testing.T) {
	tr := policytest.Prompts(16, "a", "b", "c", "d", "e", "f", "g")
	k, l := cluster(t, tr, "round-robin(nodes=2)", "prefix(concurrency=2)", 9, false)
	var counts cache.Counts
	k.Serve(cache.WindowOf(tr, 0, len(tr.Objects), false, nil), &counts)
	if want := []int{1, 1, 1, 0, 0, 0, 0}; !slices.Equal(l.ended, want) {
		t.Errorf("ended %v, want %v: the last 2 x 2 run", l.ended, want)
	}
	if k.Prompts(0) != 2 || k.Prompts(1) != 2 || k.Waiting(0) != 0 || k.Tokens(0) != 32 {
		t.Errorf("node 0 has %d prompts of %d tokens, node 1 %d", k.Prompts(0), k.Tokens(0), k.Prompts(1))
	}
	if got := k.Usage(0); got != 2./9 {
		t.Errorf("%v of node 0 is in use, want 2 of 9 blocks", got)
	}
}

// TestResultsDependOnTheSeedAlone: routers that make random choices have others with another seed.
func TestResultsDependOnTheSeedAlone(t *testing.T) {
	tr := randomPrompts(rand.New(rand.NewPCG(1, 5)), 200, 6, 4)
	for _, router := range routers(t, "4") {
		c := cell(t, "prefix", "lru", router, "", 20)
		hits := func(seed uint64) int64 {
			c.Seed = seed
			return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c).Int(metric.Hits)
		}
		seen := map[int64]bool{}
		for seed := range uint64(5) {
			first := hits(seed)
			if again := hits(seed); again != first {
				t.Errorf("%s: two replays have %d and %d hits", router, first, again)
			}
			seen[first] = true
		}
		if c.Random() != (len(seen) > 1) {
			t.Errorf("%s: random %v, but %d different results with 5 seeds", router, c.Random(), len(seen))
		}
	}
}

func TestRoutersAreChecked(t *testing.T) {
	tr := policytest.Prompts(16, "a", "b")
	prompts.Of(tr.Kind).Arrivals = nil
	for _, test := range []struct{ kind, policy, router, want string }{
		{"exact", "lru", "round-robin(nodes=2)", "add --cache prefix"},
		{"prefix", "opt", "round-robin(nodes=2)", "not on which node"},
		{"prefix", "laru", "round-robin(nodes=2)", "predictor noisy knows when a block"},
		{"prefix", "lru", "session(nodes=2)", "does not name them"},
		{"prefix", "lru", "hash(nodes=2,by=session)", "does not name them"},
		{"prefix", "lru", "round-robin(nodes=2@0s+1@1s)", "has no times"},
	} {
		err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(cell(t, test.kind, test.policy, test.router, "", 5))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s in %s with %s: %v, want an error with %q", test.policy, test.kind, test.router, err, test.want)
		}
	}
	c := cell(t, "prefix", "lru", "round-robin(nodes=2@0s+1@1s)", "prefill(model=qwen3-8b)", 5)
	if err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(c); err != nil {
		t.Errorf("a model has a clock: %v", err)
	}
}

// TestReplayDoesNotAllocate: prompts on nodes allocate nothing once there are nodes.
func TestReplayDoesNotAllocate(t *testing.T) {
	tr := randomPrompts(rand.New(rand.NewPCG(1, 6)), 400, 6, 4)
	for _, router := range routers(t, "4") {
		k, _ := cluster(t, tr, router, "prefix(concurrency=2)", 40, false)
		var n cache.Counts
		half := tr.Groups[200]
		k.Serve(cache.WindowOf(tr, 0, half, false, nil), &n)
		i := 200
		allocated := testing.AllocsPerRun(100, func() {
			k.Serve(cache.WindowOf(tr, tr.Groups[i], tr.Groups[i+1], false, nil), &n)
			i++
		})
		if allocated > 0 {
			t.Errorf("%s allocates %v times per prompt", router, allocated)
		}
	}
}

// TestNodesAreNotReplayedInOnePass: LRU's reuse distances are those of one cache.
func TestNodesAreNotReplayedInOnePass(t *testing.T) {
	tr := randomPrompts(rand.New(rand.NewPCG(1, 7)), 60, 6, 4)
	r := sim.NewReplayer(tr, sim.ReplayerOptions{})
	var cells []sim.Cell
	for _, size := range []int64{5, 10, 20} {
		c := cell(t, "prefix", "lru", "round-robin(nodes=2)", "", size)
		c.OnePass = true
		cells = append(cells, c)
	}
	jobs := r.Jobs(cells)
	if len(jobs) != len(cells) {
		t.Fatalf("%d jobs for %d cells", len(jobs), len(cells))
	}
	for i, job := range jobs {
		rec := must.Get(r.ReplayJob(t.Context(), job))(t)[0]
		cells[i].OnePass = false
		want := simtest.Replay(t, r, cells[i])
		if rec.Int(metric.Hits) != want.Int(metric.Hits) || !rec.Has(replicas.NodeCount) {
			t.Errorf("capacity %s: %d hits, want %d", cells[i].Capacity, rec.Int(metric.Hits), want.Int(metric.Hits))
		}
	}
}
