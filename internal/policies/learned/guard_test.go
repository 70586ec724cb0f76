package learned

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

func guardTrace(rng *rand.Rand, n, objects int) []policies.Object {
	trace := make([]policies.Object, n)
	for i := range trace {
		trace[i] = policies.Object(float64(objects) * rng.Float64() * rng.Float64())
		if rng.IntN(5) == 0 {
			trace[i] = policies.Object(i % objects)
		}
	}
	return trace
}

func guardOf(t *testing.T, predictor string, trace []policies.Object, objects, capacity int) *guard {
	t.Helper()
	spec := must.Get(predict.Registry.Parse(predictor))(t)
	p := must.Get(spec.Entry.New(predict.Config{
		Objects: trace, Count: objects, NextUse: oracle.NextUse(trace, objects), Seed: 3, Params: spec.Params,
	}))(t)
	return newGuard(policies.Config{Capacity: int64(capacity), Unit: true, Objects: objects, Seed: 1, Predictor: p})
}

// TestGuardIsConsistent: with exact predictions nothing is ever guarded, and guard misses as often as the optimum.
func TestGuardIsConsistent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	entry, ok := policies.Registry.Find("opt")
	if !ok {
		t.Fatal("no optimum")
	}
	for range 100 {
		objects, capacity := 5+rng.IntN(100), 1+rng.IntN(40)
		trace := guardTrace(rng, 1000, objects)
		opt := must.Get(entry.New(policies.Config{
			Capacity: int64(capacity), Unit: true, Objects: objects, Requests: len(trace), NextUse: oracle.NextUse(trace,
				objects),
		}))(t)
		want, _ := opt.(policies.UnitReplayer).ReplayUnit(trace, 0)
		if got, _ := guardOf(t, "oracle", trace, objects, capacity).ReplayUnit(trace, 0); got != want {
			t.Fatalf("capacity %d: %d hits, optimum %d", capacity, got, want)
		}
	}
}

// TestGuardKeepsItsPromises follows the sets of the algorithm from outside, under wrong predictions.
func TestGuardKeepsItsPromises(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	guardedSomething, followed := false, false
	for run := range 100 {
		objects, capacity := 5+rng.IntN(60), 1+rng.IntN(20)
		trace := guardTrace(rng, 1500, objects)
		p := guardOf(t, []string{"noisy(p=0.3)", "noisy(p=1)", "none"}[run%3], trace, objects, capacity)
		resident, old, evicted, guarded := map[policies.Object]bool{}, map[policies.Object]bool{},
			map[policies.Object]bool{}, map[policies.Object]bool{}
		for pos, o := range trace {
			r := policies.Request{Object: o, Pos: pos, Size: 1}
			if resident[o] {
				p.Hit(r)
				delete(old, o)
				continue
			}
			p.Miss(r)
			if len(resident) == capacity {
				if len(old) == 0 {
					clear(evicted)
					clear(guarded)
					for other := range resident {
						old[other] = true
					}
				}
				again := evicted[o]
				v := p.Victim(r)
				switch {
				case !resident[v] || guarded[v]:
					t.Fatalf("run %d: request %d evicts %d: resident %t, guarded %t", run, pos, v, resident[v], guarded[v])
				case again && !old[v]:
					t.Fatalf("run %d: request %d comes back in its phase and evicts %d, which is not old", run, pos, v)
				}
				followed = followed || !again && !old[v]
				guardedSomething = guardedSomething || again
				evicted[v] = true
				delete(old, v)
				delete(resident, v)
				if again {
					guarded[o] = true
				}
			}
			p.Insert(r)
			resident[o] = true
		}
	}
	if !guardedSomething || !followed {
		t.Errorf("guarded: %t, evicted by prediction what is not old: %t; the test says nothing", guardedSomething, followed)
	}
}

// TestGuardSpreadsItsChoice: the victim for a guarded object is uniform over the old ones.
func TestGuardSpreadsItsChoice(t *testing.T) {
	// 0 to 4 fill the cache; 5 begins a phase and evicts 0, since ties go to the least recently used; 0 comes back: one
	// of 1 to 4 leaves.
	trace := []policies.Object{0, 1, 2, 3, 4, 5, 0}
	counts := map[policies.Object]int{}
	const seeds = 4000
	for seed := range uint64(seeds) {
		p := guardOf(t, "none", trace, 6, 5)
		p.bits = rand.New(rand.NewPCG(seed, 0))
		p.ReplayUnit(trace, 0)
		for o := policies.Object(1); o <= 4; o++ {
			if !p.unguarded.has(o) && !p.guarded.Has(o) {
				counts[o]++
			}
		}
	}
	for o := policies.Object(1); o <= 4; o++ {
		if counts[o] < seeds/4-seeds/20 || counts[o] > seeds/4+seeds/20 {
			t.Errorf("object %d leaves in %d of %d runs, want a quarter", o, counts[o], seeds)
		}
	}
}
