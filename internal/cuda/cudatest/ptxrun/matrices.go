package ptxrun

import "math"

// multiplyMatrices is mma.sync of matrices in half precision, 16 x 16 and 16 x 8, with sums in float32.
func multiplyMatrices(c *compiler) {
	c.is(4, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
	to := c.values(0, 4, 32, true)
	a, b, sums := c.values(1, 4, 32, false), c.values(2, 2, 32, false), c.values(3, 4, 32, false)
	c.together(everyLane)
	c.step.run = func(w *warp, lanes uint32) {
		if lanes != allLanes {
			w.failTogether("only lanes %08x take part in a product of matrices", lanes)
		}
		w.product(to, a, b, sums)
	}
}

// product is done with fragments as the PTX ISA lays them out (matrix fragments for mma.m16n8k16): lane 4g + t has
// parts of the rows g and g+8 of a, and of the column g of b.
func (w *warp) product(to, a, b, sums []int) {
	halves := halfValues()
	var left [16][16]float64
	var right [8][16]float64
	for l := range 32 {
		g, t := l>>2, l&3
		for r, row := range a {
			x := w.rows[row][l]
			i, k := g+8*(r&1), 2*t+8*(r>>1)
			left[i][k], left[i][k+1] = halves[uint16(x)], halves[uint16(x>>16)]
		}
		for r, row := range b {
			x := w.rows[row][l]
			right[g][2*t+8*r], right[g][2*t+8*r+1] = halves[uint16(x)], halves[uint16(x>>16)]
		}
	}
	how := w.block.launch.draw(3)
	var results [4]row
	for l := range 32 {
		g, t := l>>2, l&3
		for r, row := range sums {
			i, j := g+8*(r>>1), 2*t+r&1
			results[r][l] = bits32(sumOf(float32Of(w.rows[row][l]), &left[i], &right[j], how))
		}
	}
	// Last, as the registers of the result may hold the sums.
	for r, row := range to {
		w.rows[row] = results[r]
	}
}

// sumOf adds products to a sum. NVIDIA does not define in which order, nor how sums are rounded: here it is one of
// three ways. Programs must not depend on it.
func sumOf(sum float32, a, b *[16]float64, how int) float32 {
	switch how {
	case 0: // one after another, rounded to nearest
		for k := range a {
			sum += float32(a[k] * b[k])
		}
		return sum
	case 1: // all at once, rounded to nearest
		s := 0.0
		for k := range a {
			s += a[k] * b[k]
		}
		return float32(float64(sum) + s)
	}
	// Eight at a time, each cut off below the last bit of the largest (Fasi, Higham, Mikaitis and Pranesh, Numerical
	// behavior of NVIDIA tensor cores, PeerJ Computer Science 2021).
	for first := 0; first < 16; first += 8 {
		largest := math.Abs(float64(sum))
		for k := first; k < first+8; k++ {
			largest = max(largest, math.Abs(a[k]*b[k]))
		}
		if largest == 0 || math.IsInf(largest, 0) || largest != largest {
			for k := first; k < first+8; k++ {
				sum += float32(a[k] * b[k])
			}
			continue
		}
		_, e := math.Frexp(largest)
		unit := math.Ldexp(1, max(e-24, -149))
		s := math.Trunc(float64(sum) / unit)
		for k := first; k < first+8; k++ {
			s += math.Trunc(a[k] * b[k] / unit)
		}
		exact := s * unit
		if sum = float32(exact); math.Abs(float64(sum)) > math.Abs(exact) { // this is cut off, too
			sum = math.Nextafter32(sum, 0)
		}
	}
	return sum
}
