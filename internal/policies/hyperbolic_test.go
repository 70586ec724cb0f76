package policies

import (
	"math"
	"slices"
	"testing"
)

// naiveHyperbolic follows the authors' programs: the first request to an object counts leeway, and the rest of 1 is
// worth what the last victim's priority was, whatever the size. Before the first victim it counts 1, but not in Redis,
// whose clock counts misses twice.
func naiveHyperbolic(leeway float64, size func(s *naiveObject) float64, redis bool) func(capacity int64) *naive {
	return func(capacity int64) *naive {
		c := newNaive(capacity)
		ranks, loaded := map[Object]float64{}, map[Object]int{}
		last, misses := 0.0, 0
		c.touched = func(s *naiveObject) {
			if s.requests > 1 {
				s.priority++
				return
			}
			s.priority = leeway + (1-leeway)*(last*size(s))
			if last == 0 && !redis {
				s.priority = 1
			}
			loaded[s.object] = s.loaded + misses
			if redis {
				misses++
			}
		}
		c.rank = func(s *naiveObject, now int) float64 {
			ranks[s.object] = s.priority / float64(now+misses-loaded[s.object]) / size(s)
			return ranks[s.object]
		}
		c.tie = func(s *naiveObject) int { return s.loaded }
		c.evicted = func(s *naiveObject) { last = ranks[s.object] }
		return c
	}
}

func TestHyperbolicEqualsNaiveWhereAllAreSampled(t *testing.T) {
	bytes := func(s *naiveObject) float64 { return float64(s.size) }
	none := func(*naiveObject) float64 { return 1 }
	for spec, reference := range map[string]func(capacity int64) *naive{
		"hyperbolic(samples=100)":                      naiveHyperbolic(0.1, bytes, false),
		"hyperbolic(samples=100,sized=false)":          naiveHyperbolic(0.1, none, false),
		"hyperbolic(samples=100,leeway=0.6)":           naiveHyperbolic(0.6, bytes, false),
		"hyperbolic(samples=100,leeway=1)":             naiveHyperbolic(1, bytes, false),
		"hyperbolic(samples=100,leeway=1,sized=false)": naiveHyperbolic(1, none, false),
		"hyperbolic(samples=100,rule=redis)":           naiveHyperbolic(0.1, bytes, true),
	} {
		t.Run(spec, func(t *testing.T) { checkAgainstNaive(t, spec, reference) })
	}
}

func TestHyperbolicExample(t *testing.T) {
	// Requests per time at position 6: 3/6 for 0, 2/3 for 1, 1/1 for 2. At position 7: 2/4 for 1, which was loaded
	// before 2 with 1/2, and 1/1 for 3.
	d := drive(t, "hyperbolic(leeway=1)", Config{Capacity: 3, Unit: true, Objects: 5, Requests: 8})
	got := d.serveAll(0, 0, 0, 1, 1, 2, 3, 4)
	if want := []Object{0, 1}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
	// 3 follows 0, which was evicted with 3/6, and 4 follows 1 with 2/4.
	d = drive(t, "hyperbolic", Config{Capacity: 3, Unit: true, Objects: 5, Requests: 8})
	d.serveAll(0, 0, 0, 1, 1, 2, 3, 4)
	p := d.policy.(*hyperbolic)
	for _, o := range []Object{3, 4} {
		if got, want := p.slots.Info(o).count, 0.1+0.9*0.5; math.Abs(got-want) > 1e-12 {
			t.Errorf("%d starts with %v requests, want %v", o, got, want)
		}
	}
}
