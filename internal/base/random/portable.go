package random

import "math"

// The functions below give the same bits on every machine. Package math's may differ in the last bit between
// architectures (assembly, fused multiply-add), and one bit can move an object from one column of a table to another.
// Basic operations and square roots are exact by IEEE 754; the conversions float64(...) forbid the compiler to fuse a
// product with a sum. Relative error of each: below 1e-14 for the arguments used here.

// Log returns ln x for finite x > 0: x = m 2^e with m near 1, and ln m = 2 atanh((m-1)/(m+1)) as a series.
func Log(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	square := s * s
	sum := 0.0
	for k := 25; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(2*float64(s*sum)) + float64(float64(e)*math.Ln2)
}

// Exp returns e^x for |x| < 700: x = k ln 2 + r with |r| <= ln(2)/2, and e^r by its Taylor series.
func Exp(x float64) float64 {
	const ln2High = 0x1.62e42feep-1 // short enough that its product with k is exact
	const ln2Low = math.Ln2 - ln2High
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(k*ln2High) - float64(k*ln2Low)
	sum := 1.0
	for i := 18; i >= 1; i-- {
		sum = float64(sum*(r/float64(i))) + 1
	}
	return math.Ldexp(sum, int(k))
}
