// Package softmax computes attention over one KV head: products of queries and keys, their exponentials, probabilities,
// the positions of the greatest numbers, and weighted sums of values. It computes in float32 and gives the same bits on
// every machine, on any number of cores, with AVX2 or without: no product is fused with a sum, and every sum has a
// fixed order. So numbers that are nearly equal compare the same way everywhere, and which k are the greatest need not
// be settled in float64, as it must be where the order of sums depends on the machine.
//
// Sums in eight lanes: number i is added to lane i mod 8, in ascending order of i, from 0. The sum of the lanes is
// ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7)).
package softmax

import "math"

const width = 8 // lanes

// Dot returns the product of two vectors of the same length, a sum in eight lanes. It is finite, as products are.
func Dot(a, b []float32) float32 { return finite(dot(a, b)) }

// Dots sets products[i] to the product of row i of a and row i of b, the rows of a dimension.
func Dots(products, a, b []float32, dim int) {
	for i := range products {
		products[i] = Dot(a[i*dim:][:dim], b[i*dim:][:dim])
	}
}

// Products sets products[j*n+i] to scale * <query j, key i>, for all rows of queries and all n rows of keys. A product
// is a sum in eight lanes, which is multiplied by the scale. Queries and keys are finite, and so are products: one that
// overflows is the greatest or the least finite float32, the least where lanes overflow in both directions.
func Products(products, queries, keys []float32, dim int, scale float32) {
	n := len(keys) / dim
	for j := range len(queries) / dim {
		query := queries[j*dim:][:dim]
		of := products[j*n:][:n]
		for i := range of {
			of[i] = finite(scale * dot(query, keys[i*dim:]))
		}
	}
}

// finite replaces infinities, and NaN, by finite numbers.
func finite(x float32) float32 {
	if !(x >= -math.MaxFloat32) {
		return -math.MaxFloat32
	}
	return min(x, math.MaxFloat32)
}

func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	k := 0
	for ; k+width <= len(a); k += width {
		x, y := (*[width]float32)(a[k:]), (*[width]float32)(b[k:])
		s0 += float32(x[0] * y[0])
		s1 += float32(x[1] * y[1])
		s2 += float32(x[2] * y[2])
		s3 += float32(x[3] * y[3])
		s4 += float32(x[4] * y[4])
		s5 += float32(x[5] * y[5])
		s6 += float32(x[6] * y[6])
		s7 += float32(x[7] * y[7])
	}
	s := [width]float32{s0, s1, s2, s3, s4, s5, s6, s7}
	for l := range len(a) - k {
		s[l] += float32(a[k+l] * b[k+l])
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// Probabilities sets p[j*n+i] to the probability that query j gives to key i, for all n keys: the softmax of the
// query's products. Greater products never have smaller probabilities. Products that are more than 87.3 below the
// query's greatest have 0.
func Probabilities(p, queries, keys []float32, dim int, scale float32) {
	Products(p, queries, keys, dim, scale)
	n := len(keys) / dim
	for j := range len(queries) / dim {
		soften(p[j*n:][:n])
	}
}

// soften replaces products by probabilities.
func soften(p []float32) {
	if len(p) == 0 {
		return
	}
	var sums lanes
	exp(p, p, greatest(p), &sums)
	share := float32(1 / sums.total())
	for i := range p {
		p[i] *= share
	}
}

func greatest(x []float32) float32 {
	m := x[0]
	for _, y := range x {
		m = max(m, y)
	}
	return m
}
