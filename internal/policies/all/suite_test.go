package all_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

// serve serves a trace and returns the counts after the warm-up.
func serve(tr *traces.Trace, c cache.Cache, bytes bool, warmup int) (n cache.Counts) {
	sizes := make([]int64, len(tr.Objects))
	var warm cache.Counts
	c.Serve(cache.WindowOf(tr, 0, warmup, bytes, sizes), &warm)
	c.Serve(cache.WindowOf(tr, warmup, len(tr.Objects), bytes, sizes), &n)
	return n
}

// checkedServe serves one request at a time and fails if the cache ever exceeds its capacity.
func checkedServe(t *testing.T, tr *traces.Trace, c *cache.Exact, capacity int64, bytes bool) cache.Counts {
	t.Helper()
	var n cache.Counts
	one := make([]int64, 1)
	for i := range tr.Objects {
		c.Serve(cache.WindowOf(tr, i, i+1, bytes, one), &n)
		if c.Used() > capacity {
			t.Fatalf("after request %d: %d used of a capacity of %d", i, c.Used(), capacity)
		}
	}
	return n
}

func TestSuiteNeverAboveCapacity(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		t.Run(fmt.Sprintf("bytes=%v", bytes), func(t *testing.T) {
			policytest.ForEach(t, bytes, func(t *testing.T, e policies.Entry) {
				for _, capacity := range brief.Sample[int64](3, 1, 2, 3, 7, 20, 100, 1000) {
					tr := policytest.Trace(uint64(capacity), 2000, 150)
					c := policytest.CapacityFor(e, capacity)
					checkedServe(t, tr, cache.NewExact(policytest.Build(t, e, tr, c, !bytes), c, tr.NumObjects), c, bytes)
				}
			})
		})
	}
}

// TestSuiteLoadsEveryMiss checks the rules that every Entry states, by which its optimum is chosen: if capacity counts
// objects, every policy without Bypass loads every miss.
func TestSuiteLoadsEveryMiss(t *testing.T) {
	policytest.ForEach(t, false, func(t *testing.T, e policies.Entry) {
		refused := false
		for _, capacity := range []int64{1, 2, 3, 7, 20, 100} {
			tr := policytest.Trace(uint64(capacity), 2000, 150)
			limit := policytest.CapacityFor(e, capacity)
			c := cache.NewExact(policytest.Build(t, e, tr, limit, true), limit, tr.NumObjects)
			var n cache.Counts
			for i, o := range tr.Objects {
				c.Serve(cache.WindowOf(tr, i, i+1, false, nil), &n)
				refused = refused || !c.Resident(o)
			}
		}
		if refused != e.Bypass {
			t.Errorf("refuses objects: %v; its entry says %v", refused, e.Bypass)
		}
	})
}

func TestSuiteBatchEqualsOneByOne(t *testing.T) {
	policytest.ForEach(t, false, func(t *testing.T, e policies.Entry) {
		for seed := range brief.Of[uint64](60, 12) {
			tr := policytest.Trace(seed, 1500, 20+int(seed)*5)
			capacity := policytest.CapacityFor(e, 1+int64(seed*seed)%97)
			batch, ok := policytest.Build(t, e, tr, capacity, true).(policies.UnitReplayer)
			if !ok {
				t.Skip("has no batch path")
			}
			single := cache.NewExact(policytest.Build(t, e, tr, capacity, true), capacity, tr.NumObjects)
			want := checkedServe(t, tr, single, capacity, false)
			// In pieces of many lengths: a policy must keep its state between batches.
			var got cache.Counts
			served := cache.NewBatchExact(batch)
			for from, length := 0, 1; from < len(tr.Objects); length = length*7%257 + 1 {
				to := min(from+length, len(tr.Objects))
				served.Serve(cache.WindowOf(tr, from, to, false, nil), &got)
				from = to
			}
			if got != want {
				t.Fatalf("seed %d, capacity %d: batch %+v, one by one %+v", seed, capacity, got, want)
			}
		}
	})
}

func TestSuiteDeterministic(t *testing.T) {
	policytest.ForEach(t, false, func(t *testing.T, e policies.Entry) {
		tr := policytest.Trace(3, 5000, 300)
		c := policytest.CapacityFor(e, 40)
		run := func() cache.Counts {
			return checkedServe(t, tr, cache.NewExact(policytest.Build(t, e, tr, c, true), c, tr.NumObjects), c, false)
		}
		if a, b := run(), run(); a != b {
			t.Fatalf("two replays differ: %+v and %+v", a, b)
		}
	})
}

