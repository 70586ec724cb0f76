package allocate

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func hitsOf(curves []Curve, given []int64) (hits float64) {
	for i, c := range curves {
		hits += c.At(given[i])
	}
	return hits
}

// bruteForce returns the most hits of all divisions.
func bruteForce(curves []Curve, capacity int64) float64 {
	best := make([]float64, capacity+1) // with the curves so far, at most so much
	for _, c := range curves {
		next := make([]float64, capacity+1)
		for n := range next {
			for own := range n + 1 {
				next[n] = max(next[n], best[n-own]+c.At(int64(own)))
			}
		}
		best = next
	}
	return best[capacity]
}

func TestBestDivisionAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Int64Range(0, 25).Draw(t, "capacity")
		curves := make([]Curve, rapid.IntRange(1, 5).Draw(t, "pools"))
		for i := range curves {
			curves[i] = drawCurve(t, rapid.Int64Range(0, 25).Draw(t, "length"))
		}
		given := bestDivision(curves, capacity)
		if total(given) > capacity {
			t.Fatalf("%v is more than %d", given, capacity)
		}
		if got, want := hitsOf(curves, given), bruteForce(curves, capacity); got != want {
			t.Fatalf("%v has %v hits, the best division %v", given, got, want)
		}
	})
}

// Two loops of 6 objects and a tenant that gains little by little: capacity 8 holds one loop, and the rest goes where
// it is of use. Going up the hulls takes the first loop and then has nothing that fits.
func TestBestDivisionOfLoops(t *testing.T) {
	loop := Curve{{6, 600}}
	slow := Curve{{1, 10}, {2, 20}, {3, 30}, {4, 40}}
	given := bestDivision([]Curve{loop, slow, loop}, 8)
	if got := hitsOf([]Curve{loop, slow, loop}, given); got != 620 {
		t.Errorf("%v has %v hits, want 620", given, got)
	}
}

// Curves of a thousand tenants with cliffs and of a million points are divided within seconds.
func TestBestDivisionIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	curves := make([]Curve, 1000)
	for i := range curves {
		hits := 0.0
		for n := int64(1); n <= 1000; n++ {
			if random.IntN(50) == 0 {
				hits += float64(random.IntN(1000))
				curves[i] = append(curves[i], Point{n, hits + 1})
			}
		}
	}
	start := time.Now()
	given := bestDivision(curves, 100000)
	greedy, _ := greedyDivision(curves, 100000)
	if total(given) > 100000 || hitsOf(curves, given) < hitsOf(curves, greedy) {
		t.Errorf("%v hits in %d, the hulls alone have %v", hitsOf(curves, given), total(given), hitsOf(curves, greedy))
	}
	t.Logf("%v, %v hits, by the hulls alone %v", time.Since(start), hitsOf(curves, given), hitsOf(curves, greedy))
}
