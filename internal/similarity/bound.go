package similarity

import "math"

// unitRoundoff is the largest relative error of rounding to float32.
const unitRoundoff = 1.0 / (1 << 24)

// slack bounds the difference between Similarity and a product in float32, summed up in any order with or without fused
// operations, of vectors whose squared length is at most longest. A sum of n rounded products is off by at most
// n*u/(1-n*u) times the sum of their magnitudes, which is at most the product of the lengths (Higham, Accuracy and
// Stability of Numerical Algorithms, 2nd ed., section 3.1). Two roundings more cover that of Similarity itself and its
// sum in float64. The last term covers products and sums that are too small for float32.
func (v Vectors) slack(longest float64) float64 {
	roundings := float64(v.Dim+2) * unitRoundoff
	if roundings >= 0.5 {
		return math.Inf(1)
	}
	return longest*roundings/(1-roundings) + 4*float64(v.Dim)*minNormal
}

const minNormal = 1.0 / (1 << 63) / (1 << 63) // of float32

// proposeFrom returns a bound below from that the product in float32 of any pair with a similarity of at least from
// reaches.
func (v Vectors) proposeFrom(from float32) float32 {
	return math.Nextafter32(float32(float64(from)-v.slack(v.longest())), float32(math.Inf(-1)))
}

// longest returns the largest squared length, which is 1 up to rounding.
func (v Vectors) longest() (longest float64) {
	for i := range v.Len() {
		longest = max(longest, squaredLength(v.At(i)))
	}
	return longest
}

func squaredLength(x []float32) (sum float64) {
	for _, e := range x {
		sum += float64(e) * float64(e)
	}
	return sum
}
