package all_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

// optima are the two optimal policies for objects of equal size, each with its rule.
var optima = []struct {
	name   string
	bypass bool
}{{"opt", false}, {"opt-bypass", true}}

func entry(tb testing.TB, name string) policies.Entry {
	tb.Helper()
	e, ok := policies.Registry.Find(name)
	if !ok {
		tb.Fatalf("policy %s is not registered", name)
	}
	return e
}

// missesOf replays t one by one and returns the misses.
func missesOf(tb testing.TB, name string, t *traces.Trace, capacity int64, unit bool) int {
	tb.Helper()
	return missesOfEntry(tb, entry(tb, name), t, capacity, unit)
}

// missesOfEntry is missesOf for a policy with other defaults.
func missesOfEntry(tb testing.TB, e policies.Entry, t *traces.Trace, capacity int64, unit bool) int {
	tb.Helper()
	c := cache.NewExact(policytest.Build(tb, e, t, capacity, unit), capacity, t.NumObjects)
	n := serve(t, c, !unit, 0)
	return int(n.Misses())
}

// batchMissesOf replays t through the policy's own loop and returns the misses.
func batchMissesOf(tb testing.TB, name string, t *traces.Trace, capacity int64) int {
	tb.Helper()
	p := policytest.Build(tb, entry(tb, name), t, capacity, true).(policies.UnitReplayer)
	n := serve(t, cache.NewBatchExact(p), false, 0)
	return int(n.Misses())
}

// forEachTinyTrace calls f for every trace of n requests over at most maxObjects objects, up to renaming of the
// objects.
func forEachTinyTrace(n, maxObjects int, f func(t *traces.Trace)) {
	objects := make([]uint32, n)
	var extend func(at, used int)
	extend = func(at, used int) {
		if at == n {
			f(&traces.Trace{Objects: objects, NumObjects: used})
			return
		}
		for o := range min(used+1, maxObjects) {
			objects[at] = uint32(o)
			extend(at+1, max(used, o+1))
		}
	}
	extend(0, 0)
}

func TestOPTEqualsBruteForceOnAllTinyTraces(t *testing.T) {
	longest := 10
	if testing.Short() {
		longest = 7
	}
	for n := 1; n <= longest; n++ {
		forEachTinyTrace(n, 4, func(tr *traces.Trace) {
			for _, rule := range optima {
				for capacity := int64(1); capacity <= 3; capacity++ {
					want := oracle.BruteForce(tr.Objects, nil, capacity, rule.bypass)
					if got := missesOf(t, rule.name, tr, capacity, true); got != want {
						t.Fatalf("%s at %d on %v: %d misses one by one, brute force %d", rule.name, capacity, tr.Objects, got, want)
					}
					if got := batchMissesOf(t, rule.name, tr, capacity); got != want {
						t.Fatalf("%s at %d on %v: %d misses in a batch, brute force %d", rule.name, capacity, tr.Objects, got, want)
					}
				}
			}
		})
	}
}

// scheduledMisses computes the optimum by interval scheduling, without looking ahead. Each reuse interval goes to the
// machine that became free last before the interval began, if there is one. A machine is a place in the cache; the
// intervals that get one are the hits. If every miss is loaded, one place always belongs to the object just requested,
// and an interval needs a machine only strictly between its two requests.
func scheduledMisses(tr *traces.Trace, capacity int, bypass bool) int {
	// Position p+1 stands for request p, position 0 for the start. machines[p] machines became free there. free links
	// every position to the nearest one at or before it that still has a machine (union-find with path halving).
	n := len(tr.Objects)
	machines, free := make([]int, n+1), make([]int, n+1)
	for p := range free {
		free[p] = p
	}
	find := func(p int) int {
		for free[p] != p {
			free[p] = free[free[p]]
			p = free[p]
		}
		return p
	}
	machines[0] = capacity
	latest := 1 // how long after its first request an interval may start to need a machine
	if bypass {
		latest = 0
	} else {
		machines[0]--
	}
	last := make(map[uint32]int)
	misses := 0
	for j, o := range tr.Objects {
		i, seen := last[o]
		last[o] = j
		if seen && !bypass && i+1 == j {
			free[j+1] = j
			continue
		}
		p := 0
		if seen {
			p = find(i + 1 + latest)
		}
		if !seen || machines[p] == 0 {
			misses++
			free[j+1] = j
			continue
		}
		machines[j+1] = 1
		if machines[p]--; machines[p] == 0 && p > 0 {
			free[p] = p - 1
		}
	}
	return misses
}

