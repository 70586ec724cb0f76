package semantic_test

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"pgregory.net/rapid"
)

// drawRelated draws requests to a few queries, any two of which may be similar.
func drawRelated(t *rapid.T) related {
	n := rapid.IntRange(2, 9).Draw(t, "queries")
	var q related
	for b := range uint32(n) {
		for a := range b {
			if rapid.Bool().Draw(t, "similar") {
				similar := rapid.Float32Range(0.85, 1).Draw(t, "similarity")
				q.pairs = append(q.pairs, similarity.Pair{A: a, B: b, Similarity: similar})
			}
		}
	}
	q.objects = rapid.SliceOfN(rapid.Uint32Range(0, uint32(n-1)), 1, 40).Draw(t, "requests")
	q.objects = append(q.objects, uint32(n-1)) // so that all have a number
	return q
}

// similarTo reports whether an entry answers a query.
func (q related) similarTo(entry, query policies.Object) bool {
	return entry == query || slices.ContainsFunc(q.pairs, func(p similarity.Pair) bool {
		return p.A == min(entry, query) && p.B == max(entry, query)
	})
}

// nextSimilar returns the position of the first request after pos that an entry answers, len(q.objects) if there is
// none: by comparing it with every later request.
func (q related) nextSimilar(entry policies.Object, pos int) int {
	for at := pos + 1; at < len(q.objects); at++ {
		if q.similarTo(entry, q.objects[at]) {
			return at
		}
	}
	return len(q.objects)
}

// hitsOf replays q under a policy with a predictor.
func (q related) hitsOf(t *testing.T, policy, predictor string, capacity int64) int64 {
	q.predictor = predictor
	return q.serve(t, "semantic", simtest.Policy(t, policy), capacity).Hits
}

// With exact predictions fpb evicts the entry whose next similar request is farthest away, found by comparing all
// queries; ties go to the entry that was used longest ago.
func TestFollowingExactPredictionsEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q := drawRelated(r)
		capacity := rapid.IntRange(1, 4).Draw(r, "capacity")
		trace := &traces.Trace{Objects: q.objects, NumObjects: int(slices.Max(q.objects)) + 1}
		lists := similarity.NewNeighbours(trace.NumObjects, 0, q.pairs)
		var entries []policies.Object // the one used last at the end
		hits := int64(0)
		for pos, o := range q.objects {
			answer := slices.Index(entries, o)
			ids, _ := lists.Of(o)
			for i := 0; answer < 0 && i < len(ids); i++ {
				answer = slices.Index(entries, ids[i])
			}
			used := o
			switch {
			case answer >= 0:
				used = entries[answer]
				entries = slices.Delete(entries, answer, answer+1)
				hits++
			case len(entries) == capacity:
				farthest := 0
				for i, e := range entries {
					if q.nextSimilar(e, pos) > q.nextSimilar(entries[farthest], pos) {
						farthest = i
					}
				}
				entries = slices.Delete(entries, farthest, farthest+1)
			}
			entries = append(entries, used)
		}
		if got := q.hitsOf(t, "fpb", "oracle", int64(capacity)); got != hits {
			r.Fatalf("fpb hits %d times, comparing all queries %d times", got, hits)
		}
	})
}

// drawClasses draws requests to queries of which two are similar if they are of one class, and the same requests with
// one object for each class.
func drawClasses(t *rapid.T) (q related, merged []policies.Object) {
	n := rapid.IntRange(1, 30).Draw(t, "queries")
	classes := rapid.IntRange(1, 12).Draw(t, "classes")
	classOf := rapid.SliceOfN(rapid.IntRange(0, classes-1), n, n).Draw(t, "class")
	for b := range uint32(n) {
		for a := range b {
			if classOf[a] == classOf[b] {
				similar := rapid.Float32Range(0.85, 1).Draw(t, "similarity")
				q.pairs = append(q.pairs, similarity.Pair{A: a, B: b, Similarity: similar})
			}
		}
	}
	q.objects = rapid.SliceOfN(rapid.Uint32Range(0, uint32(n-1)), 1, 120).Draw(t, "requests")
	q.objects = append(q.objects, uint32(n-1))
	number := map[int]policies.Object{} // in the order of their first requests
	for _, o := range q.objects {
		class := classOf[o]
		if _, ok := number[class]; !ok {
			number[class] = policies.Object(len(number))
		}
		merged = append(merged, number[class])
	}
	return q, merged
}

// Where similarity is transitive, the semantic cache is the exact cache of the classes: farthest-similar is the optimum
// of these, and laru, guard and fpb decide as there, with right predictions and with wrong ones. So their guarantees
// hold as proven.
func TestClassesAreObjectsOfTheExactCache(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q, merged := drawClasses(r)
		capacity := rapid.Int64Range(1, 8).Draw(r, "capacity")
		exact := related{objects: merged}
		predictor := rapid.SampledFrom([]string{"oracle", "noisy(p=0.4)", "noisy(kind=lognormal,sigma=3)", "ewma",
			"popu"}).Draw(r, "predictor")
		for _, policy := range []string{"fpb", "laru", "laru(decay=2)", "guard", "hf"} {
			got, want := q.hitsOf(t, policy, predictor, capacity), exact.hitsOf(t, policy, predictor, capacity)
			if got != want {
				r.Fatalf("%s with %s: %d hits, %d in the exact cache of the classes", policy, predictor, got, want)
			}
		}
		optimum := exact.hitsOf(t, "farthest-similar", "", capacity)
		for _, policy := range []string{"farthest-similar", "fpb", "laru", "guard"} {
			if got := q.hitsOf(t, policy, "oracle", capacity); got != optimum {
				r.Fatalf("%s with exact predictions: %d hits, the optimum of the classes has %d", policy, got, optimum)
			}
		}
	})
}

