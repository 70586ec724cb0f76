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

// eights returns how many of the first of n numbers the assembly computes with.
func eights(n int) int {
	if !assembly {
		return 0
	}
	return n &^ (width - 1)
}

// masks has masks of the first numbers of eight, from its places before 8.
var masks = [2 * width]int32{-1, -1, -1, -1, -1, -1, -1, -1}

// maskOf returns the mask of the last numbers of a row, nil if there are none beyond whole eights.
func maskOf(dim int) *int32 {
	if rest := dim % width; rest > 0 {
		return &masks[width-rest]
	}
	return nil
}

// Dot returns the product of two vectors of the same length, a sum in eight lanes. It is finite, as products are.
func Dot(a, b []float32) float32 { return finite(dot(a, b)) }

// Products sets products[j*n+i] to scale * <query j, key i>, for all rows of queries and all n rows of keys. A product
// is a sum in eight lanes, which is multiplied by the scale. Queries and keys are finite, and so are products: one that
// overflows is the greatest or the least finite float32, the least where lanes overflow in both directions.
func Products(products, queries, keys []float32, dim int, scale float32) {
	stepProducts(products, queries, keys, dim, scale, 1)
}

// stepProducts is Products for consecutive steps, as StepProbabilities has them.
func stepProducts(products, queries, keys []float32, dim int, scale float32, steps int) {
	if len(queries) == 0 {
		return
	}
	all := stepsOf(len(queries)/dim, len(keys)/dim, steps)
	common := 0 // keys of whose products with all queries assembly has computed
	if assembly && all.first >= tileKeys {
		common = all.first
		productsByTiles(products, queries, keys[:common*dim], dim, scale, all)
	}
	for j := range len(queries) / dim {
		query := queries[j*dim:][:dim]
		of := all.row(products, j)
		for i := common; i < len(of); i++ {
			of[i] = finite(scale * dot(query, keys[i*dim:]))
		}
	}
}

// Assembly computes products of tileKeys keys and up to three queries at a time, as many as the registers have room
// for. Further queries go over the same keys again while these are in the first cache of the processor, of which they
// take blockBytes. Keys of up to residentBytes are probably in the second.
const tileKeys, blockBytes, residentBytes = 4, 16 << 10, 256 << 10

// productsByTiles computes with assembly the products of at least one query and tileKeys keys, which all queries see.
func productsByTiles(products, queries, keys []float32, dim int, scale float32, all steps) {
	n := len(keys) / dim
	block := max(tileKeys, blockBytes/(4*dim)&^(tileKeys-1))
	ahead := blockBytes
	if 4*len(keys) <= residentBytes {
		ahead = 0
	}
	for first := 0; first < n; first += block {
		size := min(block, n-first)
		whole := size &^ (tileKeys - 1)
		for step := range all.steps {
			of, stride := products[all.before(step):], all.first+step
			q := queries[step*all.group*dim:][:all.group*dim]
			if whole > 0 {
				requested := ahead
				if step > 0 {
					requested = 0
				}
				productsOfBlock(of[first:], q, keys[first*dim:][:whole*dim], dim, stride, requested, scale)
			}
			if whole < size { // the last tile overlaps with the one before
				productsOfBlock(of[n-tileKeys:], q, keys[(n-tileKeys)*dim:], dim, stride, 0, scale)
			}
		}
	}
}

// productsOfBlock computes products of whole tiles. Rows of products are stride numbers apart.
func productsOfBlock(products, queries, keys []float32, dim, stride, ahead int, scale float32) {
	n, mask := len(keys)/dim, maskOf(dim)
	for group := len(queries) / dim; group > 0; {
		multiply, at := products3, 3
		switch group {
		case 4, 2: // two and two are faster than three and one
			multiply, at = products2, 2
		case 1:
			multiply, at = products1, 1
		}
		_ = products[(at-1)*stride:][n-1]
		multiply(&products[0], &queries[0], &keys[0], n, dim, stride, mask, ahead, scale)
		ahead = 0 // these keys have been read
		if group -= at; group > 0 {
			products, queries = products[at*stride:], queries[at*dim:]
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
	var s [width]float32
	whole := len(a) &^ (width - 1)
	if assembly && whole > 0 {
		lanesOf(&a[0], &b[0], whole, &s)
	} else {
		s = lanesIn(a[:whole], b)
	}
	for l := range len(a) - whole {
		s[l] += float32(a[whole+l] * b[whole+l])
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// lanesIn is the Go twin of lanesOf.
func lanesIn(a, b []float32) [width]float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for k := 0; k+width <= len(a); k += width {
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
	return [width]float32{s0, s1, s2, s3, s4, s5, s6, s7}
}

// Probabilities sets p[j*n+i] to the probability that query j gives to key i, for all n keys: the softmax of the
// query's products. Greater products never have smaller probabilities. Products that are more than 87.3 below the
// query's greatest have 0.
func Probabilities(p, queries, keys []float32, dim int, scale float32) {
	StepProbabilities(p, queries, keys, dim, scale, 1)
}

// soften replaces products by probabilities.
func soften(p []float32) {
	if len(p) == 0 {
		return
	}
	var sums lanes
	exp(p, p, greatest(p), &sums)
	share := float32(1 / sums.total())
	whole := eights(len(p))
	if whole > 0 {
		multiplyMany(&p[0], whole, share)
	}
	for i := whole; i < len(p); i++ {
		p[i] *= share
	}
}

func greatest(x []float32) float32 {
	if assembly && len(x) >= width {
		return greatestOf(&x[0], len(x))
	}
	m := x[0]
	for _, y := range x {
		m = max(m, y)
	}
	return m
}
