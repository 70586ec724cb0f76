package reuse

import "math"

// Functions of package math may differ in the last bit between machines, and with a threshold all that follows it.

// cosine returns cos x for x in [0,π]; that of π is -1 without rounding.
func cosine(x float64) float64 {
	if x > math.Pi/2 {
		return -cosine(math.Pi - x)
	}
	half := sine(x / 2)
	return 1 - float64(2*float64(half*half))
}

// sine returns sin x for |x| <= π/4 by its Taylor series, whose next term is below 1e-19.
func sine(x float64) float64 {
	square := float64(x * x)
	sum, term := x, x
	for k := 2.0; k <= 16; k += 2 {
		term = float64(term * (-square / float64(k*(k+1))))
		sum += term
	}
	return sum
}

// arccosine returns arccos x for x in [-1,1], as twice the arcsine of sin(arccos(x)/2) = √((1-x)/2). Newton's method
// finds that, with the slope at the root, which is known.
func arccosine(x float64) float64 {
	if x < 0 {
		return math.Pi - arccosine(-x)
	}
	y, slope := math.Sqrt((1-x)/2), math.Sqrt((1+x)/2)
	angle := y
	for range 6 {
		angle += (y - sine(angle)) / slope
	}
	return float64(2 * angle)
}
