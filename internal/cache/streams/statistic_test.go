package streams

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v within %v", what, got, want, tolerance)
	}
}

func TestCDFOfTenItems(t *testing.T) {
	want := []float64{0, 0.2, 0.377778, 0.533333, 0.666667, 0.777778, 0.866667, 0.933333, 0.977778, 1, 1}
	for k, f := range want {
		near(t, "F", CDF(float64(k), 10), f, 1e-6)
	}
	// It is the distribution of all pairs.
	for _, c := range []int{2, 3, 20, 57} {
		at := make([]int, c)
		for a := range c {
			for b := range c {
				at[max(a-b, b-a)]++
			}
		}
		sum := 0
		for k := 1; k < c; k++ {
			sum += at[k]
			near(t, "F", CDF(float64(k), float64(c)), float64(sum)/float64(c*(c-1)), 1e-12)
		}
	}
}

func TestStatistic(t *testing.T) {
	near(t, "D of gaps of 1", D([]uint64{1, 1, 1, 1, 1, 1, 1, 1, 1}, 10, Integer), 0.8, 1e-9)
	mixed := func() []uint64 { return []uint64{3, 5, 2, 7, 1, 4, 6, 2, 3} }
	near(t, "D of mixed gaps", D(mixed(), 10, Integer), 0.088889, 1e-6)
	// scipy.stats.kstest([3,5,2,7,1,4,6,2,3], F).statistic: before the gap 2, of which 1/9 are smaller, it uses F(2).
	near(t, "D of scipy", D(mixed(), 10, Scipy), 0.377778-1.0/9, 1e-6)
	near(t, "D of nothing", D(nil, 10, Integer), 0, 0)
	near(t, "the threshold for 99 gaps", Threshold(99, 0.01), 0.1615, 1e-4)
	near(t, "the threshold for 100 gaps", Threshold(100, 0.01), 0.1607, 1e-4)
	near(t, "the threshold at 0.05", Threshold(100, 0.05), 1.3581/(10+0.12+0.011), 1e-4)
	near(t, "the number of items", Items(99, 100), 101, 0)
}

// In its definition D is the largest difference at any k, before or after the step.
func TestStatisticEqualsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		c, n := 2+rng.IntN(60), 1+rng.IntN(40)
		gaps := make([]uint64, n)
		for i := range gaps {
			gaps[i] = uint64(1 + rng.IntN(c-1))
		}
		want := 0.0
		for k := 1; k < c; k++ {
			upTo := 0
			for _, g := range gaps {
				if g <= uint64(k) {
					upTo++
				}
			}
			want = max(want, math.Abs(float64(upTo)/float64(n)-CDF(float64(k), float64(c))))
		}
		near(t, "D", D(gaps, float64(c), Integer), want, 1e-12)
	}
}

func TestSteps(t *testing.T) {
	for _, test := range []struct {
		indexes       []uint64
		readers, want int
	}{
		{[]uint64{0, 1, 2, 3}, 1, 3},
		{[]uint64{0, 100, 1, 101, 2, 102}, 1, 0},
		{[]uint64{0, 100, 1, 101, 2, 102}, 2, 4},
		{[]uint64{0, 100, 200, 300, 1, 101, 201, 301}, 4, 4},
		{[]uint64{0, 100, 200, 300, 400, 1, 101, 201, 301, 401}, 4, 0},
		{[]uint64{9, 8, 7, math.MaxUint64, 0}, 4, 0}, // 0 follows nothing
		{nil, 4, 0},
	} {
		if got := Steps(test.indexes, test.readers); got != test.want {
			t.Errorf("%v with %d readers: %d steps, want %d", test.indexes, test.readers, got, test.want)
		}
	}
}

func TestRepeatsThatARandomOrderDoesNotHave(t *testing.T) {
	// A mean of 5: P(X >= 12) = 0.0055, P(X >= 14) = 0.0007 in the table of the Poisson distribution.
	if TooManyRepeats(12, 100, 1000) || !TooManyRepeats(14, 100, 1000) || TooManyRepeats(0, 100, 1e9) {
		t.Error("wrong limit for 100 of 1000")
	}
}

// draws returns n indexes by a rule.
func draws(n int, next func() uint64) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = next()
	}
	return all
}

