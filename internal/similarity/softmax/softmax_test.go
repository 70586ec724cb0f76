package softmax

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
)

// normal draws numbers of the magnitudes that queries, keys and values have.
func normal(random *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	return x
}

// withAndWithout runs a test with the assembly, if the processor has what it needs, and without.
func withAndWithout(t *testing.T, test func(t *testing.T)) {
	has := assembly
	t.Cleanup(func() { setAssembly(has) })
	for _, on := range []bool{false, true} {
		if on && !has {
			t.Log("this processor runs no assembly")
			continue
		}
		setAssembly(on)
		test(t)
	}
}

// naiveDot is the definition of a product, and the sum of the magnitudes in it.
func naiveDot(a, b []float32) (product float32, size float64) {
	var s [8]float32
	for k := range a {
		p := float32(a[k] * b[k])
		s[k%8] += p
		size += math.Abs(float64(p))
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])), size
}

// exactDot is a product in float64.
func exactDot(a, b []float32) (product float64) {
	for k := range a {
		product += float64(a[k]) * float64(b[k])
	}
	return product
}

// TestProducts compares products with their definition, bit by bit, and with float64.
func TestProducts(t *testing.T) { withAndWithout(t, testProducts) }

func testProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		dim := rapid.IntRange(1, 300).Draw(t, "dim")
		group, n := rapid.IntRange(0, 9).Draw(t, "group"), rapid.IntRange(0, 70).Draw(t, "keys")
		scale := float32(1 / math.Sqrt(float64(dim)))
		queries, keys := normal(random, group*dim), normal(random, n*dim)
		products := make([]float32, group*n)
		Products(products, queries, keys, dim, scale)
		for j := range group {
			for i := range n {
				q, k := queries[j*dim:][:dim], keys[i*dim:][:dim]
				dot, size := naiveDot(q, k)
				got := products[j*n+i]
				if want := scale * dot; math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("product of query %d and key %d is %v, want %v", j, i, got, want)
				}
				// each number in the sum is rounded as a product, once per row of lanes, in three sums of lanes, and scaled
				bound := float64(scale) * size * float64(dim/8+6) * 0x1p-24
				if want := float64(scale) * exactDot(q, k); math.Abs(float64(got)-want) > bound {
					t.Fatalf("product of query %d and key %d is %v, want %v within %v", j, i, got, want, bound)
				}
			}
		}
		for i := range min(group, n) {
			query, key := queries[i*dim:][:dim], keys[i*dim:][:dim]
			want, _ := naiveDot(query, key)
			if got := Dot(query, key); math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("product of rows %d is %v, want %v", i, got, want)
			}
		}
	})
}

// TestProductsOverflow has products that are no finite numbers.
func TestProductsOverflow(t *testing.T) { withAndWithout(t, testOverflow) }

func testOverflow(t *testing.T) {
	const dim, most = 9, math.MaxFloat32
	row := func(at ...float32) []float32 { return append(at, make([]float32, dim-len(at))...) }
	query := row(most, most)
	keys := slices.Concat(row(2), row(-2), row(2, -2), row(0.5), row(most, most), row(most, -most), row(1, 1), row())
	want := []float32{most, -most, -most, most / 2, most, -most, most, 0}
	got := make([]float32, len(want))
	Products(got, query, keys, dim, 1)
	if !slices.Equal(got, want) {
		t.Errorf("products are %v, want %v", got, want)
	}
	for i, x := range want {
		if got := Dot(query, keys[i*dim:][:dim]); got != x {
			t.Errorf("product %d is %v, want %v", i, got, x)
		}
	}
	Products(got, query, keys, dim, 0)
	if want := []float32{-most, -most, -most, 0, -most, -most, -most, 0}; !slices.Equal(got, want) {
		t.Errorf("products times 0 are %v, want %v", got, want)
	}
	Probabilities(got, query, keys, dim, 1)
	if want := []float32{1. / 3, 0, 0, 0, 1. / 3, 0, 1. / 3, 0}; !slices.Equal(got, want) {
		t.Errorf("probabilities are %v, want %v", got, want)
	}
}

// TestProbabilities compares probabilities with those of float64.
func TestProbabilities(t *testing.T) { withAndWithout(t, testProbabilities) }

func testProbabilities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		dim := rapid.IntRange(1, 130).Draw(t, "dim")
		group, n := rapid.IntRange(1, 8).Draw(t, "group"), rapid.IntRange(1, 70).Draw(t, "keys")
		scale := float32(rapid.SampledFrom([]float64{-0.3, 0, 0.1, 1, 10}).Draw(t, "scale"))
		queries, keys := normal(random, group*dim), normal(random, n*dim)
		p, products := make([]float32, group*n), make([]float32, group*n)
		Products(products, queries, keys, dim, scale)
		Probabilities(p, queries, keys, dim, scale)
		for j := range group {
			checkSoftmax(t, p[j*n:][:n], products[j*n:][:n])
		}
	})
}

