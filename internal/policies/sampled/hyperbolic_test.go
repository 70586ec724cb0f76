package sampled

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// naiveHyperbolic follows the authors' programs: the first request to an object counts leeway, and the rest of 1 is
// worth what the last victim's priority was, whatever the size. Before the first victim it counts 1, but not in Redis,
// whose clock counts misses twice.
func naiveHyperbolic(leeway float64, size func(s *policytest.NaiveObject) float64,
	redis bool) func(capacity int64) *policytest.Naive {
	return func(capacity int64) *policytest.Naive {
		c := policytest.NewNaive(capacity)
		ranks, loaded := map[policies.Object]float64{}, map[policies.Object]int{}
		last, misses := 0.0, 0
		c.Touched = func(s *policytest.NaiveObject) {
			if s.Requests > 1 {
				s.Priority++
				return
			}
			s.Priority = leeway + (1-leeway)*(last*size(s))
			if last == 0 && !redis {
				s.Priority = 1
			}
			loaded[s.Object] = s.Loaded + misses
			if redis {
				misses++
			}
		}
		c.Rank = func(s *policytest.NaiveObject, now int) float64 {
			ranks[s.Object] = s.Priority / float64(now+misses-loaded[s.Object]) / size(s)
			return ranks[s.Object]
		}
		c.Tie = func(s *policytest.NaiveObject) int { return s.Loaded }
		c.Evicted = func(s *policytest.NaiveObject) { last = ranks[s.Object] }
		return c
	}
}

func TestHyperbolicEqualsNaiveWhereAllAreSampled(t *testing.T) {
	bytes := func(s *policytest.NaiveObject) float64 { return float64(s.Size) }
	none := func(*policytest.NaiveObject) float64 { return 1 }
	for spec, reference := range map[string]func(capacity int64) *policytest.Naive{
		"hyperbolic(samples=100)":                      naiveHyperbolic(0.1, bytes, false),
		"hyperbolic(samples=100,sized=false)":          naiveHyperbolic(0.1, none, false),
		"hyperbolic(samples=100,leeway=0.6)":           naiveHyperbolic(0.6, bytes, false),
		"hyperbolic(samples=100,leeway=1)":             naiveHyperbolic(1, bytes, false),
		"hyperbolic(samples=100,leeway=1,sized=false)": naiveHyperbolic(1, none, false),
		"hyperbolic(samples=100,rule=redis)":           naiveHyperbolic(0.1, bytes, true),
	} {
		t.Run(spec, func(t *testing.T) { policytest.CheckAgainstNaive(t, spec, reference) })
	}
}

func TestHyperbolicExample(t *testing.T) {
	// Requests per time at position 6: 3/6 for 0, 2/3 for 1, 1/1 for 2. At position 7: 2/4 for 1, which was loaded
	// before 2 with 1/2, and 1/1 for 3.
	d := policytest.Drive(t, "hyperbolic(leeway=1)", policies.Config{Capacity: 3, Unit: true, Objects: 5, Requests: 8})
	got := d.ServeAll(0, 0, 0, 1, 1, 2, 3, 4)
	if want := []policies.Object{0, 1}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
	// 3 follows 0, which was evicted with 3/6, and 4 follows 1 with 2/4.
	d = policytest.Drive(t, "hyperbolic", policies.Config{Capacity: 3, Unit: true, Objects: 5, Requests: 8})
	d.ServeAll(0, 0, 0, 1, 1, 2, 3, 4)
	p := d.Policy.(*hyperbolic)
	for _, o := range []policies.Object{3, 4} {
		if got, want := p.slots.Info(o).count, 0.1+0.9*0.5; math.Abs(got-want) > 1e-12 {
			t.Errorf("%d starts with %v requests, want %v", o, got, want)
		}
	}
}
