package semantic_test

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// A query is answered by the most similar resident entry, and what answers is what is touched.
func TestSemanticTouchesTheNearest(t *testing.T) {
	// 0 and 1 are entries; 2 is closer to 0 than to 1, though both would do. 3 then evicts 1, so that 4, which only 1
	// answers, misses.
	pairs := []similarity.Pair{{A: 0, B: 2, Similarity: 0.95}, {A: 1, B: 2, Similarity: 0.9},
		{A: 1, B: 4, Similarity: 0.9}}
	n := serveSemantic(t, "semantic", "lru", 2, []policies.Object{1, 0, 2, 3, 4}, pairs)
	if want := (cache.Counts{Requests: 5, Hits: 1, Evictions: 2}); n != want {
		t.Errorf("counts %+v, want %+v", n, want)
	}
}

// Of equally similar entries the one answers that came first in the trace, whichever was loaded last.
func TestSemanticTouchesTheFirstOfTies(t *testing.T) {
	pairs := []similarity.Pair{{A: 0, B: 2, Similarity: 0.9}, {A: 1, B: 2, Similarity: 0.9}, {A: 1, B: 4, Similarity: 0.9}}
	n := serveSemantic(t, "semantic", "lru", 2, []policies.Object{0, 1, 2, 3, 4}, pairs)
	if want := (cache.Counts{Requests: 5, Hits: 1, Evictions: 2}); n != want {
		t.Errorf("counts %+v, want %+v: 2 is to touch 0, so that 3 evicts 1", n, want)
	}
}

// The threshold itself hits, and is a float32 as similarities are: 0.85 is no such number.
func TestSemanticThreshold(t *testing.T) {
	at := float32(0.85)
	for similar, hits := range map[float32]int64{at: 1, 0.84999: 0, 0.86: 1} {
		n := serveSemantic(t, "semantic(tau=0.85)", "lru", 2, []policies.Object{0, 1},
			[]similarity.Pair{{A: 0, B: 1, Similarity: similar}})
		if n.Hits != hits {
			t.Errorf("similarity %v: %d hits, want %d", similar, n.Hits, hits)
		}
	}
	// Different queries with the same embedding.
	if n := serveSemantic(t, "semantic(tau=1)", "lru", 2, []policies.Object{0, 1},
		[]similarity.Pair{{A: 0, B: 1, Similarity: 1}}); n.Hits != 1 {
		t.Errorf("similarity 1, tau=1: %d hits, want 1", n.Hits)
	}
}

// infiniteIsNoBound is the example of docs/caches.md: 2 is answered by 0 as long as that is there, and so never becomes
// the entry that answers 3 and 4.
func infiniteIsNoBound() ([]policies.Object, []similarity.Pair) {
	return []policies.Object{0, 1, 2, 3, 4, 3, 4},
		[]similarity.Pair{{A: 0, B: 2, Similarity: 0.9}, {A: 2, B: 3, Similarity: 0.9}, {A: 2, B: 4, Similarity: 0.9}}
}

// More room can hit less where similar queries answer each other, even room for all.
func TestInfiniteIsNoBoundOnSemanticHits(t *testing.T) {
	objects, pairs := infiniteIsNoBound()
	infinite := serveSemantic(t, "semantic", "infinite", 7, objects, pairs)
	small := serveSemantic(t, "semantic", "lru", 1, objects, pairs)
	if infinite.Hits != 3 || small.Hits != 4 {
		t.Errorf("infinite hits %d times, one place %d times; want 3 and 4", infinite.Hits, small.Hits)
	}
}

