package all_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// Policies that learn or sample must beat random replacement on a skewed trace by a clear margin.
func TestSampledPoliciesBeatRandomReplacement(t *testing.T) {
	trace, objects := newZipfTrace(200_000, 10_000)
	const capacity = 500
	random := randomReplacementMisses(trace, capacity)
	for _, spec := range []string{"hyperbolic", "hyperbolic(samples=8)", "lhd", "lhd(period=20000)", "w-tinylfu",
		"w-tinylfu(doorkeeper=true)"} {
		d := policytest.Drive(t, spec, policies.Config{Capacity: capacity, Unit: true, Objects: objects, Requests: len(trace),
			Seed: 1})
		hits, _ := d.Policy.(policies.UnitReplayer).ReplayUnit(trace, 0)
		if misses := len(trace) - hits; float64(misses) > 0.9*float64(random) {
			t.Errorf("%s: %d misses, random replacement has %d", spec, misses, random)
		}
	}
}

func randomReplacementMisses(trace []policies.Object, capacity int) (misses int) {
	rng := rand.New(rand.NewPCG(1, 1))
	var cache []policies.Object
	resident := map[policies.Object]bool{}
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