// hub is the example of docs/policies-learned.md for a cache of two: entry 0 answers 3, the hub, which answers each of
// the leaves that follow; 1 answers nothing but itself. When 2 comes, 0 or 1 must leave. The request to 3 is next, so
// the best prediction keeps 0, and then 3 hits and never becomes the entry that would have answered all leaves.
func hub(leaves int) related {
	q := related{objects: []policies.Object{0, 1, 2, 3}, pairs: []similarity.Pair{{A: 0, B: 3, Similarity: 0.9}}}
	for leaf := range uint32(leaves) {
		q.objects = append(q.objects, 4+leaf)
		q.pairs = append(q.pairs, similarity.Pair{A: 3, B: 4 + leaf, Similarity: 0.9})
	}
	return q
}

// Where similarity is not transitive, exact predictions bound nothing: policies that follow them miss all leaves, and a
// schedule that evicts 0 misses none.
func TestExactPredictionsBoundNothing(t *testing.T) {
	for _, leaves := range []int{10, 100, 1000} {
		q := hub(leaves)
		for _, policy := range []string{"farthest-similar", "fpb", "laru", "guard", "blindoracle-lru"} {
			if hits := q.hitsOf(t, policy, "oracle", 2); hits != 1 {
				t.Errorf("%d leaves: %s hits %d times, want 1", leaves, policy, hits)
			}
		}
		if hits := q.hitsOf(t, "fifo", "", 2); hits != int64(leaves) {
			t.Errorf("%d leaves: fifo hits %d times, want all of them", leaves, hits)
		}
	}
}

// No policy that knows only the past is within a factor of the best schedule, either, though it knows all similarities:
// of two entries it keeps one, or both, and the request that follows is to the hub that this one answers. The best
// schedule evicts that entry, has the hub loaded and hits with all leaves.
func TestNothingOnlineIsCompetitive(t *testing.T) {
	const leaves, capacity = 200, 2
	forEachSemanticPolicy(t, func(t *testing.T, e policies.Entry) {
		if e.Kind != policies.Online || e.Unbounded || e.Idle {
			t.Skip("ignores the capacity, loads nothing or knows the future")
		}
		q := related{objects: []policies.Object{0, 1, 2}, predictor: "ewma", pairs: []similarity.Pair{
			{A: 0, B: 3, Similarity: 0.9}, {A: 1, B: 4, Similarity: 0.9}}}
		for leaf := range uint32(leaves) {
			q.pairs = append(q.pairs, similarity.Pair{A: 3, B: 5 + 2*leaf, Similarity: 0.9},
				similarity.Pair{A: 4, B: 6 + 2*leaf, Similarity: 0.9})
		}
		for kept := range uint32(2) {
			worst := q
			worst.objects = append(slices.Clip(q.objects), 3+kept)
			for leaf := range uint32(leaves) {
				worst.objects = append(worst.objects, 5+kept+2*leaf)
			}
			counts := worst.serve(t, "semantic", simtest.Policy(t, policytest.Spec(e)), capacity)
			if counts.Evictions > counts.Requests-counts.Hits-capacity {
				t.Skip("evicts more than it must, so that it may keep neither entry")
			}
			if counts.Hits == 1 {
				return // on the hub alone
			}
		}
		t.Errorf("it hits with the leaves of either hub")
	})
}

// An entry that leaves as the least recently used one is an old one, whatever is similar: so there are at most as many
// in a phase as the cache has entries. This part of LARU's bound needs no transitivity.
func TestLARUEvictsOldEntriesOncePerPhase(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q := drawRelated(r)
		capacity := rapid.Int64Range(1, 4).Draw(r, "capacity")
		q.predictor = rapid.SampledFrom([]string{"oracle", "noisy(p=0.5)", "noisy(p=1)"}).Draw(r, "predictor")
		trace, served := q.build(t, "semantic", simtest.Policy(t, "laru"), capacity)
		must.Get(sim.Replay(t.Context(), trace, served, sim.ReplayOptions{}))(t)
		counted := map[string]int64{}
		for _, c := range served.(cache.Reporting).Counters() {
			counted[c.Name()] = int64(c.Value)
		}
		byRecency := counted["fallback_evictions"] + counted["lru_evictions"]
		if byRecency > capacity*counted["phases"] {
			r.Fatalf("%d evictions by recency in %d phases of a cache of %d", byRecency, counted["phases"], capacity)
		}
	})
}

// A miss of a query that an entry would have answered, had a prediction not evicted it in this phase, falls back,
// though the query is new. Otherwise one entry that is wrongly kept would cost a miss per request.
func TestLARUFallsBackOnNewQueries(t *testing.T) {
	q := related{predictor: "written(next=1 - - - - - - - - - - - - - - - - - - - - -)"}
	q.objects = []policies.Object{0} // predicted to be requested next, and never requested again
	for turn := range uint32(10) {   // queries of two classes in turn, all new
		q.objects = append(q.objects, 1+2*turn, 2+2*turn)
		for earlier := range turn {
			q.pairs = append(q.pairs, similarity.Pair{A: 1 + 2*earlier, B: 1 + 2*turn, Similarity: 0.9},
				similarity.Pair{A: 2 + 2*earlier, B: 2 + 2*turn, Similarity: 0.9})
		}
	}
	if hits := q.serve(t, "semantic", simtest.Policy(t, "fpb"), 2).Hits; hits != 0 {
		t.Errorf("fpb hits %d times, want 0: it keeps 0 for ever", hits)
	}
	if hits := q.serve(t, "semantic", simtest.Policy(t, "laru"), 2).Hits; hits < 16 {
		t.Errorf("laru hits %d times, want 16 or more", hits)
	}
}
