package policies

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

func TestSlots(t *testing.T) {
	const objects = 40
	s := dense.NewSlots[int](objects)
	want := map[Object]int{}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 5000 {
		o := rng.Uint32N(objects)
		if s.Has(o) != (want[o] != 0) {
			t.Fatalf("step %d: has(%d) is %v", i, o, s.Has(o))
		}
		if s.Has(o) {
			if *s.Info(o) != want[o] {
				t.Fatalf("step %d: object %d has %d, want %d", i, o, *s.Info(o), want[o])
			}
			s.Remove(o)
			delete(want, o)
		} else {
			s.Add(o, i+1)
			want[o] = i + 1
		}
		if i%3 == 0 {
			infos := s.Dense()
			if len(infos) != len(want) {
				t.Fatalf("step %d: %d slots for %d objects", i, len(infos), len(want))
			}
			for slot, info := range infos {
				if want[s.Objects[slot]] != info {
					t.Fatalf("step %d: slot %d holds %d", i, slot, info)
				}
			}
		}
	}
}

func TestDrawsAreUniform(t *testing.T) {
	const n, perSlot = 97, 1000
	d := random.NewDraws(1)
	counts := make([]float64, n)
	for range n * perSlot {
		counts[d.Below(n)]++
	}
	chi2 := 0.0
	for _, c := range counts {
		chi2 += (c - perSlot) * (c - perSlot) / perSlot
	}
	// 96 degrees of freedom: mean 96, standard deviation 13.9.
	if chi2 < 96-4*13.9 || chi2 > 96+4*13.9 {
		t.Errorf("chi square %v for 96 degrees of freedom", chi2)
	}
}

// Policies that learn or sample must beat random replacement on a skewed trace by a clear margin.
func TestSampledPoliciesBeatRandomReplacement(t *testing.T) {
	trace := newZipfTrace(200_000, 10_000)
	const capacity = 500
	random := randomReplacementMisses(trace.objects, capacity)
	for _, spec := range []string{"hyperbolic", "hyperbolic(samples=8)", "lhd", "lhd(period=20000)", "w-tinylfu",
		"w-tinylfu(doorkeeper=true)"} {
		d := drive(t, spec, Config{Capacity: capacity, Unit: true, Objects: trace.numObjects, Requests: len(trace.objects),
			Seed: 1})
		hits, _ := d.policy.(UnitReplayer).ReplayUnit(trace.objects, 0)
		if misses := len(trace.objects) - hits; float64(misses) > 0.9*float64(random) {
			t.Errorf("%s: %d misses, random replacement has %d", spec, misses, random)
		}
	}
}

func randomReplacementMisses(trace []Object, capacity int) (misses int) {
	rng := rand.New(rand.NewPCG(1, 1))
	var cache []Object
	resident := map[Object]bool{}
	for _, o := range trace {
		if resident[o] {
			continue
		}
		misses++
		resident[o] = true
		if len(cache) < capacity {
			cache = append(cache, o)
			continue
		}
		slot := rng.IntN(capacity)
		delete(resident, cache[slot])
		cache[slot] = o
	}
	return misses
}
