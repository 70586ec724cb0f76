package sim

import (
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// A query is answered by the most similar resident entry, and what answers is what is touched.
func TestSemanticTouchesTheNearest(t *testing.T) {
	// Query 0 and 1 are entries; 2 is closer to 0 than to 1, though both would do. 3 then pushes out 1, so that 4, which only 1 answers, misses.
	pairs := []similarity.Pair{{A: 0, B: 2, Similarity: 0.95}, {A: 1, B: 2, Similarity: 0.9}, {A: 1, B: 4, Similarity: 0.9}}
	cache := newSemanticCache(t, "semantic", "lru", 2, []policies.Object{0, 1, 2, 3, 4}, pairs)
	var n Counts
	cache.Serve(Window{Objects: []policies.Object{1, 0, 2, 3, 4}}, &n)
	if want := (Counts{Requests: 5, Hits: 1, Evictions: 2}); n != want {
		t.Errorf("counts %+v, want %+v", n, want)
	}
}

func newSemanticCache(t *testing.T, cache, policy string, capacity int64, objects []policies.Object, pairs []similarity.Pair) Cache {
	t.Helper()
	spec, err := ParseCache(cache)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, o := range objects {
		n = max(n, int(o)+1)
	}
	c, err := spec.Entry.New(CacheConfig{
		Trace: &traces.Trace{Objects: objects, NumObjects: n}, Capacity: capacity, Unit: true, Params: spec.Params, Policy: mustSpec(policy),
		Neighbours: similarity.NewNeighbours(n, 0, pairs),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
