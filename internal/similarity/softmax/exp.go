package softmax

import "math"

// What e^x of a float32 is computed from.
const (
	// Below the least, e^x is no normal number; above the most it overflows.
	leastExponent, mostExponent = -0x1.5d589ep+6, 0x1.62e42ep+6

	// The number that has an integer in its last bits when it is added to one.
	magic = 0x1.8p+23

	// ln 2 in two parts. Products of the first and integers up to 128 are exact.
	ln2High, ln2Low = 0x1.63p-1, -2.12194440e-4

	// e^r = 1 + r + r²(c0 + c1 r + c2 r² + c3 r³ + c4 r⁴) for |r| <= ln 2 / 2, with an error of 4e-9.
	c0, c1, c2, c3, c4 = 0.49999994, 0.16666521, 0.04166839, 0.008368745, 0.001381454
)

// Exp sets dst[i] to e^x[i], with a relative error of at most 1e-7. Below -87.33654, where e^x is less than the least
// normal float32, it is 0; above 88.72283 it is +Inf; of NaN it is NaN. Exp(0) is 1, and greater numbers never have a
// smaller exponential, which was checked for every float32.
func Exp(dst, x []float32) {
	var sums lanes
	exp(dst[:len(x)], x, 0, &sums)
}

// exp sets dst to e^(x-shift) and adds that to the sums.
func exp(dst, x []float32, shift float32, sums *lanes) {
	whole := eights(len(x))
	if whole > 0 {
		expOfMany(&dst[0], &x[0], whole, shift, sums, &expTable)
	}
	for i := whole; i < len(x); i++ {
		e := expOf(x[i] - shift)
		dst[i] = e
		sums[i%width] += float64(e)
	}
}

const constants = 13

// expTable has what the assembly computes from, eight times each.
var expTable = func() (table [constants][width]float32) {
	for i, x := range [constants]float32{math.Log2E, magic, ln2High, ln2Low, c4, c3, c2, c1, c0, 1, leastExponent,
		mostExponent, float32(math.Inf(1))} {
		for l := range table[i] {
			table[i][l] = x
		}
	}
	return table
}()

func expOf(x float32) float32 {
	if x < leastExponent {
		return 0
	}
	if !(x <= mostExponent) {
		return x + float32(math.Inf(1))
	}
	t := float32(x*math.Log2E) + magic
	n := t - magic
	r := (x - float32(n*ln2High)) - float32(n*ln2Low)
	q := float32(c4*r) + c3
	q = float32(q*r) + c2
	q = float32(q*r) + c1
	q = float32(q*r) + c0
	p := (float32(q*float32(r*r)) + r) + 1
	// A power of two is added to the exponent.
	return math.Float32frombits(math.Float32bits(p) + math.Float32bits(t)<<23)
}