// accepted reports whether the gaps of indexes pass the test; repeats of the last index are left out, as in the tree.
func accepted(indexes []uint64, c, alpha float64) bool {
	var gaps []uint64
	for i := 1; i < len(indexes); i++ {
		if g := distance(indexes[i-1], indexes[i]); g > 0 {
			gaps = append(gaps, g)
		}
	}
	return D(gaps, c, Integer) < Threshold(len(gaps), alpha)
}

func share(runs int, f func() bool) float64 {
	n := 0
	for range runs {
		if f() {
			n++
		}
	}
	return float64(n) / float64(runs)
}

// zipf returns draws of ranks below c with probabilities in proportion to 1/rank^s.
func zipf(rng *rand.Rand, c int, s float64) func() uint64 {
	sums := make([]float64, c)
	sum := 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -s)
		sums[i] = sum
	}
	return func() uint64 { return uint64(sort.SearchFloat64s(sums, rng.Float64()*sum)) }
}

// Permutations are accepted although their gaps depend on each other. Zipf is found by its repeats: the test below has
// what is found by the gaps.
func TestPowerOfTheTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const runs = 400
	for _, c := range []int{200, 10_000} {
		for _, n := range []int{11, 101} {
			permutation := func() []uint64 {
				order := rng.Perm(c)[:n]
				i := -1
				return draws(n, func() uint64 { i++; return uint64(order[i]) })
			}
			if got := share(runs, func() bool { return accepted(permutation(), float64(c), 0.01) }); got < 0.96 {
				t.Errorf("of permutations of %d, %d draws, %v are accepted, want 0.975 or more", c, n, got)
			}
			estimated := share(runs, func() bool {
				indexes := permutation()
				largest := uint64(0)
				for _, x := range indexes {
					largest = max(largest, x)
				}
				return accepted(indexes, Items(largest, n), 0.01)
			})
			if estimated < 0.96 {
				t.Errorf("of permutations of %d, %d draws, %v are accepted with an estimate of %d", c, n, estimated, c)
			}
			// The number of distinct children in place of the number of items finds nothing.
			if n == 101 && c == 10_000 && share(runs, func() bool { return accepted(permutation(), float64(n), 0.01) }) > 0 {
				t.Error("permutations are accepted with the number of distinct children")
			}
		}
	}
	const c = 100_000
	next := zipf(rng, c, 1)
	repeated := 0.0
	for range runs {
		seen := map[uint64]bool{}
		for _, x := range draws(100, next) {
			if seen[x] {
				repeated++
			}
			seen[x] = true
		}
	}
	near(t, "the mean of repeats", repeated/runs, 20, 1.5)
	if !TooManyRepeats(5, 100, c) {
		t.Error("5 repeats among 100 draws out of 100,000 are taken for a random order")
	}
}

// TestPowerTableOfTheDocumentation: docs/igtcache.md states which shares of Zipf streams are rejected.
func TestPowerTableOfTheDocumentation(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/igtcache.md"))(t)
	_, table, _ := strings.Cut(string(page), "| exponent | popularity in the order of the listing |")
	rng := rand.New(rand.NewPCG(5, 6))
	const c, runs = 100_000, 2000
	// The page has two digits, and the standard error of a share is at most 0.011.
	const tolerance = 0.03
	rows := 0
	for _, row := range strings.Split(table, "\n")[2:] {
		var exponent, inOrder, scattered float64
		if n, _ := fmt.Sscanf(row, "| %f | %f | %f |", &exponent, &inOrder, &scattered); n != 3 {
			break
		}
		rows++
		next := zipf(rng, c, exponent)
		near(t, fmt.Sprintf("the rejection of Zipf %v in order", exponent), share(runs, func() bool {
			return !accepted(draws(101, next), c, 0.01)
		}), inOrder, tolerance)
		near(t, fmt.Sprintf("the rejection of Zipf %v, scattered", exponent), share(runs, func() bool {
			places := map[uint64]uint64{} // of the ranks that occur; that two of 101 share one of 100,000 is unlikely
			return !accepted(draws(101, func() uint64 {
				rank := next()
				if _, known := places[rank]; !known {
					places[rank] = uint64(rng.IntN(c))
				}
				return places[rank]
			}), c, 0.01)
		}), scattered, tolerance)
	}
	if rows != 4 {
		t.Errorf("the table of docs/igtcache.md has %d rows of numbers, want 4", rows)
	}
}
