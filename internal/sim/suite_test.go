package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// testTrace is a random trace of n requests over m objects: skewed, with scans and with objects that come in bursts.
func testTrace(seed uint64, n, m int) *traces.Trace {
	rng := rand.New(rand.NewPCG(seed, 1))
	number := map[int]uint32{}
	t := &traces.Trace{Name: fmt.Sprintf("random-%d", seed), SampleRate: 1}
	scan := 0
	for len(t.Objects) < n {
		key := 0
		switch rng.IntN(4) {
		case 0:
			key = rng.IntN(m)
		case 1, 2:
			key = int(float64(m) * rng.Float64() * rng.Float64() * rng.Float64())
		case 3:
			scan++
			key = scan % m
		}
		o, ok := number[key]
		if !ok {
			o = uint32(len(number))
			number[key] = o
			t.ObjectSizes = append(t.ObjectSizes, 1+rng.Int64N(20))
		}
		t.Objects = append(t.Objects, o)
		t.Times = append(t.Times, int64(len(t.Objects))*1e9)
	}
	t.NumObjects = len(number)
	return t
}

// nextUse is the naive next-use column.
func nextUse(t *traces.Trace) []uint32 {
	next := make([]uint32, len(t.Objects))
	last := make([]uint32, t.NumObjects)
	for o := range last {
		last[o] = policies.Never
	}
	for i := len(next) - 1; i >= 0; i-- {
		next[i] = last[t.Objects[i]]
		last[t.Objects[i]] = uint32(i)
	}
	return next
}

