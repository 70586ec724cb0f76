package baselines

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

func TestUniformNeverEvicts(t *testing.T) {
	policytest.CheckExample(t, "nothing ever leaves", "uniform", 2, []uint32{0, 1, 2, 3, 0, 1}, nil)
}

// A phase has as many distinct objects as the cache holds, and an object requested within the phase stays to its end.
func TestMarkerKeepsThePhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := policytest.DrawUnitWorkload(t)
		d := policytest.Drive(t, "marker", w.Config)
		phase := map[policies.Object]bool{}
		for i, o := range w.Trace {
			if !phase[o] && len(phase) == int(w.Config.Capacity) {
				clear(phase)
			}
			phase[o] = true
			_, victims := d.Serve(o, 1, i)
			for _, v := range victims {
				if phase[v] {
					t.Fatalf("request %d: victim %d was requested in this phase", i, v)
				}
			}
		}
	})
}

// Over many seeds, each of four candidates is the victim about equally often: random chooses among all objects, and a
// phase of marker begins with all unmarked.
func TestRandomChoice(t *testing.T) {
	const seeds, candidates = 6000, 4
	for _, spec := range []string{"random", "marker"} {
		times := make([]int, candidates)
		for seed := range uint64(seeds) {
			d := policytest.Drive(t, spec, policies.Config{Capacity: candidates, Unit: true, Objects: 5, Seed: seed})
			for _, v := range d.ServeAll(0, 1, 2, 3, 4) {
				times[v]++
			}
		}
		for o, n := range times {
			// The standard deviation is below 35.
			if want := seeds / candidates; n < want-175 || n > want+175 {
				t.Errorf("%s: object %d is the victim %d times of %d, want about %d", spec, o, n, seeds, want)
			}
		}
	}
}
