package policies

import (
	"slices"
	"testing"
)

func TestHyperbolicEqualsNaiveWhereAllAreSampled(t *testing.T) {
	for spec, size := range map[string]func(s *naiveObject) float64{
		"hyperbolic(samples=100)":             func(s *naiveObject) float64 { return float64(s.size) },
		"hyperbolic(samples=100,sized=false)": func(*naiveObject) float64 { return 1 },
	} {
		t.Run(spec, func(t *testing.T) {
			checkAgainstNaive(t, spec, func(capacity int64) *naive {
				c := newNaive(capacity)
				c.rank = func(s *naiveObject, now int) float64 {
					return float64(s.requests) / (float64(now-s.loaded) * size(s))
				}
				c.tie = func(s *naiveObject) int { return s.loaded }
				return c
			})
		})
	}
}

func TestHyperbolicExample(t *testing.T) {
	// Requests per time at position 6: 3/6 for 0, 2/3 for 1, 1/1 for 2. At position 7: 2/4 for 1, which was loaded
	// before 2 with 1/2, and 1/1 for 3.
	d := drive(t, "hyperbolic", Config{Capacity: 3, Unit: true, Objects: 5, Requests: 8})
	got := d.serveAll(0, 0, 0, 1, 1, 2, 3, 4)
	if want := []Object{0, 1}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
}