func build(tb testing.TB, e policies.Entry, t *traces.Trace, capacity int64, unit bool) policies.Policy {
	tb.Helper()
	spec, err := policies.ParseSpec(e.Name)
	if err != nil {
		tb.Fatal(err)
	}
	cfg := policies.Config{
		Capacity: capacity, Unit: unit, Objects: t.NumObjects, Requests: len(t.Objects), Seed: 7, Params: spec.Params,
	}
	if e.Kind == policies.Offline {
		cfg.NextUse, cfg.Sequence = nextUse(t), t.Objects
	}
	if e.Predicts {
		cfg.Predictor = noisy(tb, t, capacity)
	}
	if e.Relates {
		cfg.Relations = &policies.Relations{HitFrom: identityOnly}
	}
	p, err := e.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// noisy returns a predictor of which every third answer is wrong, for a cache of that capacity.
func noisy(tb testing.TB, t *traces.Trace, capacity int64) predict.Predictor {
	tb.Helper()
	spec, err := predict.Parse("noisy(p=0.3)")
	if err != nil {
		tb.Fatal(err)
	}
	next := nextUse(t)
	p, err := spec.Entry.New(predict.Config{
		Objects: t.Objects, Count: t.NumObjects, NextUse: next, Times: t.Times, Seed: 7, Params: spec.Params,
		OptEvicts: func() []bool { return OptEvicts(t, next, capacity) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// cellOf is a cell on the exact cache.
func cellOf(t *testing.T, policy string, capacity Capacity, seed uint64) Cell {
	t.Helper()
	c := Cell{Policy: specs(t, policy)[0], Cache: ExactCache(), Capacity: capacity, Seed: seed}
	if c.Policy.Entry.Predicts {
		spec, err := predict.Parse("noisy(p=0.3)")
		if err != nil {
			t.Fatal(err)
		}
		c.Predictor = &spec
	}
	return c
}

// forEachPolicy runs f for every policy that works in that unit of capacity.
func forEachPolicy(t *testing.T, bytes bool, f func(t *testing.T, e policies.Entry)) {
	for _, e := range policies.All() {
		if e.Kind == policies.Bound || bytes && e.Units == policies.UnitsObjects || !bytes && e.Units == policies.UnitsBytes {
			continue
		}
		t.Run(e.Name, func(t *testing.T) { f(t, e) })
	}
}

// capacityFor returns what the policy is told and what the cache enforces: everything for an unbounded policy.
func capacityFor(e policies.Entry, capacity int64) int64 {
	if e.Unbounded {
		return 1 << 40
	}
	return capacity
}

// checkedServe serves one request at a time and fails where the cache is ever above its capacity.
func checkedServe(t *testing.T, tr *traces.Trace, c *Exact, capacity int64, bytes bool) Counts {
	t.Helper()
	var n Counts
	one := make([]int64, 1)
	for i := range tr.Objects {
		c.Serve(window(tr, i, i+1, bytes, one), &n)
		if c.Used() > capacity {
			t.Fatalf("after request %d: %d used of a capacity of %d", i, c.Used(), capacity)
		}
	}
	return n
}

func TestSuiteNeverAboveCapacity(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		t.Run(fmt.Sprintf("bytes=%v", bytes), func(t *testing.T) {
			forEachPolicy(t, bytes, func(t *testing.T, e policies.Entry) {
				for _, capacity := range []int64{1, 2, 3, 7, 20, 100, 1000} {
					tr := testTrace(uint64(capacity), 2000, 150)
					c := capacityFor(e, capacity)
					checkedServe(t, tr, NewExact(build(t, e, tr, c, !bytes), c, tr.NumObjects), c, bytes)
				}
			})
		})
	}
}

// TestSuiteLoadsEveryMiss holds every policy to the rules that its Entry states, by which its optimum is chosen: where
// capacity counts objects, all but those with Bypass load what was missed.
func TestSuiteLoadsEveryMiss(t *testing.T) {
	forEachPolicy(t, false, func(t *testing.T, e policies.Entry) {
		refused := false
		for _, capacity := range []int64{1, 2, 3, 7, 20, 100} {
			tr := testTrace(uint64(capacity), 2000, 150)
			c := NewExact(build(t, e, tr, capacityFor(e, capacity), true), capacityFor(e, capacity), tr.NumObjects)
			var n Counts
			for i, o := range tr.Objects {
				c.Serve(window(tr, i, i+1, false, nil), &n)
				refused = refused || !c.Resident(o)
			}
		}
		if refused != e.Bypass {
			t.Errorf("refuses objects: %v; its entry says %v", refused, e.Bypass)
		}
	})
}

func TestSuiteBatchEqualsOneByOne(t *testing.T) {
	forEachPolicy(t, false, func(t *testing.T, e policies.Entry) {
		for seed := range uint64(60) {
			tr := testTrace(seed, 1500, 20+int(seed)*5)
			capacity := capacityFor(e, 1+int64(seed*seed)%97)
			batch, ok := build(t, e, tr, capacity, true).(policies.UnitReplayer)
			if !ok {
				t.Skip("has no batch path")
			}
			want := checkedServe(t, tr, NewExact(build(t, e, tr, capacity, true), capacity, tr.NumObjects), capacity, false)
			// In pieces of many lengths, since a policy must keep its state from one batch to the next.
			var got Counts
			cache := batchExact{batch}
			for from, length := 0, 1; from < len(tr.Objects); length = length*7%257 + 1 {
				to := min(from+length, len(tr.Objects))
				cache.Serve(window(tr, from, to, false, nil), &got)
				from = to
			}
			if got != want {
				t.Fatalf("seed %d, capacity %d: batch %+v, one by one %+v", seed, capacity, got, want)
			}
		}
	})
}

func TestSuiteDeterministic(t *testing.T) {
	forEachPolicy(t, false, func(t *testing.T, e policies.Entry) {
		tr := testTrace(3, 5000, 300)
		c := capacityFor(e, 40)
		run := func() Counts {
			return checkedServe(t, tr, NewExact(build(t, e, tr, c, true), c, tr.NumObjects), c, false)
		}
		if a, b := run(), run(); a != b {
			t.Fatalf("two replays differ: %+v and %+v", a, b)
		}
	})
}

// A sweep runs a policy once, whatever the seeds, unless its entry says that it makes random choices.
func TestSuiteSaysWhatDependsOnTheSeed(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		forEachPolicy(t, bytes, func(t *testing.T, e policies.Entry) {
			tr := testTrace(5, 20000, 500)
			capacity := Capacity{Amount: 400, Simulated: 400, Bytes: bytes} // above the number of objects that policies sample
			if bytes {
				capacity = Capacity{Amount: 1500, Simulated: 1500, Bytes: bytes}
			}
			r := NewReplayer(tr, ReplayerOptions{})
			outcomes := map[Counts]bool{}
			for seed := range uint64(6) {
				c := cellOf(t, e.Name, capacity, seed)
				if c.Predictor != nil { // wrong for every seed, so that policies fall back on chance
					wrong, err := predict.Parse("noisy(p=1)")
					if err != nil {
						t.Fatal(err)
					}
					c.Predictor = &wrong
				}
				out, err := r.replayOne(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				outcomes[out[0].counts] = true
			}
			if e.Random != (len(outcomes) > 1) {
				t.Errorf("%d outcomes of 6 seeds, though Random is %t", len(outcomes), e.Random)
			}
		})
	}
}

// TestSuiteRemove takes objects away from every policy, as expiry or a shrinking quota does. A policy that does not
// forget them names one of them as a victim later, which panics, or runs out of victims.
func TestSuiteRemove(t *testing.T) {
	for _, bytes := range []bool{false, true} {
		t.Run(fmt.Sprintf("bytes=%v", bytes), func(t *testing.T) {
			forEachPolicy(t, bytes, func(t *testing.T, e policies.Entry) {
				for seed := range uint64(20) {
					tr := testTrace(seed, 1500, 60)
					capacity := 1 + int64(seed*seed)%50
					if bytes {
						capacity = 220 + 10*capacity // the small queue of s3fifo admits every object
					}
					limit := capacityFor(e, capacity)
					c := NewExact(build(t, e, tr, limit, !bytes), limit, tr.NumObjects)
					serveAndRemove(t, tr, c, seed, bytes)
				}
			})
		})
	}
}

// serveAndRemove serves t one by one and removes a resident object drawn at random after a third of the requests, and
// everything at two thirds of the trace. The cache must go on with hits.
func serveAndRemove(t *testing.T, tr *traces.Trace, c *Exact, seed uint64, bytes bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	remove := func(o policies.Object) {
		c.policy.Remove(o)
		c.drop(o)
	}
	var n, atRemoval Counts
	one := make([]int64, 1)
	for i := range tr.Objects {
		c.Serve(window(tr, i, i+1, bytes, one), &n)
		if o := tr.Objects[rng.IntN(i+1)]; rng.IntN(3) == 0 && c.Resident(o) {
			remove(o)
		}
		if i != len(tr.Objects)*2/3 {
			continue
		}
		for o := range policies.Object(tr.NumObjects) {
			if c.Resident(o) {
				remove(o)
			}
		}
		atRemoval = n
	}
	if n.Hits == atRemoval.Hits {
		t.Errorf("seed %d: no hits after everything was removed", seed)
	}
}
