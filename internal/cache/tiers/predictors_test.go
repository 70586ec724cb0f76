package tiers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

// newPredictor returns a predictor of a trace.
func newPredictor(tb must.TB, text string, t *traces.Trace, capacity int64, seed uint64) predict.Predictor {
	tb.Helper()
	spec := must.Get(predict.Registry.Parse(text))(tb)
	next := policytest.NextUse(t)
	return must.Get(spec.Entry.New(predict.Config{
		Objects: t.Objects, Count: t.NumObjects, Groups: t.Groups, Times: t.Times, Depth: t.Depths(), NextUse: next,
		OptEvicts: func() []bool { return policies.OptEvicts(t.Objects, t.NumObjects, next, capacity) },
		Seed:      seed, Params: spec.Params,
	}))(tb)
}

// predicting gives a config predictors.
func predicting(tb must.TB, c cache.Config, text string) cache.Config {
	tb.Helper()
	c.Predictor = newPredictor(tb, text, c.Trace, c.Capacity, c.Seed)
	c.FurtherPredictor = func(seed uint64) (predict.Predictor, error) {
		return newPredictor(tb, text, c.Trace, c.Capacity, seed), nil
	}
	return c
}

// TestFirstOfSeveralTiersPredicts: where every request brings its object to the first tier, that has the hits of the
// cache alone, for every policy with predictions. Of prompts that fails for trust-doubt, which simulates caches that
// serve a prompt block by block, and so asks for predictions within it.
func TestFirstOfSeveralTiersPredicts(t *testing.T) {
	for seed := range brief.Of[uint64](6, 2) {
		for kind, tr := range map[string]*traces.Trace{"exact": policytest.Trace(seed, 400, 50),
			"prefix": policytest.RandomPrompts(rand.New(rand.NewPCG(seed, 41)), 80, 6, 4)} {
			policytest.ForEach(t, false, func(t *testing.T, e policies.Entry) {
				if !policies.Can[policies.PredictorUser](e) || e.Name == "trust-doubt" && kind == "prefix" {
					t.Skip("uses no predictor, or uses it within a prompt")
				}
				size := policytest.CapacityFor(e, 12)
				alone := predicting(t, configOf(t, tr, kind, policytest.Spec(e), size, true), "noisy(p=0.3)")
				want := serveAll(tr, must.Get(must.Get(cache.Registry.Parse(kind))(t).Entry.New(alone))(t), false)
				text := fmt.Sprintf("tiers(hbm=%d,host=%d,ssd=30)", size, size+3)
				c := must.Get(build(predicting(t, configOf(t, tr, text, policytest.Spec(e), size, true), "noisy(p=0.3)")))(t)
				n := serveAll(tr, c, false)
				if got := hierarchyOf(c).levels[0].hits; got != want.Hits || n.Hits <= want.Hits {
					t.Errorf("%s: %d hits in the first tier of %d, %d alone", kind, got, n.Hits, want.Hits)
				}
			})
		}
	}
}

// naivePredicted are lists of objects, the one that came last in front, for exclusive tiers that evict what is
// requested last, and on a tie what came first.
type naivePredicted struct {
	naiveLRU
	objects []uint32
	pos     int
}

// next returns when an object is requested after the request at n.pos.
func (n *naivePredicted) next(o uint32) int {
	if at := slices.Index(n.objects[n.pos+1:], o); at >= 0 {
		return at
	}
	return len(n.objects)
}

func (n *naivePredicted) request(o uint32) (at int) {
	at = slices.IndexFunc(n.tiers, func(tier []uint32) bool { return slices.Contains(tier, o) })
	if at >= 0 {
		n.tiers[at] = slices.DeleteFunc(n.tiers[at], func(other uint32) bool { return other == o })
	}
	for i := range n.tiers {
		if len(n.tiers[i]) < n.sizes[i] {
			n.tiers[i] = slices.Insert(n.tiers[i], 0, o)
			break
		}
		victim := 0
		for k, other := range n.tiers[i] {
			if n.next(other) >= n.next(n.tiers[i][victim]) {
				victim = k
			}
		}
		left := n.tiers[i][victim]
		n.tiers[i] = slices.Insert(slices.Delete(n.tiers[i], victim, victim+1), 0, o)
		o = left
	}
	return at
}

// TestPredictedTiersAgainstNaive: with exact predictions, every tier evicts what is requested last, wherever that was
// requested.
func TestPredictedTiersAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := policytest.Trace(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), 200, 40)
		n := naivePredicted{naiveLRU: naiveLRU{sizes: rapid.SliceOfN(rapid.IntRange(1, 9), 3, 3).Draw(t, "sizes")},
			objects: tr.Objects}
		n.tiers = make([][]uint32, len(n.sizes))
		text := fmt.Sprintf("tiers(memory=%d,flash=%d,disk=%d)", n.sizes[0], n.sizes[1], n.sizes[2])
		c := must.Get(build(predicting(t, configOf(t, tr, text, "fpb", 1, true), "oracle")))(t)
		h, hits := hierarchyOf(c), make([]int64, len(n.sizes))
		serveEach(tr, c, false, func(i int, _ cache.Counts) {
			n.pos = i
			if at := n.request(tr.Objects[i]); at >= 0 {
				hits[at]++
			}
			compareTiers(t, i, tr.NumObjects, h, n.tiers, hits)
		})
	})
}

// observed records what a predictor observes, and whether it was asked about the past.
type observed struct {
	predict.Predictor
	objects []predict.Object
	t       *testing.T
}

