package tiers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// naiveHierarchy is a hierarchy that a test can search.
type naiveHierarchy interface {
	request(o uint32) (at int)
	all() [][]uint32
}

func (n *naiveLRU) all() [][]uint32 { return n.tiers }

// TestLookupsAgainstNaive: a request that only looks hits in any tier, and moves its object up as any hit does. If no
// tier has the object, nothing changes: it is loaded into none, and a prefetcher does not see the request.
func TestLookupsAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
		tr := policytest.Trace(seed, 300, 40)
		lru := naiveLRU{sizes: rapid.SliceOfN(rapid.IntRange(1, 9), 2, 3).Draw(t, "sizes")}
		lru.tiers = make([][]uint32, len(lru.sizes))
		text := "tiers("
		for i, size := range lru.sizes {
			text += fmt.Sprintf("%s=%d,", []string{"memory", "flash", "disk"}[i], size)
		}
		naive, mode := naiveHierarchy(&lru), "exclusive"
		if rapid.Bool().Draw(t, "writes back") {
			naive, mode = &naiveWriteBack{naiveLRU: lru}, "write-back"
		}
		c := newCache(t, tr, text+"mode="+mode+")", "lru", 1, true)
		h := hierarchyOf(c)
		proposals := make([][]uint32, len(tr.Objects))
		if mode == "exclusive" && rapid.Bool().Draw(t, "prefetches") {
			proposals = drawProposals(rand.New(rand.NewPCG(seed, 47)), len(tr.Objects), tr.NumObjects)
			prefetches, o := prefetchingInto(t, configOf(t, tr, text+"mode=exclusive)", "lru", 1, true),
				&listed{proposals: proposals})
			c, h = prefetches, &o.hierarchy
		}
		hits, seen := make([]int64, len(lru.sizes)), 0
		var n cache.Counts
		for i, o := range tr.Objects {
			w := cache.WindowOf(tr, i, i+1, false, nil)
			has := slices.ContainsFunc(naive.all(), func(tier []uint32) bool { return slices.Contains(tier, o) })
			looks := rapid.Bool().Draw(t, "looks")
			if dropping := c.(cache.Dropping); looks {
				if dropping.Holds(o) != has {
					t.Fatalf("request %d: %d is held: %t", i, o, !has)
				}
				dropping.LookAll(w, &n)
			} else {
				c.Serve(w, &n)
			}
			if has || !looks {
				if at := naive.request(o); at >= 0 {
					hits[at]++
				}
				for _, o := range proposals[seen] {
					if !slices.Contains(naive.all()[0], o) {
						naive.request(o)
					}
				}
				seen++
			}
			compareTiers(t, i, tr.NumObjects, h, naive.all(), hits)
			if h.requests != int64(i+1) {
				t.Fatalf("%d requests of %d count", h.requests, i+1)
			}
		}
		all := int64(0)
		for _, k := range hits {
			all += k
		}
		if n.Requests != int64(len(tr.Objects)) || n.Hits != all {
			t.Fatalf("%d hits in %d requests, want %d in %d", n.Hits, n.Requests, all, len(tr.Objects))
		}
	})
}