// Hits on an entry with another label are wrong; where one of the labels is not known nothing is.
func TestSemanticCountsWrongHits(t *testing.T) {
	var pairs []similarity.Pair
	for o := uint32(1); o < 5; o++ {
		pairs = append(pairs, similarity.Pair{A: 0, B: o, Similarity: 0.9})
	}
	pairs = append(pairs, similarity.Pair{A: 5, B: 6, Similarity: 0.9})
	n := related{objects: []policies.Object{0, 1, 2, 3, 4, 0, 5, 6}, pairs: pairs,
		columns: queries.Columns{Answers: []int32{7, 7, 8, -1, 8, -1, 9}}}.serve(t, "semantic", simtest.Policy(t, "lru"), 5)
	if want := (cache.Counts{Requests: 8, Hits: 6, Labelled: 6, LabelledHits: 4, WrongHits: 2}); n != want {
		t.Errorf("counts %+v, want %+v", n, want)
	}
}

// serveSemantic serves queries of which these pairs are similar.
func serveSemantic(t *testing.T, kind, policy string, capacity int64, objects []policies.Object,
	pairs []similarity.Pair) cache.Counts {
	t.Helper()
	return related{objects: objects, pairs: pairs}.serve(t, kind, simtest.Policy(t, policy), capacity)
}

// related are requests to queries of which these pairs are similar, instead of those that embeddings would give.
type related struct {
	objects []policies.Object
	pairs   []similarity.Pair
	columns queries.Columns // with their labels
	warmup  int
	// of policies that use one; "": noisy(p=0.3)
	predictor string
}

func (q related) build(t *testing.T, kind string, policy policies.Spec, capacity int64) (*traces.Trace, cache.Cache) {
	t.Helper()
	spec := must.Get(cache.Registry.Parse(kind))(t)
	trace := &traces.Trace{Objects: q.objects, NumObjects: int(slices.Max(q.objects)) + 1, Kind: &q.columns}
	if policy.Entry.Unbounded {
		capacity = int64(trace.NumObjects)
	}
	known := q.relations(spec)
	predictor := q.predictor
	if predictor == "" {
		predictor = "noisy(p=0.3)"
	}
	return trace, must.Get(spec.Entry.New(cache.Config{Trace: trace, Capacity: capacity, Unit: true, Params: spec.Params,
		Policy: policy, Seed: 7, NextUse: func() []uint32 { return policytest.NextUse(trace) }, Neighbours: known.Similar,
		Relations: known, Predictor: predictorOf(t, trace, policy, predictor, known.Similar, known.HitFrom)}))(t)
}

// predictorOf returns a predictor of the next similar request for a policy that uses one.
func predictorOf(t testing.TB, trace *traces.Trace, policy policies.Spec, text string,
	similar *similarity.Neighbours, from float32) predict.Predictor {
	t.Helper()
	if !policies.Can[policies.PredictorUser](policy.Entry) {
		return nil
	}
	spec := must.Get(predict.Registry.Parse(text))(t)
	config := predict.Config{Objects: trace.Objects, Count: trace.NumObjects, Seed: 7, Params: spec.Params}
	if spec.Entry.Future {
		config.NextUse = policytest.NextUse(trace)
	}
	if from <= 1 {
		config.Similar = &predict.Similar{Lists: similar, From: from}
	}
	return must.Get(spec.Entry.New(config))(t)
}

// relations returns what the cache and its policy know.
func (q related) relations(spec cache.Spec) *policies.Relations {
	asked := cache.SimilarityOf(spec)
	n := int(slices.Max(q.objects)) + 1
	return &policies.Relations{Similar: similarity.NewNeighbours(n, 0, q.pairs), HitFrom: float32(asked.HitFrom),
		Tau: float32(asked.Tau), Topics: q.columns.Topics}
}

// serve returns the counts after the warm-up.
func (q related) serve(t *testing.T, kind string, policy policies.Spec, capacity int64) cache.Counts {
	t.Helper()
	trace, served := q.build(t, kind, policy, capacity)
	return must.Get(sim.Replay(t.Context(), trace, served, sim.ReplayOptions{Warmup: q.warmup}))(t).Counts
}