func (p *observed) Observe(o predict.Object, pos int) {
	if pos != len(p.objects) {
		p.t.Errorf("observes position %d after %d requests", pos, len(p.objects))
	}
	p.objects = append(p.objects, o)
	p.Predictor.Observe(o, pos)
}

func (p *observed) Predict(objects []predict.Object, pos int, next []float64) {
	if pos != len(p.objects) {
		p.t.Errorf("predicts as of %d after %d requests", pos, len(p.objects))
	}
	p.Predictor.Predict(objects, pos, next)
}

// TestPredictorsOfTiers: the predictor of each tier observes every request once and in order, whichever tier serves it,
// and has a seed of its own.
func TestPredictorsOfTiers(t *testing.T) {
	for what, tr := range map[string]*traces.Trace{"objects": policytest.Trace(2, 500, 60),
		"prompts": policytest.RandomPrompts(rand.New(rand.NewPCG(2, 43)), 90, 6, 4)} {
		for _, mode := range []string{exclusive, inclusive, writeThrough, writeBack} {
			for _, promote := range []int{0, 1, 3} {
				text := fmt.Sprintf("tiers(hbm=7,host=10,ssd=20,mode=%s,promote=%d,policies=//lru)", mode, promote)
				c := predicting(t, configOf(t, tr, text, "fpb", 7, true), "noisy(p=0.5)")
				first := &observed{Predictor: c.Predictor, t: t}
				all, seeds := []*observed{first}, []uint64{c.Seed}
				c.Predictor = first
				further := c.FurtherPredictor
				c.FurtherPredictor = func(seed uint64) (predict.Predictor, error) {
					p := &observed{Predictor: must.Get(further(seed))(t), t: t}
					all, seeds = append(all, p), append(seeds, seed)
					return p, nil
				}
				serveAll(tr, must.Get(build(c))(t), false)
				if len(all) != 2 || seeds[0] == seeds[1] {
					t.Fatalf("%s: %d predictors for two policies that use one, with seeds %v", text, len(all), seeds)
				}
				var said [2][]float64
				everything := make([]predict.Object, tr.NumObjects)
				for o := range everything {
					everything[o] = predict.Object(o)
				}
				for i, p := range all {
					if !slices.Equal(p.objects, tr.Objects) {
						t.Errorf("%s, %s: predictor %d observes %v", what, text, i, p.objects)
					}
					said[i] = make([]float64, len(everything))
					p.Predict(everything, len(tr.Objects), said[i])
				}
				if slices.Equal(said[0], said[1]) {
					t.Errorf("%s, %s: the predictors of both tiers make the same errors", what, text)
				}
			}
		}
	}
}

// TestPredictorsOfNodes: the predictor of a tier observes what comes to its node, once and in order, that of a tier
// which all nodes share what comes to any node; each knows at which positions prompts begin there, and has a seed of
// its own.
func TestPredictorsOfNodes(t *testing.T) {
	for _, mode := range []string{exclusive, inclusive, writeThrough, writeBack} {
		rng := rand.New(rand.NewPCG(4, 71))
		tr := policytest.RandomPrompts(rng, 90, 6, 4)
		k := emptyNodes(t, tr, "tiers(hbm=7,host=10,remote=20,shared=remote,mode="+mode+")", "fpb", 7, 0)
		var all []*observed
		var groups [][]int
		var seeds []uint64
		k.config.NodePredictor = func(begins []int, seed uint64) (predict.Predictor, error) {
			p := &observed{Predictor: newPredictor(t, "ewma", tr, 7, seed), t: t}
			all, groups, seeds = append(all, p), append(groups, begins), append(seeds, seed)
			return p, nil
		}
		on := []*chains{must.Get(k.New(0))(t).(*chains), must.Get(k.New(1))(t).(*chains)}
		var sum cache.Counts
		var objects [3][]predict.Object // of node 0, of node 1, of both
		var begins [3][]int
		for i := range tr.Groups {
			node := rng.IntN(2)
			blocks, _ := tr.Group(i)
			for _, at := range []int{node, 2} {
				begins[at] = append(begins[at], len(objects[at]))
				objects[at] = append(objects[at], blocks...)
			}
			on[node].Begin(i, &sum)
			on[node].Finish(i)
		}
		hbm, host, remote, hbm1, host1 := 0, 1, 2, 3, 4 // in the order in which tiers are built
		if len(all) != 5 {
			t.Fatalf("%s: %d predictors, want one for each tier of two nodes and one for what they share", mode, len(all))
		}
		for p, of := range map[int]int{hbm: 0, host: 0, remote: 2, hbm1: 1, host1: 1} {
			if !slices.Equal(all[p].objects, objects[of]) {
				t.Errorf("%s: predictor %d observes %v, want %v", mode, p, all[p].objects, objects[of])
			}
			n := len(begins[of])
			if !slices.Equal(groups[p][:n], begins[of]) || n < len(tr.Groups) && groups[p][n] != len(objects[of]) {
				t.Errorf("%s: predictor %d has prompts that begin at %v, want %v", mode, p, groups[p], begins[of])
			}
		}
		if slices.Sort(seeds); len(slices.Compact(seeds)) != 5 {
			t.Errorf("%s: predictors have the seeds %v", mode, seeds)
		}
		if on[0].levels[2].hits == 0 {
			t.Errorf("%s: nothing hits in the shared tier", mode)
		}
	}
}
