package reuse

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestAggregate(t *testing.T) {
	for _, test := range []struct {
		kind                  string
		weights, similarities []float64
		want                  float64
	}{
		{Harmonic, []float64{.9, .1, .5, .5}, []float64{.5, .95, .9, .9}, 0.663048},
		{Harmonic, []float64{.1, .9, .5, .5}, []float64{.5, .95, .9, .9}, 0.885552},
		{Harmonic, []float64{.3, .3, .3, .3}, []float64{.9, .9, .9, .9}, 0.9},
		{Harmonic, []float64{.5, .5}, []float64{.9, .01}, 0.019780},
		{Harmonic, []float64{.5, .5}, []float64{.9, -.1}, -0.1},   // the formula gives -0.225
		{Harmonic, []float64{.5, .5}, []float64{.9, -.95}, -0.95}, // the formula gives 34.2
		{Harmonic, []float64{.5, .5}, []float64{.9, 1e-6}, 1e-6},
		{Harmonic, []float64{.5, 0}, []float64{.9, -.95}, 0.9},
		{Harmonic, []float64{0, 0}, []float64{.9, .45}, 0.6},
		{Harmonic, nil, []float64{.9, .45}, 0.6},
		{Harmonic, nil, []float64{-.3}, -0.3},
		{Arithmetic, []float64{.9, .1}, []float64{.5, -.5}, 0.4},
		{Arithmetic, []float64{0, 0}, []float64{.9, .45}, 0.675},
		{Arithmetic, nil, []float64{1, -1, 1, 1}, -1},
		{Min, []float64{.9, .1, 0}, []float64{.5, .4, .3}, 0.4},
		{Min, []float64{0, 0}, []float64{.5, .4}, 0.4},
	} {
		got := Aggregate(test.kind, test.similarities, test.weights)
		if math.Abs(got-test.want) > 5e-7 {
			t.Errorf("%s of %v, weights %v: %v, want %v", test.kind, test.similarities, test.weights, got, test.want)
		}
	}
}

// TestMeansLieBetween holds every mean between the smallest and the largest similarity, without rounding; so that the
// mean of equal ones is their value, and no mean exceeds a threshold that none of them does.
func TestMeansLieBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "group")
		similarities := rapid.SliceOfN(rapid.Float64Range(-1, 1), n, n).Draw(t, "similarities")
		weights := rapid.SliceOfN(rapid.Float64Range(0.01, 1), n, n).Draw(t, "weights")
		if rapid.Bool().Draw(t, "equal") {
			for i := range similarities {
				similarities[i] = similarities[0]
			}
		}
		least, most := slices.Min(similarities), slices.Max(similarities)
		harmonic := Aggregate(Harmonic, similarities, weights)
		arithmetic := Aggregate(Arithmetic, similarities, weights)
		if smaller := Aggregate(Min, similarities, weights); smaller != least {
			t.Errorf("the smallest is %v, want %v", smaller, least)
		}
		for _, mean := range []float64{harmonic, arithmetic} {
			if mean < least || mean > most {
				t.Errorf("a mean of %v is %v", similarities, mean)
			}
		}
		if harmonic > arithmetic+ulps {
			t.Errorf("the harmonic mean %v of %v is above the arithmetic mean %v", harmonic, similarities, arithmetic)
		}
	})
}

// TestMeanNearsZeroWithoutAJump: where the formula ends, its value is about that of the rule that takes over.
func TestMeanNearsZeroWithoutAJump(t *testing.T) {
	above := Aggregate(Harmonic, []float64{.9, 1.01e-6}, nil)
	below := Aggregate(Harmonic, []float64{.9, 0.99e-6}, nil)
	if above < below || above-below > 2e-6 {
		t.Errorf("%v just above the limit, %v just below", above, below)
	}
}
