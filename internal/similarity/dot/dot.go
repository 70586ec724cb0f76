// Package dot computes dot products of vectors: of one pair in float64, always with the same bits, and of many pairs at
// a time in float32, in the order that is fastest. Processors with AVX2 and FMA, or AVX-512, run assembly, others Go.
package dot

// Sum returns the dot product of two vectors of the same length. Product k is added to sum k mod 4, in ascending order
// of k; if the length is not a multiple of 4, the last products are added to the first sum; the result is
// (s0+s1)+(s2+s3), in float64. A product of two float32 is exact in float64, so that additions fused with it or not
// give the same bits.
func Sum(a, b []float32) float64 {
	var s sums
	whole := len(a) &^ 3
	if assembly && whole > 0 {
		sumOf(&a[0], &b[:len(a)][0], whole, &s)
	} else {
		s.add(a[:whole], b)
	}
	return s.total(a, b)
}

// Pair is two vectors of the same length.
type Pair struct{ A, B []float32 }

// Four returns Sum of four pairs of vectors of one length, in less time than one pair after another.
func Four(p *[4]Pair) (products [4]float64) {
	n := len(p[0].A)
	whole := n &^ 3
	if !assembly || whole == 0 {
		for i := range p {
			products[i] = Sum(p[i].A, p[i].B)
		}
		return products
	}
	var s [4]sums
	var at [8]*float32
	for i := range p {
		at[2*i], at[2*i+1] = &p[i].A[:n][0], &p[i].B[:n][0]
	}
	sumOfFour(&at, whole, &s)
	for i := range p {
		products[i] = s[i].total(p[i].A, p[i].B)
	}
	return products
}

type sums [4]float64

// add is the Go twin of sumOf: len(a) is a multiple of 4.
func (s *sums) add(a, b []float32) {
	b = b[:len(a)]
	// Four sums, none of which waits for the additions of another.
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for k := 0; k+4 <= len(a); k += 4 {
		s0 += float64(a[k]) * float64(b[k])
		s1 += float64(a[k+1]) * float64(b[k+1])
		s2 += float64(a[k+2]) * float64(b[k+2])
		s3 += float64(a[k+3]) * float64(b[k+3])
	}
	*s = sums{s0, s1, s2, s3}
}

// total adds the products of an incomplete last four, and returns the sum of all.
func (s *sums) total(a, b []float32) float64 {
	s0 := s[0]
	for k := len(a) &^ 3; k < len(a); k++ {
		s0 += float64(a[k]) * float64(b[k])
	}
	return (s0 + s[1]) + (s[2] + s[3])
}

// The products of Rows vectors with Columns others make a tile. With AVX-512 a register has a row of it, and as many
// additions are under way as its two units take. AVX2 computes half a tile at a time, which is as large as its 16
// registers allow: 12 have the products, 2 the columns and 2 a row.
const (
	Rows    = 2 * half
	Columns = 16

	half = 6
)

// Tile has the products of a row with all columns, row by row.
type Tile [Rows * Columns]float32

// Panel has Columns vectors, element by element: the first of each, the second of each.
type Panel []float32

// NewPanel returns a panel of zeros for vectors of dim numbers.
func NewPanel(dim int) Panel { return make(Panel, Columns*dim) }

// Fill copies up to Columns vectors of a dimension, one after another in vectors, to the panel. Missing ones are 0.
func (p Panel) Fill(vectors []float32, dim int) {
	columns := len(vectors) / dim
	if columns < Columns {
		clear(p)
	}
	for c := range columns {
		at := c
		for _, x := range vectors[c*dim : (c+1)*dim] {
			p[at] = x
			at += Columns
		}
	}
}

// Multiply sets the tile to the products of the first Rows vectors in rows with the panel's, in float32, and
// reports whether any of them is at least from. The dimension is the panel's, at least 1.
func (t *Tile) Multiply(rows []float32, p Panel, from float32) bool {
	dim := len(p) / Columns
	rows = rows[:Rows*dim]
	switch {
	case wide:
		return multiplyWide(&rows[0], &p[0], dim, t, from)
	case assembly:
		upper := multiplyHalf(&rows[0], &p[0], dim, &t[0], from)
		lower := multiplyHalf(&rows[half*dim], &p[0], dim, &t[half*Columns], from)
		return upper || lower
	}
	return t.multiply(rows, p, from)
}

// multiply is the Go twin of the assembly: eight products at a time, as many as fit in the registers of any processor.
func (t *Tile) multiply(rows []float32, p Panel, from float32) (any bool) {
	dim := len(p) / Columns
	for r := range Rows {
		for c := 0; c < Columns; c += 8 {
			column := p[c:]
			var s0, s1, s2, s3, s4, s5, s6, s7 float32
			for k, x := range rows[r*dim:][:dim] {
				y := (*[8]float32)(column[k*Columns:])
				s0 += x * y[0]
				s1 += x * y[1]
				s2 += x * y[2]
				s3 += x * y[3]
				s4 += x * y[4]
				s5 += x * y[5]
				s6 += x * y[6]
				s7 += x * y[7]
			}
			*(*[8]float32)(t[r*Columns+c:]) = [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
			any = any || max(s0, s1, s2, s3, s4, s5, s6, s7) >= from
		}
	}
	return any
}