func TestOPTAgreesWithIntervalScheduling(t *testing.T) {
	for seed := range uint64(400) {
		tr := policytest.Trace(seed, 1+int(seed)*7, 5+int(seed)%300)
		capacity := 1 + int64(seed*seed)%97
		for _, rule := range optima {
			want := scheduledMisses(tr, int(capacity), rule.bypass)
			if got := batchMissesOf(t, rule.name, tr, capacity); got != want {
				t.Fatalf("seed %d: %s at %d has %d misses, interval scheduling %d", seed, rule.name, capacity, got, want)
			}
		}
	}
}

func TestOPTHasColdMissesOnlyWhereAllFits(t *testing.T) {
	for seed := range uint64(20) {
		tr := policytest.Trace(seed, 3000, 50)
		for _, rule := range optima {
			for _, capacity := range []int64{int64(tr.NumObjects), int64(tr.NumObjects) + 1, 1 << 40} {
				if got := batchMissesOf(t, rule.name, tr, capacity); got != tr.NumObjects {
					t.Errorf("%s at %d: %d misses over %d objects", rule.name, capacity, got, tr.NumObjects)
				}
			}
		}
	}
}

// TestOPTOfOneObject checks what is known for capacity 1: if every miss is loaded, every change of object misses.
func TestOPTOfOneObject(t *testing.T) {
	tr := policytest.Trace(5, 2000, 20)
	changes := 1
	for i := 1; i < len(tr.Objects); i++ {
		if tr.Objects[i] != tr.Objects[i-1] {
			changes++
		}
	}
	if got := batchMissesOf(t, "opt", tr, 1); got != changes {
		t.Errorf("%d misses, want one per change of object: %d", got, changes)
	}
	if got := batchMissesOf(t, "opt-bypass", tr, 1); got >= changes {
		t.Errorf("letting misses pass by saves nothing: %d misses of %d", got, changes)
	}
}

func TestSuiteNeverBeatsOPT(t *testing.T) {
	policytest.ForEach(t, false, func(t *testing.T, e policies.Entry) {
		rule := "opt"
		if e.Bypass {
			rule = "opt-bypass"
		}
		for seed := range brief.Of[uint64](30, 6) {
			tr := policytest.Trace(seed, 2000, 30+int(seed)*10)
			capacity := 1 + int64(seed*seed*seed)%89
			if e.Unbounded {
				capacity = int64(tr.NumObjects)
			}
			optimum := missesOf(t, rule, tr, capacity, true)
			if got := missesOfEntry(t, e, tr, policytest.CapacityFor(e, capacity), true); got < optimum {
				t.Fatalf("seed %d, capacity %d: %d misses, %s has %d", seed, capacity, got, rule, optimum)
			}
		}
	})
}

func TestSuiteNeverBeatsLowerBoundInBytes(t *testing.T) {
	bound := entry(t, "pfoo-l").LowerBound
	policytest.ForEach(t, true, func(t *testing.T, e policies.Entry) {
		for seed := range brief.Of[uint64](30, 6) {
			tr := policytest.Trace(seed, 2000, 30+int(seed)*10)
			if seed%3 == 0 {
				policytest.ChangeSizes(tr)
			}
			capacity := 1 + int64(seed*seed*seed)%997
			if e.Unbounded {
				capacity = 1 << 40
			}
			for _, warmup := range []int{0, 1000} {
				lower := must.Get(bound(policies.BoundInput{BoundInput: oracle.BoundInput{
					Objects: tr.Objects, NumObjects: tr.NumObjects, ObjectSizes: tr.ObjectSizes, RequestSizes: tr.RequestSizes,
					NextUse: policytest.NextUse(tr), Capacity: capacity, From: warmup,
				}}))(t)
				c := cache.NewExact(policytest.Build(t, e, tr, capacity, false), capacity, tr.NumObjects)
				n := serve(tr, c, true, warmup)
				if float64(n.Misses()) < lower {
					t.Fatalf("seed %d, capacity %d, warm-up %d: %d misses, the bound is %v", seed, capacity, warmup, n.Misses(), lower)
				}
			}
		}
	})
}
