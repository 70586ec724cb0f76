package predictors

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

func TestEWMA(t *testing.T) {
	c := predict.Config{Objects: []predict.Object{0, 1, 0, 1, 1, 1, 0}, Count: 2}
	// Intervals of 0: 2 and 4, average 2 and 3. Intervals of 1: 2, 1, 1, average 2, 1.5, 1.25.
	want := []float64{predict.Never, predict.Never, 2 + 1, 3 + 1, 4 + 0.75, 5 + 0.625, 6 + 1.5}
	if got := predictions(mustNew(t, "ewma", c), c.Objects); !slices.Equal(got, want) {
		t.Errorf("predictions are %v, want %v", got, want)
	}
}

func TestPOPU(t *testing.T) {
	c := predict.Config{Objects: []predict.Object{0, 1, 0, 0}, Count: 2}
	if got, want := predictions(mustNew(t, "popu", c), c.Objects), []float64{1, 3, 3.5, 3 + 4./3}; !slices.Equal(got,
		want) {
		t.Errorf("predictions are %v, want %v", got, want)
	}
}

// TestPLECO compares with the sum over all past requests, of which pleco leaves out what is too old to matter.
func TestPLECO(t *testing.T) {
	c := mixed(3*plecoMemory, 1)
	got := predictions(mustNew(t, "pleco", c), c.Objects)
	weight := func(n int) float64 { return math.Pow(float64(n)+10, -1.8) * math.Exp(-float64(n)/670) }
	for _, pos := range []int{0, 1, 100, plecoMemory - 1, plecoMemory, 2*plecoMemory + 7, 3*plecoMemory - 1} {
		var own, all float64
		for at := pos; at >= 0; at-- {
			all += weight(pos - at + 1)
			if c.Objects[at] == c.Objects[pos] {
				own += weight(pos - at + 1)
			}
		}
		if want := float64(pos) + all/own; math.Abs(got[pos]-want) > 1e-9*want {
			t.Errorf("request %d: %v, want %v", pos, got[pos], want)
		}
	}
}
