package softmax

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// naiveTop sorts.
func naiveTop(numbers []float32, k int) []int32 {
	order := make([]int32, len(numbers))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(numbers[b], numbers[a]) })
	order = order[:min(k, len(order))]
	slices.Sort(order)
	return order
}

// kinds of numbers, by what makes them difficult.
var kinds = map[string]func(random *rand.Rand, i int) float32{
	"normal":  func(r *rand.Rand, _ int) float32 { return float32(r.NormFloat64()) },
	"softmax": func(r *rand.Rand, _ int) float32 { return float32(math.Exp(6 * r.NormFloat64())) },
	"ties":    func(r *rand.Rand, _ int) float32 { return float32(r.IntN(5) - 2) },
	"zeros":   func(r *rand.Rand, _ int) float32 { return float32(math.Copysign(0, r.Float64()-0.5)) },
	"mostly zero": func(r *rand.Rand, _ int) float32 {
		return float32(max(0, r.IntN(100)-97))
	},
	"near":       func(r *rand.Rand, _ int) float32 { return math.Float32frombits(0x3f800000 + r.Uint32N(9)) },
	"subnormal":  func(r *rand.Rand, _ int) float32 { return math.Float32frombits(r.Uint32N(1 << 23)) },
	"infinite":   func(r *rand.Rand, _ int) float32 { return float32(math.Inf(r.IntN(2)*2 - 1)) },
	"every bit":  func(r *rand.Rand, _ int) float32 { return notNaN(math.Float32frombits(r.Uint32())) },
	"ascending":  func(_ *rand.Rand, i int) float32 { return float32(i) },
	"descending": func(_ *rand.Rand, i int) float32 { return float32(-i) },
	// What is sampled is greater, or less, than the rest.
	"great samples": func(r *rand.Rand, i int) float32 { return r.Float32() + float32(1-min(1, i%sampleEvery)) },
	"small samples": func(r *rand.Rand, i int) float32 { return r.Float32() + float32(min(1, i%sampleEvery)) },
}

func notNaN(x float32) float32 {
	if x != x {
		return 0
	}
	return x
}

// TestTop compares the greatest numbers with those that sorting finds.
func TestTop(t *testing.T) { withAndWithout(t, testTop) }

func testTop(t *testing.T) {
	for kind, draw := range kinds {
		t.Run(kind, func(t *testing.T) {
			var s Selector
			rapid.Check(t, func(t *rapid.T) {
				random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
				n := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(fewNumbers-2, 3*fewNumbers)).Draw(t, "n")
				k := rapid.OneOf(rapid.IntRange(0, n), rapid.Just(n), rapid.Just(n/10), rapid.Just(n+3)).Draw(t, "k")
				numbers := make([]float32, n)
				for i := range numbers {
					numbers[i] = draw(random, i)
				}
				got := s.Top([]int32{-7}, numbers, k)
				if got[0] != -7 || !slices.Equal(got[1:], naiveTop(numbers, k)) {
					t.Fatalf("the %d greatest of %d are not those of sorting", k, n)
				}
			})
		})
	}
}

// TestTopOrdersNaN has NaN of both signs.
func TestTopOrdersNaN(t *testing.T) { withAndWithout(t, testTopOrdersNaN) }

func testTopOrdersNaN(t *testing.T) {
	nan := math.Float32frombits(0x7fffffff)
	inf := float32(math.Inf(1))
	numbers := []float32{-inf, nan, 3, math.Float32frombits(0xffffffff), inf}
	var s Selector
	for k, want := range [][]int32{nil, {1}, {1, 4}, {1, 2, 4}, {0, 1, 2, 4}, {0, 1, 2, 3, 4}} {
		if got := s.Top(nil, numbers, k); !slices.Equal(got, want) {
			t.Errorf("the %d greatest are %v, want %v", k, got, want)
		}
	}
}

// TestNearTies finds the tenth of keys that are equal but for their last bits. Sums of probabilities at the border are
// then a few units in the last place apart, or equal, and the set must still be that of every other machine.
func TestNearTies(t *testing.T) { withAndWithout(t, testNearTies) }

func testNearTies(t *testing.T) {
	const dim, group, n = 128, 4, 5000
	random := rand.New(rand.NewPCG(3, 4))
	queries, keys := mixed(random, 0, group*dim), make([]float32, 0, n*dim)
	one := mixed(random, 0, dim)
	for range n {
		for _, x := range one {
			keys = append(keys, math.Float32frombits(math.Float32bits(x)^random.Uint32N(4)))
		}
	}
	p, sums := make([]float32, group*n), make([]float32, n)
	Probabilities(p, queries, keys, dim, 0.09)
	SumQueries(sums, p)
	var s Selector
	top := s.Top(nil, sums, n/10)
	least := float32(math.Inf(1))
	for _, i := range top {
		least = min(least, sums[i])
	}
	near := 0
	for _, x := range sums {
		if distance := int32(math.Float32bits(x) - math.Float32bits(least)); -2 <= distance && distance <= 2 {
			near++
		}
	}
	if near < 100 {
		t.Errorf("%d sums are near the least of the set, want at least 100, or the test shows nothing", near)
	}
	hash := fnv.New64a()
	must.Do(t, binary.Write(hash, binary.LittleEndian, top))
	if got, want := hash.Sum64(), uint64(0xbbcc7283b6823413); got != want {
		t.Errorf("the hash of the set is %#x, want %#x", got, want)
	}
}
