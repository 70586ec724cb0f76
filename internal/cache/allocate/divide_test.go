package allocate

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func total(capacities []int64) (sum int64) {
	for _, c := range capacities {
		sum += c
	}
	return sum
}

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		capacity int64
		weights  []float64
		want     []int64
	}{
		{10, []float64{1, 1, 2}, []int64{3, 2, 5}}, // 2.5, 2.5 and 5: ties go to the lower number
		{10, []float64{0, 1, 0}, []int64{0, 10, 0}},
		{5, []float64{0, 0, 0}, []int64{2, 2, 1}},
		{2, []float64{1, 1, 1}, []int64{1, 1, 0}},
		{0, []float64{3, 4}, []int64{0, 0}},
		{7, []float64{0.1, 0, 0.2}, []int64{2, 0, 5}}, // 2.33 and 4.67
	} {
		got := make([]int64, len(c.weights))
		divide(c.capacity, c.weights, got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%d by %v: %v, want %v", c.capacity, c.weights, got, c.want)
		}
	}
}

// Nobody is off its exact part by a unit or more, and nothing is lost.
func TestDivideIsClose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Int64Range(0, 1<<40).Draw(t, "capacity")
		weights := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 30).Draw(t, "weights")
		got := make([]int64, len(weights))
		divide(capacity, weights, got)
		if total(got) != capacity {
			t.Fatalf("%v sums up to %d, want %d", got, total(got), capacity)
		}
		var sum float64
		for _, w := range weights {
			sum += w
		}
		for i, w := range weights {
			exact := float64(capacity) * (w / sum)
			if sum > 0 && (float64(got[i]) <= exact-1.01 || float64(got[i]) >= exact+1.01) {
				t.Fatalf("pool %d has %d, want about %v", i, got[i], exact)
			}
		}
	})
}