// bound returns the most hits after the warm-up that a bound permits.
func (q related) bound(t *testing.T, bound string, capacity int64) int {
	t.Helper()
	known := q.relations(must.Get(cache.Registry.Parse("semantic"))(t))
	n := int(slices.Max(q.objects)) + 1
	in := oracle.BoundInput{Objects: q.objects, NumObjects: n, NextUse: oracle.NextUse(q.objects, n), Capacity: capacity,
		From: q.warmup}
	misses := must.Get(simtest.Policy(t, bound).Entry.LowerBound(policies.BoundInput{BoundInput: in, Relations: known}))(t)
	return len(q.objects) - q.warmup - int(math.Ceil(misses))
}

// countsOf replays queries with embeddings.
func countsOf(t *testing.T, r *sim.Replayer, c sim.Cell) cache.Counts {
	t.Helper()
	return simtest.Counts(simtest.Replay(t, r, c).Values)
}

func queryCell(t *testing.T, kind, policy string, size int64) sim.Cell {
	t.Helper()
	c := simtest.Cell(t, policy, capacity.Of(size, false), "cache="+kind)
	c.Seed = 7
	return c
}

// byParity is a policy whose topics are the even and the odd objects.
type byParity struct{ policies.Policy }

func (byParity) InScope(r policies.Request, o policies.Object) bool { return (r.Query^o)&1 == 0 }

// With scope=topic the nearest entry of the topic answers, and none of another.
func TestSemanticScope(t *testing.T) {
	pairs := []similarity.Pair{{A: 0, B: 2, Similarity: 0.9}, {A: 1, B: 2, Similarity: 0.95},
		{A: 0, B: 3, Similarity: 0.9}}
	q := related{objects: []policies.Object{0, 1, 2, 3, 1}, pairs: pairs}
	c := queryCell(t, "semantic(scope=topic)", "lru", 2)
	build := c.Policy.Entry.New
	c.Policy.Entry.New = func(config policies.Config) (policies.Policy, error) {
		p, err := build(config)
		return byParity{p}, err
	}
	// 2 touches 0, though 1 is nearer, so that 3, which 0 does not answer, evicts 1.
	got := q.serve(t, c.Cache.String(), c.Policy, 2)
	if want := (cache.Counts{Requests: 5, Hits: 1, Evictions: 2}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	for _, reference := range sim.References(c) {
		hits := 0
		if reference.Policy.Entry.Kind == policies.Bound {
			hits = q.bound(t, reference.Policy.Name(), 2)
		} else {
			hits = int(q.serve(t, reference.Cache.String(), reference.Policy, 2).Hits)
		}
		if hits < 1 {
			t.Errorf("%s in %s: %d hits", reference.Policy, reference.Cache, hits)
		}
	}
}

// By identity, too, strict RAC goes by the threshold that the cache names, and not by the labels of the trace.
func TestStrictRACByIdentity(t *testing.T) {
	pairs := []similarity.Pair{{A: 0, B: 1, Similarity: 0.95}, {A: 0, B: 2, Similarity: 0.8}}
	q := related{objects: []policies.Object{0, 1, 2}, pairs: pairs,
		columns: queries.Columns{Topics: []int32{0, 0, 0}, NumTopics: 1}}
	const kind = "semantic(tau=0.9,match=identity)"
	rac := simtest.Policy(t, "rac(strict=true)")
	asked := cache.SimilarityOf(must.Get(cache.Registry.Parse(kind))(t))
	if from := rac.Entry.SimilarFrom(rac.Params, asked.HitFrom, asked.Tau); from != 0.9 {
		t.Errorf("asks for similarities from %v, want 0.9", from)
	}
	trace, served := q.build(t, kind, rac, 3)
	must.Get(sim.Replay(t.Context(), trace, served, sim.ReplayOptions{}))(t)
	// 1 joins the topic of 0, and 2 founds one.
	counted := map[string]int64{}
	for _, c := range served.(cache.Reporting).Counters() {
		counted[c.Name()] = int64(c.Value)
	}
	if counted["topics_alive"] != 2 || counted["routed"] != 1 {
		t.Errorf("%v, want 2 topics and 1 query that was routed", counted)
	}
}