// A sweep runs a policy once for all seeds, unless its entry says that it makes random choices.
func TestSuiteSaysWhatDependsOnTheSeed(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		policytest.ForEach(t, bytes, func(t *testing.T, e policies.Entry) {
			tr := policytest.Trace(5, 20000, 500)
			sizes := [2]int64{400, 100} // above the number of objects that policies sample, and with more evictions
			if bytes {
				sizes = [2]int64{1500, 400}
			}
			outcomes := map[[2]cache.Counts]bool{}
			for seed := range brief.OfLong[uint64](6, 3) {
				var outcome [2]cache.Counts
				for i := range sizes {
					size := policytest.CapacityFor(e, sizes[i])
					c := policytest.ConfigOf(t, e, tr, size, !bytes)
					c.Seed = seed
					if policies.Can[policies.PredictorUser](e) { // wrong for every seed, so that policies fall back on chance
						c.Predictor = policytest.Predictor(t, "noisy(p=1)", tr, size, seed)
					}
					p := must.Get(e.New(c))(t)
					outcome[i] = serve(tr, cache.NewExact(p, size, tr.NumObjects), bytes, 0)
				}
				outcomes[outcome] = true
			}
			if e.Random != (len(outcomes) > 1) {
				t.Errorf("%d outcomes of 6 seeds, though Random is %t", len(outcomes), e.Random)
			}
		})
	}
}

// TestSuiteRemove removes objects from every policy, as expiry or a shrinking quota does. A policy that does not forget
// them later names one as a victim, which panics, or runs out of victims.
func TestSuiteRemove(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		t.Run(fmt.Sprintf("bytes=%v", bytes), func(t *testing.T) {
			policytest.ForEach(t, bytes, func(t *testing.T, e policies.Entry) {
				for seed := range brief.Of[uint64](20, 2) {
					tr := policytest.Trace(seed, 1500, 60)
					capacity := 1 + int64(seed*seed)%50
					if bytes {
						capacity = 220 + 10*capacity // the small queue of s3fifo admits every object
					}
					limit := policytest.CapacityFor(e, capacity)
					c := cache.NewExact(policytest.Build(t, e, tr, limit, !bytes), limit, tr.NumObjects)
					serveAndRemove(t, tr, c, seed, bytes, e.Idle)
				}
			})
		})
	}
}

// serveAndRemove serves t one by one, removes a random resident object after a third of the requests, and everything at
// two thirds of the trace. The cache must get hits again after that, unless its policy is idle.
func serveAndRemove(t *testing.T, tr *traces.Trace, c *cache.Exact, seed uint64, bytes, idle bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	var n, atRemoval cache.Counts
	one := make([]int64, 1)
	for i := range tr.Objects {
		c.Serve(cache.WindowOf(tr, i, i+1, bytes, one), &n)
		if o := tr.Objects[rng.IntN(i+1)]; rng.IntN(3) == 0 && c.Resident(o) {
			c.Drop(o)
		}
		if i != len(tr.Objects)*2/3 {
			continue
		}
		for o := range policies.Object(tr.NumObjects) {
			if c.Resident(o) {
				c.Drop(o)
			}
		}
		atRemoval = n
	}
	if n.Hits == atRemoval.Hits && !idle {
		t.Errorf("seed %d: no hits after everything was removed", seed)
	}
}

// TestSuiteIgnoredHits expects policies that ignore hits to evict the same objects whether they are notified or not,
// and lru not to be one of them.
func TestSuiteIgnoredHits(t *testing.T) {
	policytest.ForEach(t, false, func(t *testing.T, e policies.Entry) {
		if !e.IgnoresHits {
			return
		}
		const capacity = 20
		tr := policytest.Trace(1, 2000, 150)
		notified := policytest.Build(t, e, tr, capacity, true)
		other := policytest.Build(t, e, tr, capacity, true)
		resident := map[policies.Object]bool{}
		for pos, object := range tr.Objects {
			r := policies.Request{Object: object, Size: 1, Pos: pos}
			if resident[object] {
				notified.Hit(r)
				continue
			}
			if len(resident) == capacity {
				victim := notified.Victim(r)
				if got := other.Victim(r); got != victim {
					t.Fatalf("request %d evicts object %d, and %d if hits are notified", pos, got, victim)
				}
				delete(resident, victim)
			}
			resident[object] = true
			notified.Insert(r)
			other.Insert(r)
		}
	})
	if lru, _ := policies.Registry.Find("lru"); lru.IgnoresHits {
		t.Error("lru ignores hits")
	}
}
