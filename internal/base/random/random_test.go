package random

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// The table itself, column by column, gives each rank its exact probability.
func TestZipfIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		alpha := rapid.Float64Range(0, 3).Draw(t, "alpha")
		table := NewZipf(n, alpha)
		got := make([]float64, n)
		for i, c := range table {
			own := float64(c.own) / (1 << 32)
			got[i] += own / float64(n)
			got[c.alias] += (1 - own) / float64(n)
		}
		sum := 0.0
		for rank := range n {
			sum += math.Pow(float64(rank+1), -alpha)
		}
		for i := range n {
			want := math.Pow(float64(i+1), -alpha) / sum
			if math.Abs(got[i]-want) > 1e-9 {
				t.Fatalf("n %d alpha %v rank %d: probability %v, want %v", n, alpha, i+1, got[i], want)
			}
		}
	})
}

func TestPortableFunctions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-300, 1e12).Draw(t, "x")
		if got, want := Log(x), math.Log(x); math.Abs(got-want) > 1e-14*math.Max(1, math.Abs(want)) {
			t.Fatalf("ln %v = %v, want %v", x, got, want)
		}
		y := rapid.Float64Range(-690, 690).Draw(t, "y")
		if got, want := Exp(y), math.Exp(y); math.Abs(got/want-1) > 1e-14 {
			t.Fatalf("exp %v = %v, want %v", y, got, want)
		}
	})
}

func TestMeans(t *testing.T) {
	bits := Stream(1, 2)
	draw := Lognormal(50, 100)
	const draws, mean = 200_000, 50.0
	var geometric, lognormal float64
	for range draws {
		geometric += float64(Geometric(bits, mean))
		lognormal += draw(bits)
	}
	for name, sum := range map[string]float64{"geometric": geometric, "lognormal": lognormal} {
		if got := sum / draws; math.Abs(got-mean) > mean/50 {
			t.Errorf("%s: mean %v, want %v", name, got, mean)
		}
	}
}

func TestShuffleGivesEveryOrderAlike(t *testing.T) {
	bits := Stream(3, 4)
	counts := map[string]int{}
	const rounds = 60_000
	for range rounds {
		items := []byte("abc")
		Shuffle(bits, items)
		counts[string(items)]++
	}
	for order, n := range counts {
		if math.Abs(float64(n)-rounds/6) > 500 { // 5.5 standard deviations
			t.Errorf("order %s: %d of %d, want a sixth", order, n, rounds)
		}
	}
	if len(counts) != 6 {
		t.Errorf("%d orders, want 6", len(counts))
	}
}
