package dot

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// naiveSum is the definition of Sum.
func naiveSum(a, b []float32) float64 {
	var s [4]float64
	for k := range a {
		lane := k % 4
		if k >= len(a)/4*4 {
			lane = 0
		}
		product := float64(a[k]) * float64(b[k])
		s[lane] += product
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// withAndWithout runs a test with each kind of assembly, if the processor has what it needs, and without.
func withAndWithout(t *testing.T, test func(t *testing.T)) {
	has, hasWide := assembly, wide
	t.Cleanup(func() { setAssembly(has, hasWide) })
	for _, on := range []struct{ any, wide bool }{{false, false}, {true, false}, {true, true}} {
		if on.any && !has || on.wide && !hasWide {
			t.Logf("this processor runs no assembly of this kind (AVX-512: %v)", on.wide)
			continue
		}
		setAssembly(on.any, on.wide)
		test(t)
	}
}

// anyNumbers draws numbers of all magnitudes, as sums of them depend on the order most.
func anyNumbers(random *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(random.NormFloat64() * math.Pow(10, 40*random.Float64()-30))
	}
	return x
}

func TestSumsHaveTheSameBits(t *testing.T) {
	withAndWithout(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			n := rapid.IntRange(0, 70).Draw(t, "n")
			var pairs [4]Pair
			for i := range pairs {
				pairs[i] = Pair{anyNumbers(random, n), anyNumbers(random, n)}
			}
			four := Four(&pairs)
			for i, p := range pairs {
				want := math.Float64bits(naiveSum(p.A, p.B))
				if got := math.Float64bits(Sum(p.A, p.B)); got != want {
					t.Fatalf("a sum of %d is %x, want %x", n, got, want)
				}
				if got := math.Float64bits(four[i]); got != want {
					t.Fatalf("sum %d of four of %d is %x, want %x", i, n, got, want)
				}
			}
		})
	})
}

func TestTileHasAllProducts(t *testing.T) {
	withAndWithout(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			dim, columns := rapid.IntRange(1, 70).Draw(t, "dim"), rapid.IntRange(0, Columns).Draw(t, "columns")
			whole := func(n int) []float32 { // numbers whose products and sums are exact
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(random.IntN(200) - 100)
				}
				return x
			}
			rows, vectors := whole(Rows*dim), whole(columns*dim)
			p := NewPanel(dim)
			p.Fill(whole(Columns*dim), dim) // what it had before is gone
			p.Fill(vectors, dim)
			var tile Tile
			tile.Multiply(rows, p, 0)
			largest := float32(math.Inf(-1))
			for r := range Rows {
				for c := range Columns {
					want := float32(0)
					if c < columns {
						want = float32(naiveSum(rows[r*dim:][:dim], vectors[c*dim:]))
					}
					if got := tile[r*Columns+c]; got != want {
						t.Fatalf("product of row %d and column %d of %d is %v, want %v", r, c, columns, got, want)
					}
					largest = max(largest, want)
				}
			}
			if !tile.Multiply(rows, p, largest) || tile.Multiply(rows, p, math.Nextafter32(largest, 1e9)) {
				t.Fatalf("the largest product is %v", largest)
			}
		})
	})
}

// TestWideTilesHaveTheSameBits: every product is one chain of additions, in the order of the elements, in registers of
// any width.
func TestWideTilesHaveTheSameBits(t *testing.T) {
	has, hasWide := assembly, wide
	if !hasWide {
		t.Skip("this processor has no AVX-512")
	}
	t.Cleanup(func() { setAssembly(has, hasWide) })
	random := rand.New(rand.NewPCG(2, 2))
	for _, dim := range []int{1, 3, 4, 5, 64, 383, 384} {
		rows, p := anyNumbers(random, Rows*dim), NewPanel(dim)
		p.Fill(anyNumbers(random, Columns*dim), dim)
		var narrow, whole Tile
		setAssembly(true, false)
		narrow.Multiply(rows, p, 0)
		setAssembly(true, true)
		whole.Multiply(rows, p, 0)
		for i := range narrow {
			if got, want := math.Float32bits(whole[i]), math.Float32bits(narrow[i]); got != want {
				t.Fatalf("product %d of dimension %d is %x, want %x", i, dim, got, want)
			}
		}
	}
}

func benchmarkVectors(n int) []float32 {
	random := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	return x
}

func BenchmarkSum384(b *testing.B) {
	x, y := benchmarkVectors(384), benchmarkVectors(384)
	for b.Loop() {
		Sum(x, y)
	}
}

func BenchmarkFour384(b *testing.B) {
	x := benchmarkVectors(8 * 384)
	var p [4]Pair
	for i := range p {
		p[i] = Pair{x[2*i*384:][:384], x[(2*i+1)*384:][:384]}
	}
	for b.Loop() {
		Four(&p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4, "ns/pair")
}

func BenchmarkTile(b *testing.B) {
	has, hasWide := assembly, wide
	defer setAssembly(has, hasWide)
	for _, bench := range []struct {
		name           string
		assembly, wide bool
		dim            int
	}{{"384", has, hasWide, 384}, {"1536", has, hasWide, 1536}, {"384AVX2", has, false, 384},
		{"384Go", false, false, 384}} {
		b.Run(bench.name, func(b *testing.B) {
			setAssembly(bench.assembly, bench.wide)
			const sets = 40
			rows, p := benchmarkVectors(sets*Rows*bench.dim), NewPanel(bench.dim)
			p.Fill(benchmarkVectors(Columns*bench.dim), bench.dim)
			var tile Tile
			i := 0
			for b.Loop() {
				tile.Multiply(rows[i*Rows*bench.dim:], p, 1e9)
				i = (i + 1) % sets
			}
			flop := 2 * Rows * Columns * float64(bench.dim) * float64(b.N)
			b.ReportMetric(flop/float64(b.Elapsed().Nanoseconds()), "Gflop/s")
		})
	}
}
