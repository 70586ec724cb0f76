package reuse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/processor"
)

// vectors returns n random vectors of a dimension, one after another.
func vectors(r *rand.Rand, n, dim int) []float32 {
	v := make([]float32, n*dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// cosinesOf returns the cosines of n pairs of vectors.
func cosinesOf(queries, label []float32, n, dim int) []float64 {
	norms, labelNorms, got := make([]float64, n), make([]float64, n), make([]float64, n)
	Norms(norms, queries, dim)
	Norms(labelNorms, label, dim)
	Cosines(got, queries, label, dim, norms, labelNorms)
	return got
}

func TestCosines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 3, 4, 5, 8, 11} {
		for _, dim := range []int{1, 3, 64, 128} {
			queries, label := vectors(r, n, dim), vectors(r, n, dim)
			for i, got := range cosinesOf(queries, label, n, dim) {
				var product, a, b float64
				for k := i * dim; k < (i+1)*dim; k++ {
					x, y := float64(queries[k]), float64(label[k])
					product, a, b = product+x*y, a+x*x, b+y*y
				}
				if want := product / math.Sqrt(a) / math.Sqrt(b); math.Abs(got-want) > 1e-14 {
					t.Errorf("group of %d, dimension %d: cosine %d is %v, want %v", n, dim, i, got, want)
				}
			}
		}
	}
}

// TestCosinesOfParallels is what strict thresholds of 1 and -1 rely on, however long the vectors.
func TestCosinesOfParallels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n, dim = 64, 100
	for _, scale := range []float32{1e-42, 1e-20, 1, 1e30} {
		queries := vectors(r, n, dim)
		opposite := make([]float32, len(queries))
		for i := range queries {
			queries[i] *= scale
			opposite[i] = -queries[i]
		}
		same, other := cosinesOf(queries, queries, n, dim), cosinesOf(queries, opposite, n, dim)
		for i := range n {
			if same[i] != 1 || other[i] != -1 {
				t.Errorf("scale %v: cosine with itself %v, with its opposite %v", scale, same[i], other[i])
			}
		}
	}
}

// TestCosinesAreBounded: vectors whose directions are the same up to rounding have products that rounding makes larger
// than their norms.
func TestCosinesAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n, dim = 500, 7
	queries := vectors(r, n, dim)
	thirds := make([]float32, len(queries))
	for i, x := range queries {
		thirds[i] = x / 3
	}
	for _, c := range cosinesOf(queries, thirds, n, dim) {
		if c > 1 || c < 1-1e-12 {
			t.Errorf("the cosine of parallel vectors is %v", c)
		}
	}
}

func TestNoNormIsNoSimilarity(t *testing.T) {
	zero, one := []float32{0, 0}, []float32{1, 0}
	for _, pair := range [][2][]float32{{zero, one}, {one, zero}, {zero, zero}} {
		if c := cosinesOf(pair[0], pair[1], 1, 2); c[0] != -1 {
			t.Errorf("cosine of %v and %v: %v, want -1", pair[0], pair[1], c[0])
		}
	}
}

// BenchmarkLookup measures lookups of qsac: the cosines of a group of 4 query heads of 128 numbers, their mean, and the
// comparison, per second of processor time. There are as many heads as a model has, so that queries and labels come
// from the second cache level.
func BenchmarkLookup(b *testing.B) {
	const heads, group, dim = 256, 4, 128
	r := rand.New(rand.NewPCG(7, 8))
	queries, labels := vectors(r, heads*group, dim), vectors(r, heads*group, dim)
	norms, labelNorms := make([]float64, heads*group), make([]float64, heads*group)
	Norms(norms, queries, dim)
	Norms(labelNorms, labels, dim)
	rule := mustRule("qsac", Head{Importance: 0.9, QueryImportances: []float64{.9, .8, .7, .6}, Group: group})
	for _, known := range []bool{true, false} {
		b.Run(fmt.Sprintf("norms-known=%v", known), func(b *testing.B) {
			l := Lookup{Step: 1, Similarities: make([]float64, group)}
			before := processor.Time()
			for i := range b.N {
				at := i % heads * group
				q := queries[at*dim:][:group*dim]
				if !known {
					Norms(norms[at:][:group], q, dim)
				}
				Cosines(l.Similarities, q, labels[at*dim:], dim, norms[at:], labelNorms[at:])
				rule.Reuse(&l)
			}
			b.ReportMetric(float64(b.N)/(processor.Time()-before).Seconds()/1e6, "Mheads/s")
		})
	}
}
