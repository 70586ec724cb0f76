package replicas_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// pastPredictors know nothing of the future; gbm trains early and often.
var pastPredictors = []string{"ewma", "popu", "pleco", "none", "auto",
	"gbm(retrain=20,window=200,trees=4,leaves=4,budget=1ms)"}

// predicted returns the policies that use predictions and need no labels of an optimum, as users write them.
func predicted() (all []string) {
	for _, e := range policies.Registry.All() {
		if policies.Can[policies.PredictorUser](e) && e.Name != "fpb-binary" {
			all = append(all, policytest.Spec(e))
		}
	}
	return append(all, "laru(mode=async,latency=7)")
}

// predictedCell is a cell whose policy asks a predictor.
func predictedCell(t must.TB, kind, policy, predictor, router, model string, size int64) sim.Cell {
	t.Helper()
	c := cell(t, kind, policy, router, model, size)
	c.Predictor = new(must.Get(predict.Registry.Parse(predictor))(t))
	return c
}

// TestOneNodePredictsAsNoRouter: on one node, policies with predictions have the hits, predictions and latencies of no
// router, prompt by prompt, under every predictor that knows only the past.
func TestOneNodePredictsAsNoRouter(t *testing.T) {
	trained := int64(0)
	for seed := range brief.Of[uint64](12, 3) {
		rng := rand.New(rand.NewPCG(seed, 61))
		tr := randomPrompts(rng, 120, 6, 4)
		size, warmup := int64(2+rng.IntN(20)), rng.IntN(20)
		for _, policy := range predicted() {
			kinds := []string{"prefix", "prefix(concurrency=3)", "prefix(evict=node)", "tiers(host=2x,remote=5x)",
				"tiers(host=2x,mode=write-through)"}
			if policy == "laru(mode=async,latency=7)" {
				kinds = []string{"prefix(evict=any)"}
			}
			kind, model := kinds[rng.IntN(len(kinds))], ""
			if rng.IntN(3) == 0 && kind != "prefix(concurrency=3)" {
				model = "prefill(model=qwen3-8b,arrivals=trace,concurrency=2)"
			}
			predictor := pastPredictors[rng.IntN(len(pastPredictors))]
			replay := func(shared, router string) sim.Result {
				of := kind
				if shared != "" {
					of = kind[:len(kind)-1] + shared + ")"
				}
				c := predictedCell(t, of, policy, predictor, router, model, size)
				c.Series.Requests = 1 // a prompt has a window of its own
				return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}), c)
			}
			want := replay("", "")
			shares := []string{""}
			if kind[0] == 't' {
				shares = append(shares, ",shared=host")
			}
			for _, shared := range shares {
				router := routers(t, "1")[rng.IntN(10)]
				got, what := replay(shared, router), fmt.Sprint(seed, policy, predictor, kind, shared, model, router)
				if !slices.Equal(got.Series, want.Series) || len(got.Series) == 0 {
					t.Fatalf("%s: the prompts differ from those without a router", what)
				}
				for name := range want.Values.Names() {
					a, _ := want.Get(name)
					if b, ok := got.Get(name); a != b || !ok {
						t.Fatalf("%s: %s is %v, want %v", what, name, b, a)
					}
				}
			}
			trained += want.Int(predict.TrainingsMetric)
		}
	}
	if trained == 0 {
		t.Error("no predictor has trained a model")
	}
}

// part returns some prompts of a trace, with the numbers that their blocks have.
func part(tr *traces.Trace, has func(prompt int) bool) *traces.Trace {
	all := prompts.Of(tr.Kind)
	own := *all
	own.InputTokens, own.Arrivals, own.Sessions = nil, nil, nil
	part := &traces.Trace{Name: "part", NumObjects: tr.NumObjects, Kind: &own, SampleRate: 1}
	for i := range tr.Groups {
		if !has(i) {
			continue
		}
		blocks, _ := tr.Group(i)
		part.Groups = append(part.Groups, len(part.Objects))
		part.Objects = append(part.Objects, blocks...)
		own.InputTokens = append(own.InputTokens, all.InputTokens[i])
		own.Arrivals = append(own.Arrivals, all.Arrivals[i])
		own.Sessions = append(own.Sessions, all.Sessions[i])
		for range blocks {
			part.Times = append(part.Times, all.Arrivals[i])
		}
	}
	return part
}

