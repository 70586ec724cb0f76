package reuse

import (
	"math"

	"github.com/cachesim/cachesim/internal/similarity/dot"
)

// Norms sets dst[i] to the squared norm of the i-th vector. The bits are the same on every machine.
func Norms(dst []float64, vectors []float32, dim int) { products(dst, vectors, vectors, dim) }

// Cosines sets dst[i] to the cosine of the i-th query and the i-th query of a label, given the squared norms of both: a
// number in [-1,1], and -1 if one of the two has no norm. The bits are the same on every machine. Equal vectors have
// the cosine 1, opposite ones -1, without rounding.
func Cosines(dst []float64, queries, label []float32, dim int, norms, labelNorms []float64) {
	products(dst, queries, label, dim)
	for i, product := range dst {
		// A product of squares of float32 neither overflows nor vanishes in float64, and the root of a square is exact.
		if square := norms[i] * labelNorms[i]; square > 0 {
			dst[i] = max(-1, min(1, product/math.Sqrt(square)))
		} else {
			dst[i] = -1
		}
	}
}

// products sets dst[i] to the product of the i-th vectors of a and b, four at a time as far as they go.
func products(dst []float64, a, b []float32, dim int) {
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		var p [4]dot.Pair
		for j := range p {
			at := (i + j) * dim
			p[j] = dot.Pair{A: a[at:][:dim], B: b[at:][:dim]}
		}
		four := dot.Four(&p)
		copy(dst[i:], four[:])
	}
	for ; i < len(dst); i++ {
		dst[i] = dot.Sum(a[i*dim:][:dim], b[i*dim:][:dim])
	}
}
