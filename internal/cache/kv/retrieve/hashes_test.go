package retrieve

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
)

// TestHashes compares the tokens with those whose products with the same directions have the most signs in common with
// those of the queries. Numbers are small, so that no product that is not 0 has another sign because of rounding.
func TestHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHead(t)
		h := &hashes{bits: rapid.IntRange(1, 200).Draw(t, "bits")}
		h.Begin(d.head)
		for i := range h.directions {
			h.directions[i] = float32(math.Round(4 * float64(h.directions[i])))
		}
		for _, s := range d.steps {
			want := naiveBest(d.head.From, s.To, s.K, func(token int) (same float64) {
				for query := range slices.Chunk(s.Queries, d.head.Dim) {
					for direction := range slices.Chunk(h.directions, d.head.Dim) {
						if (product(query, direction) > 0) == (product(d.key(token), direction) > 0) {
							same++
						}
					}
				}
				return same
			})
			slices.Sort(want)
			if got := h.Retrieve(nil, s); !slices.Equal(got, want) {
				t.Fatalf("tokens %v, want %v", got, want)
			}
		}
	})
}

// TestHashesByHand has the axes as directions: bits are the signs of the two numbers.
func TestHashesByHand(t *testing.T) {
	h := &hashes{bits: 2}
	h.Begin(Head{Keys: []float32{9, 9, -1, -1, 5, -1, -1, 5, 1, 1}, Dim: 2, From: 1, To: 5})
	copy(h.directions, []float32{1, 0, 0, 1})
	for k, want := range [][]int32{1: {4}, 2: {2, 4}, 3: {2, 3, 4}, 4: {1, 2, 3, 4}} {
		if k == 0 {
			continue
		}
		// (1,1) differs from the tokens 1 to 4 in 2, 1, 1 and 0 bits.
		if got := h.Retrieve(nil, Step{Queries: []float32{1, 1}, To: 5, K: k}); !slices.Equal(got, want) {
			t.Errorf("the nearest %d of (1,1) are %v, want %v", k, got, want)
		}
	}
	// With (1,-1) besides, which differs in 1, 0, 2 and 1: 3, 1, 3 and 1 together.
	if got := h.Retrieve(nil, Step{Queries: []float32{1, 1, 1, -1}, To: 5, K: 3}); !slices.Equal(got, []int32{1, 2, 4}) {
		t.Errorf("the nearest 3 of two queries are %v, want 1, 2, 4", got)
	}
}

// normalKeys returns a head of normal numbers, in which no key has the same product.
func normalKeys(tokens, dim int, seed uint64) Head {
	source := random.Stream(seed, 99)
	keys := make([]float32, tokens*dim)
	for i := range keys {
		keys[i] = float32(random.Normal(source))
	}
	return Head{Keys: keys, Dim: dim, To: tokens, Scale: 1 / math.Sqrt(float64(dim)), Seed: seed}
}

// TestManyBitsFindTheGreatestCosines as the share of the bits that differ is the angle over pi, with a standard
// deviation of at most 1/(2 sqrt(bits)).
func TestManyBitsFindTheGreatestCosines(t *testing.T) {
	head := normalKeys(brief.Of(2000, 500), 16, 3)
	query := normalKeys(1, 16, 4).Keys
	angle := func(token int) float64 {
		key := head.Keys[token*16:][:16]
		return math.Acos(product(key, query) / math.Sqrt(product(key, key)*product(query, query)))
	}
	k := head.To / 10
	want := naiveBest(0, head.To, k, func(token int) float64 { return -angle(token) })
	slices.Sort(want)
	last := 0
	for _, bits := range []int{16, 256, 4096} {
		h := &hashes{bits: bits}
		h.Begin(head)
		common := Overlap(h.Retrieve(nil, Step{Queries: query, To: head.To, K: k}), want)
		if common <= last {
			t.Errorf("%d bits find %d of the %d greatest cosines, fewer bits %d", bits, common, k, last)
		}
		last = common
		for token, distance := range h.distances {
			got, bound := float64(-distance)/float64(bits)*math.Pi, 5*math.Pi/(2*math.Sqrt(float64(bits)))
			if math.Abs(got-angle(token)) > bound {
				t.Fatalf("%d bits: token %d has the angle %v, want %v within %v", bits, token, got, angle(token), bound)
			}
		}
	}
	if last < k*85/100 {
		t.Errorf("4096 bits find %d of the %d greatest cosines, want 85%%", last, k)
	}
}
