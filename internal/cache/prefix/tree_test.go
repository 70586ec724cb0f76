package prefix

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

func checkTree(tb testing.TB, c *Cache) {
	tb.Helper()
	tree := c.store.(*Tree)
	resident := func(o int) bool { return tree.pool.Resident(policies.Object(o)) }
	used, locked := 0, 0
	children := make([]uint32, len(tree.nodes))
	for o, node := range tree.nodes {
		parent := tree.parents[o]
		if node.isHeld() {
			locked++
		} else if tree.shared != nil && tree.shared[o] > 0 {
			tb.Fatalf("block %d is held by %d further prompts, but by none", o, tree.shared[o])
		}
		if node.isHeld() && !resident(o) {
			tb.Fatalf("block %d is held and not resident", o)
		}
		if !resident(o) {
			continue
		}
		used++
		if parent < 0 {
			continue
		}
		children[parent]++
		if !resident(int(parent)) {
			tb.Fatalf("block %d is resident, the one before it is not", o)
		}
	}
	for o, node := range tree.nodes {
		if node.children() != children[o] {
			tb.Fatalf("block %d has %d blocks behind it and counts %d", o, children[o], node.children())
		}
	}
	if p := tree.pool; int64(used) != p.Used() || used != p.Len() || p.Used() > p.Capacity() || locked != tree.locked {
		tb.Fatalf("%d blocks resident, %d held; counted %d, %d and %d, of a capacity of %d", used, locked, p.Used(), p.Len(),
			tree.locked, p.Capacity())
	}
}

func forEachPrefixPolicy(t *testing.T, f func(t *testing.T, kind, policy string)) {
	kinds := []string{"prefix", "prefix(evict=node)", "prefix(concurrency=3)", "prefix(evict=node,concurrency=4)"}
	for _, kind := range kinds {
		policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
			if e.Similar {
				t.Skip("knows what hits in other caches")
			}
			t.Run(kind, func(t *testing.T) { f(t, kind, policytest.Spec(e)) })
		})
	}
}

func newPrefix(tb testing.TB, tr *traces.Trace, kind, policy string, capacity int64) *Cache {
	tb.Helper()
	spec := must.Get(cache.Registry.Parse(kind))(tb)
	chosen := must.Get(policies.Registry.Parse(policy))(tb)
	next := policytest.NextUse(tr)
	config := cache.Config{
		Trace: tr, Capacity: capacity, Unit: true, Params: spec.Params, Policy: chosen, Seed: 3,
		NextUse: func() []uint32 { return next },
	}
	if chosen.Entry.Unbounded {
		config.Capacity = int64(tr.NumObjects)
	}
	if chosen.Entry.Relates {
		config.Relations = &policies.Relations{HitFrom: cache.IdentityOnly}
	}
	if policies.Can[policies.PredictorUser](chosen.Entry) {
		config.Predictor = policytest.Noisy(tb, tr, capacity) // with labels of the exact cache
	}
	return must.Get(New(config))(tb)
}

func TestPrefixSuiteKeepsToTheTree(t *testing.T) {
	forEachPrefixPolicy(t, func(t *testing.T, kind, policy string) {
		for seed := range uint64(12) {
			rng := rand.New(rand.NewPCG(seed, 4))
			tr := policytest.RandomPrompts(rng, 120, 8, 4)
			p := newPrefix(t, tr, kind, policy, 1+int64(seed*seed))
			var n cache.Counts
			for i := range tr.Groups {
				w := cache.Window{Groups: tr.Groups[i : i+1]}
				before := p.store.(*Tree).pool.Len()
				evicted := n.Evictions
				p.Serve(w, &n)
				checkTree(t, p)
				if n.Evictions-evicted > int64(before) {
					t.Fatalf("prompt %d: %d evictions of %d residents", i, n.Evictions-evicted, before)
				}
			}
			if n.Requests != int64(len(tr.Objects)) || n.HitTokens != 16*n.Hits {
				t.Fatalf("%+v of %d blocks", n, len(tr.Objects))
			}
		}
	})
}

func TestPrefixBeginFinish(t *testing.T) {
	forEachPrefixPolicy(t, func(t *testing.T, kind, policy string) {
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 5))
			tr := policytest.RandomPrompts(rng, 150, 8, 4)
			p := newPrefix(t, tr, kind, policy, 5+int64(5*seed))
			tree := p.store.(*Tree)
			var n cache.Counts
			var running []int
			for i := range tr.Groups {
				p.Begin(i, &n)
				running = append(running, i)
				for len(running) > 0 && rng.IntN(2) == 0 {
					k := rng.IntN(len(running))
					p.Finish(running[k])
					running = slices.Delete(running, k, k+1)
				}
				checkTree(t, p)
			}
			for _, i := range running {
				p.Finish(i)
			}
			if tree.locked != 0 {
				t.Fatalf("%d blocks are held when no prompt runs", tree.locked)
			}
		}
	})
}

func TestPrefixTellsOfTheDeepestFirst(t *testing.T) {
	tr := policytest.Prompts(16, "abc", "def", "ghi", "abc", "jkl")
	p := newPrefix(t, tr, "prefix", "clock", 6)
	var n cache.Counts
	for i := range tr.Groups {
		p.Begin(i, &n)
		p.Finish(i)
	}
	counters := p.Counters()
	if inner := counters[len(counters)-1]; n.Evictions != 9 || inner.Name() != "inner_victims" || inner.Value != 0 {
		t.Errorf("%d evictions, counters %v; want 9 and no inner_victims", n.Evictions, counters)
	}
}