// TestNodesPredictByThemselves: a node to which every other prompt comes has the hits of these prompts in one cache
// without a router, under all policies and predictors, with the node's seed: its predictor observes nothing else.
func TestNodesPredictByThemselves(t *testing.T) {
	const nodes = 3
	differ := 0
	for seed := range brief.Of[uint64](8, 2) {
		rng := rand.New(rand.NewPCG(seed, 62))
		tr := randomPrompts(rng, 240, 6, 4)
		size := int64(2 + rng.IntN(12))
		for _, policy := range predicted() {
			kind := []string{"prefix", "prefix(evict=node)", "tiers(host=2x)"}[rng.IntN(3)]
			if policy == "laru(mode=async,latency=7)" {
				kind = "prefix(evict=any)"
			}
			predictor := pastPredictors[rng.IntN(len(pastPredictors))]
			what := fmt.Sprint(seed, policy, predictor, kind)
			got := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
				predictedCell(t, kind, policy, predictor, "round-robin(nodes=3)", "", size))
			hits := int64(0)
			for node := range nodes {
				c := predictedCell(t, kind, policy, predictor, "", "", size)
				if c.Seed ^= uint64(node) * random.Golden; kind[0] == 't' {
					c.Seed ^= uint64(node)*random.Golden ^ uint64(node)<<8*random.Golden
				}
				want := simtest.Replay(t, sim.NewReplayer(part(tr, func(i int) bool { return i%nodes == node }),
					sim.ReplayerOptions{}), c)
				tokens := named(got, replicas.NodeHitTokens.Of(strconv.Itoa(node)))
				if tokens != want.Float(prefix.HitTokens) {
					t.Errorf("%s: %v tokens hit on node %d, %v in a cache of its own", what, tokens, node,
						want.Float(prefix.HitTokens))
				}
				hits += want.Int(metric.Hits)
			}
			if got.Int(metric.Hits) != hits {
				t.Errorf("%s: %d blocks hit, %d in caches of their own", what, got.Int(metric.Hits), hits)
			}
			if one := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
				cell(t, kind, "lru", "round-robin(nodes=3)", "", size)); one.Int(metric.Hits) != hits {
				differ++
			}
		}
	}
	if differ < 5 {
		t.Errorf("predictions made a difference in %d cells only", differ)
	}
}

// TestPredictorsOfNodesThatComeAndGo: the same nodes come and go with the same hits, and blocks on them are lost.
func TestPredictorsOfNodesThatComeAndGo(t *testing.T) {
	tr := randomPrompts(rand.New(rand.NewPCG(1, 63)), 300, 6, 4)
	for _, kind := range []string{"prefix", "tiers(host=2x)", "tiers(host=2x,remote=9x,shared=remote)"} {
		for _, predictor := range pastPredictors {
			replay := func(router string) sim.Result {
				return simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
					predictedCell(t, kind, "fpb", predictor, router, "", 12))
			}
			changing := replay("hash(nodes=3@0s+1@9s+3@20s,blocks=2)")
			if again := replay("hash(nodes=3@0s+1@9s+3@20s,blocks=2)"); again.Int(metric.Hits) != changing.Int(metric.Hits) {
				t.Errorf("%s, %s: %d hits, then %d", kind, predictor, changing.Int(metric.Hits), again.Int(metric.Hits))
			}
			if lost := changing.Int(replicas.BlocksLost); lost == 0 {
				t.Errorf("%s, %s: no block is lost", kind, predictor)
			}
		}
	}
}

// TestNodesThatComeBackLearnAnew: a node that is removed and added again has the hits of two caches, each with the
// prompts of one of its lives: nothing of the first is left in the second, neither blocks nor what was learned.
func TestNodesThatComeBackLearnAnew(t *testing.T) {
	tr := randomPrompts(rand.New(rand.NewPCG(3, 64)), 240, 6, 4)
	columns := prompts.Of(tr.Kind)
	var lives []int // per prompt: 0 for the node that stays, 1 and 2 for the lives of the other
	for i, next := 0, 0; i < len(tr.Groups); i++ {
		columns.Arrivals[i] = int64(i) * int64(100*time.Millisecond)
		nodes, life := 2, 1
		if i >= 90 {
			nodes = 1
		}
		if i >= 140 {
			nodes, life = 2, 2
		}
		node := next % nodes
		next = node + 1
		lives = append(lives, node*life)
		blocks, first := tr.Group(i)
		for at := range blocks {
			tr.Times[first+at] = columns.Arrivals[i]
		}
	}
	for _, kind := range []string{"prefix", "tiers(host=2x)"} {
		for _, predictor := range pastPredictors {
			got := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
				predictedCell(t, kind, "fpb", predictor, "round-robin(nodes=2@0s+1@9s+2@14s)", "", 9))
			want := [2]float64{}
			for life, node := range []int{0, 1, 1} {
				c := predictedCell(t, kind, "fpb", predictor, "", "", 9)
				if c.Seed ^= uint64(node) * random.Golden; kind[0] == 't' {
					c.Seed ^= uint64(node)*random.Golden ^ uint64(node)<<8*random.Golden
				}
				own := part(tr, func(i int) bool { return lives[i] == life })
				want[node] += simtest.Replay(t, sim.NewReplayer(own, sim.ReplayerOptions{}), c).Float(prefix.HitTokens)
			}
			for node, tokens := range want {
				if hit := named(got, replicas.NodeHitTokens.Of(strconv.Itoa(node))); hit != tokens || hit == 0 {
					t.Errorf("%s, %s: %v tokens hit on node %d, %v in caches of their own", kind, predictor, hit, node, tokens)
				}
			}
		}
	}
}

// TestPredictorsThatKnowTheFutureAreRefused: nobody knows to which node the next request of a block comes.
func TestPredictorsThatKnowTheFutureAreRefused(t *testing.T) {
	tr := policytest.Prompts(16, "a", "b")
	for _, predictor := range []string{"oracle", "noisy(p=0.3)", "written(next=1)"} {
		c := predictedCell(t, "prefix", "laru", predictor, "round-robin(nodes=2)", "", 5)
		must.Fail(t, sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(c),
			"but not on which node; use another, such as gbm", predictor)
	}
}
