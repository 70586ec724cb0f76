package sim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// A query is answered by the most similar resident entry, and what answers is what is touched.
func TestSemanticTouchesTheNearest(t *testing.T) {
	// 0 and 1 are entries; 2 is closer to 0 than to 1, though both would do. 3 then pushes out 1, so that 4, which only 1
	// answers, misses.
	pairs := []similarity.Pair{{A: 0, B: 2, Similarity: 0.95}, {A: 1, B: 2, Similarity: 0.9},
		{A: 1, B: 4, Similarity: 0.9}}
	n := serveSemantic(t, "semantic", "lru", 2, []policies.Object{1, 0, 2, 3, 4}, pairs)
	if want := (cache.Counts{Requests: 5, Hits: 1, Evictions: 2}); n != want {
		t.Errorf("counts %+v, want %+v", n, want)
	}
}

// Of equally similar entries the one answers that came first in the trace, whichever was loaded last.
func TestSemanticTouchesTheFirstOfEquals(t *testing.T) {
	pairs := []similarity.Pair{{A: 0, B: 2, Similarity: 0.9}, {A: 1, B: 2, Similarity: 0.9}, {A: 1, B: 4, Similarity: 0.9}}
	n := serveSemantic(t, "semantic", "lru", 2, []policies.Object{0, 1, 2, 3, 4}, pairs)
	if want := (cache.Counts{Requests: 5, Hits: 1, Evictions: 2}); n != want {
		t.Errorf("counts %+v, want %+v: 2 is to touch 0, so that 3 pushes out 1", n, want)
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
	r := pairsReplayer([]policies.Object{0, 1, 2, 3, 4, 0, 5, 6}, pairs,
		&queries.Columns{Answers: []int32{7, 7, 8, -1, 8, -1, 9}}, 0)
	n := countsOf(t, r, queryCell(t, "semantic", "lru", 5))
	if want := (cache.Counts{Requests: 8, Hits: 6, Labelled: 6, LabelledHits: 4, WrongHits: 2}); n != want {
		t.Errorf("counts %+v, want %+v", n, want)
	}
}

// serveSemantic replays queries of which these pairs are similar.
func serveSemantic(t *testing.T, kind, policy string, capacity int64, objects []policies.Object,
	pairs []similarity.Pair) cache.Counts {
	t.Helper()
	r := pairsReplayer(objects, pairs, &queries.Columns{}, 0)
	return countsOf(t, r, queryCell(t, kind, policy, capacity))
}

// pairsReplayer returns a replayer of queries of which these pairs are similar, instead of those that embeddings give.
func pairsReplayer(objects []policies.Object, pairs []similarity.Pair, queries *queries.Columns, warmup int) *Replayer {
	n := int(slices.Max(objects)) + 1
	r := NewReplayer(&traces.Trace{Objects: objects, NumObjects: n, Kind: queries}, ReplayerOptions{Warmup: warmup})
	r.similar.have = similarity.NewNeighbours(n, 0, pairs)
	return r
}

func countsOf(t *testing.T, r *Replayer, c Cell) cache.Counts {
	t.Helper()
	out := must.Get(r.replayOne(t.Context(), c))(t)
	return countsIn(out[0].values)
}

// queryTrace is a random trace of n queries, some of them repeated. Their embeddings lie around a few directions, so
// that many are similar and similarity is not transitive; every fifth has no label.
func queryTrace(seed uint64, n, topics int, spread float64) *traces.Trace {
	const dim = 6
	rng := rand.New(rand.NewPCG(seed, 6))
	direction := func() (v [dim]float64) {
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	var centers [][dim]float64
	for range topics {
		centers = append(centers, direction())
	}
	t := &traces.Trace{Name: "queries", SampleRate: 1, Kind: &queries.Columns{Dim: dim, NumTopics: topics,
		NumAnswers: 3 * topics}}
	q := queries.Of(t.Kind)
	for i := range n {
		t.Times = append(t.Times, int64(i)*1e9)
		if i > 0 && rng.IntN(3) == 0 {
			t.Objects = append(t.Objects, t.Objects[rng.IntN(i)])
			continue
		}
		topic := rng.IntN(topics)
		away := direction()
		vector := make([]float32, dim)
		for k := range vector {
			vector[k] = float32(centers[topic][k] + spread*away[k])
		}
		if err := queries.Normalize(vector); err != nil {
			panic(err)
		}
		q.Vectors = append(q.Vectors, vector...)
		q.Topics = append(q.Topics, int32(topic))
		q.Answers = append(q.Answers, int32(3*topic+rng.IntN(3)))
		if t.NumObjects%5 == 4 {
			q.Answers[t.NumObjects] = -1
		}
		t.Objects = append(t.Objects, uint32(t.NumObjects))
		t.NumObjects++
	}
	return t
}

// queryCell is a cell in a cache of queries.
func queryCell(t *testing.T, kind, policy string, size int64) Cell {
	t.Helper()
	spec := must.Get(cache.Registry.Parse(kind))(t)
	c := cellOf(t, policy, capacity.Capacity{Amount: size, Simulated: size}, 7)
	c.Cache = spec
	return c
}

// byParity is a policy whose topics are the even and the odd objects.
type byParity struct{ policies.Policy }

func (byParity) InScope(r policies.Request, o policies.Object) bool { return (r.Query^o)&1 == 0 }

// With scope=topic the nearest entry of the topic answers, and none of another.
func TestSemanticScope(t *testing.T) {
	pairs := []similarity.Pair{{A: 0, B: 2, Similarity: 0.9}, {A: 1, B: 2, Similarity: 0.95},
		{A: 0, B: 3, Similarity: 0.9}}
	r := pairsReplayer([]policies.Object{0, 1, 2, 3, 1}, pairs, &queries.Columns{}, 0)
	c := queryCell(t, "semantic(scope=topic)", "lru", 2)
	build := c.Policy.Entry.New
	c.Policy.Entry.New = func(config policies.Config) (policies.Policy, error) {
		p, err := build(config)
		return byParity{p}, err
	}
	// 2 touches 0, though 1 is nearer, so that 3, which 0 does not answer, pushes out 1.
	if got, want := countsOf(t, r, c), (cache.Counts{Requests: 5, Hits: 1, Evictions: 2}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	for _, reference := range References(c) {
		if n := countsOf(t, r, reference); n.Hits < 1 {
			t.Errorf("%s in %s: %+v", reference.Policy, reference.Cache, n)
		}
	}
}

// By identity, too, strict RAC goes by the threshold that the cache names, and not by the labels of the trace.
func TestStrictRACByIdentity(t *testing.T) {
	pairs := []similarity.Pair{{A: 0, B: 1, Similarity: 0.95}, {A: 0, B: 2, Similarity: 0.8}}
	r := pairsReplayer([]policies.Object{0, 1, 2}, pairs, &queries.Columns{Topics: []int32{0, 0, 0}, NumTopics: 1}, 0)
	c := queryCell(t, "semantic(tau=0.9,match=identity)", "rac(strict=true)", 3)
	if from, ok := similarFrom(c); from != 0.9 || !ok {
		t.Errorf("asks for similarities from %v (%v), want 0.9", from, ok)
	}
	out := must.Get(r.replayOne(t.Context(), c))(t)
	// 1 joins the topic of 0, and 2 founds one.
	for name, want := range map[string]int64{"topics_alive": 2, "routed": 1} {
		if got, ok := out[0].values.GetInt(name); !ok || got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}
