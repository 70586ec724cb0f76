package similarity

import (
	"errors"
	"math"

	"github.com/cachesim/cachesim/internal/similarity/dot"
)

// unitRoundoff is the largest relative error of rounding to float32.
const unitRoundoff = 1.0 / (1 << 24)

// slack bounds the difference between Similarity and a product in float32, summed up in any order with or without fused
// operations, of vectors whose squared length is at most longest. A sum of n rounded products is off by at most
// n*u/(1-n*u) times the sum of their magnitudes, which is at most the product of the lengths (Higham, Accuracy and
// Stability of Numerical Algorithms, 2nd ed., section 3.1). Two more roundings cover Similarity's own and its sum in
// float64. The last term covers products and sums that are too small for float32.
func (v Vectors) slack(longest float64) float64 {
	roundings := float64(v.Dim+2) * unitRoundoff
	if roundings >= 0.5 {
		return math.Inf(1)
	}
	return longest*roundings/(1-roundings) + 4*float64(v.Dim)*minNormal
}

const minNormal = 1.0 / (1 << 63) / (1 << 63) // of float32

// proposeFrom returns a bound, below from: the product in float32 of any pair with a similarity of at least from is at
// least the bound.
func (v Vectors) proposeFrom(from float32) float32 {
	return lowered(from, v.slack(v.longest()))
}

// lowered returns a bound below from by at least slack.
func lowered(from float32, slack float64) float32 {
	// The conversion may round up; the next lower number makes up for that.
	return math.Nextafter32(float32(float64(from)-slack), float32(math.Inf(-1)))
}

// longest returns the largest squared length, which is 1 up to rounding.
func (v Vectors) longest() (longest float64) {
	for i := range v.Len() {
		longest = max(longest, dot.Sum(v.At(i), v.At(i)))
	}
	return longest
}

// Halves says how to propose pairs by products of numbers in half precision, as tensor cores compute them.
type Halves struct {
	Scale float32 // the power of two by which numbers are multiplied before they are rounded to half precision
	From  float32 // the products of the rounded vectors of all similar pairs are at least this
	below float64 // how far From is below the threshold, without the scale
}

// Lower returns From for another threshold.
func (h Halves) Lower(from float32) float32 {
	return lowered(float32((float64(from)-h.below)*float64(h.Scale)*float64(h.Scale)), 0)
}

const (
	halfRoundoff = 1.0 / (1 << 11) // the largest relative error of rounding to half precision
	halfSmallest = 1.0 / (1 << 25) // the largest error of rounding a number too small for that
	addRoundoff  = 1.0 / (1 << 23) // the largest relative error of cutting a number off to float32
)

// Halves returns how to propose all pairs with a similarity of at least from.
//
// The scale brings the longest vector to a length between 2^14 and 2^15: no number is too large for half precision, and
// few are too small for its full precision. Let x and y be scaled vectors, h(x) and h(y) what they are rounded to, n
// their dimension, u = halfRoundoff, s = halfSmallest, and Y the largest squared length, which the sum of |x_k y_k|
// does not exceed.
//
//   - |h(x_k) - x_k| <= u|x_k| + s, so that the products of the rounded vectors are off by at most
//     D = (2u + u^2)Y + 2(1+u)s sqrt(nY) + n s^2, since the sum of |x_k| is at most sqrt(nY).
//   - A product of two halves is exact in float32. Tensor cores add several of them to a sum at once, in an order and
//     with roundings that are not documented: measured (Fasi et al., Numerical behavior of NVIDIA tensor cores, PeerJ
//     Computer Science 7:e330, 2021), numbers are cut off at the last bit of a float32 of the largest of them, and so
//     is the result. A step with b products thus has at most b+2 errors of addRoundoff times the largest of them, which
//     is at most (Y+D)/(1-g); all steps together have at most 3n such errors, whatever b is. With g = 3n addRoundoff
//     the sum is off by at most g/(1-g) (Y+D).
//   - Similarity itself is rounded to float32, and its sum in float64: at most 2 unitRoundoff of the squared length, as
//     long as n is below 2^29.
func (v Vectors) Halves(from float32) (Halves, error) {
	longest := v.longest()
	if math.IsNaN(longest) || math.IsInf(longest, 0) {
		return Halves{}, errors.New("the vectors have numbers that are not finite")
	}
	_, exponent := math.Frexp(math.Sqrt(longest))
	scale := math.Ldexp(1, min(15-exponent, 126))
	h := Halves{Scale: float32(scale), below: v.halfSlack(longest, scale)}
	h.From = h.Lower(from)
	return h, nil
}

// halfSlack bounds the difference between Similarity and the product of vectors in half precision, without their scale.
func (v Vectors) halfSlack(longest, scale float64) float64 {
	n, largest := float64(v.Dim), longest*scale*scale
	adding := 3 * n * addRoundoff
	if adding >= 0.5 {
		return math.Inf(1)
	}
	rounding := (2*halfRoundoff+halfRoundoff*halfRoundoff)*largest +
		2*(1+halfRoundoff)*halfSmallest*math.Sqrt(n*largest) + n*halfSmallest*halfSmallest
	products := (rounding + adding/(1-adding)*(largest+rounding)) / (scale * scale)
	return products + 2*unitRoundoff*longest + minNormal
}