// TestSteps compares the queries of several steps with those of each step by itself, bit by bit.
func TestSteps(t *testing.T) { withAndWithout(t, testSteps) }

func testSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		dim, group := rapid.IntRange(1, 40).Draw(t, "dim"), rapid.IntRange(1, 9).Draw(t, "group")
		steps, first := rapid.IntRange(1, 9).Draw(t, "steps"), rapid.IntRange(1, 90).Draw(t, "keys of the first step")
		n := first + steps - 1
		queries, keys, values := normal(random, steps*group*dim), normal(random, n*dim), normal(random, n*dim)
		p := normal(random, group*(steps*first+steps*(steps-1)/2)+1)
		outputs := normal(random, steps*group*dim+1)
		behind, behindOutputs := p[len(p)-1], outputs[len(outputs)-1]
		got, sums := p[:len(p)-1], outputs[:len(outputs)-1]
		StepProbabilities(got, queries, keys, dim, 0.3, steps)
		StepWeighted(sums, got, values, dim, steps)
		for seen := first; seen <= n; seen++ {
			p, o := make([]float32, group*seen), make([]float32, group*dim)
			Probabilities(p, queries[:group*dim], keys[:seen*dim], dim, 0.3)
			Weighted(o, p, values[:seen*dim], dim)
			if !slices.Equal(got[:len(p)], p) || !slices.Equal(sums[:len(o)], o) {
				t.Fatalf("with %d keys: probabilities %v, outputs %v, want %v, %v", seen, got[:len(p)], sums[:len(o)], p, o)
			}
			queries, got, sums = queries[group*dim:], got[len(p):], sums[len(o):]
		}
		if p[len(p)-1] != behind || outputs[len(outputs)-1] != behindOutputs {
			t.Fatal("a number behind the results has changed")
		}
	})
}

// fataler is what checks need of *testing.T and *rapid.T.
type fataler interface{ Fatalf(string, ...any) }

// checkSoftmax compares probabilities with those of products in float64. The difference to the greatest product is
// rounded, once; the rest of the error is relative.
func checkSoftmax(t fataler, p, products []float32) {
	m, total := float64(slices.Max(products)), 0.0
	for _, x := range products {
		total += math.Exp(float64(x) - m)
	}
	for i, x := range products {
		below := m - float64(x)
		want := math.Exp(-below) / total
		bound := want*(4e-7+below*0x1p-24) + 0x1p-126
		if math.Abs(float64(p[i])-want) > bound {
			t.Fatalf("probability %d is %v, want %v within %v", i, p[i], want, bound)
		}
	}
}

// TestProbabilitiesOfMany has a million keys: the error of a probability does not grow with their number.
func TestProbabilitiesOfMany(t *testing.T) {
	n := brief.Of(1<<20, 1<<16)
	keys := normal(rand.New(rand.NewPCG(1, 2)), n)
	p, products := make([]float32, n), make([]float32, n)
	for _, scale := range []float32{0, 0.01, 3} {
		Products(products, []float32{1}, keys, 1, scale)
		Probabilities(p, []float32{1}, keys, 1, scale)
		checkSoftmax(t, p, products)
		if total := sumOf(p); math.Abs(total-1) > 2e-7 {
			t.Errorf("probabilities add up to %v, want 1", total)
		}
	}
}

// sumOf returns the sum of all numbers, as SumRows adds them.
func sumOf(numbers []float32) float64 {
	rows := make([]int32, len(numbers))
	for i := range rows {
		rows[i] = int32(i)
	}
	return SumRows(numbers, rows)
}

// TestNothing has no queries or no keys.
func TestNothing(t *testing.T) { withAndWithout(t, testNothing) }

func testNothing(t *testing.T) {
	Probabilities(nil, nil, nil, 5, 1)
	Probabilities(nil, make([]float32, 10), nil, 5, 1)
	Probabilities(nil, nil, make([]float32, 10), 5, 1)
	Dot(nil, nil)
	Exp(nil, nil)
	dst := []float32{1, 2}
	if Weighted(dst, nil, nil, 2); dst[0] != 0 || dst[1] != 0 {
		t.Errorf("the sum of no rows is %v, want 0", dst)
	}
	dst = []float32{1, 2}
	if WeightedRows(dst, nil, nil, nil, 2); dst[0] != 0 || dst[1] != 0 {
		t.Errorf("the sum of no rows is %v, want 0", dst)
	}
	if SumQueries(dst[:0], nil); SumRows(dst, nil) != 0 {
		t.Error("the sum of no numbers is not 0")
	}
}
