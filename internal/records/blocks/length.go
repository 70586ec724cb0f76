package blocks

import "math"

// How many blocks are drawn together follows from the autocorrelation of the misses: Politis and White, Automatic
// Block-Length Selection for the Dependent Bootstrap (Econometric Reviews 23, 2004), for circular blocks, as corrected
// by Patton, Politis and White (Econometric Reviews 28, 2009). Measured on logs with phases (coverage_test.go), four
// changes were needed:
//
//   - Autocovariances around the mean of a short log are too low, by the variance of that mean: it is added.
//   - Only what makes the mean vary more counts. Days, which repeat, make it vary less.
//   - The length is the largest for blocks, pairs and fours of blocks: noise hides slow phases in short blocks.
//   - Three times that length is drawn. The length minimises the error of the variance, including that it is too low.
const (
	longer   = 3
	shortest = Count / 20 // blocks that are drawn together
	fewest   = 4          // runs in a draw
)

// longest is up to which length the blocks support an interval: Politis and White's bound.
var longest = 3 * math.Sqrt(Count)

// lengthOf returns the length for the misses in blocks, and for the bytes missed, whichever is longer.
func lengthOf(each []Block) float64 {
	all := sum(each)
	misses, bytes := make([]float64, len(each)), make([]float64, len(each))
	for i, b := range each { // what there is above the mean
		share := float64(b.Requests) / float64(max(all.Requests, 1))
		misses[i] = float64(b.Misses) - float64(share*float64(all.Misses))
		bytes[i] = float64(b.MissedBytes) - float64(share*float64(all.MissedBytes))
	}
	length := coarsened(misses)
	if all.MissedBytes > 0 {
		length = max(length, coarsened(bytes))
	}
	return length
}

// coarsened returns the largest length for x, for the sums of pairs and for those of fours.
func coarsened(x []float64) (length float64) {
	for together := 1.; together <= 4; together *= 2 {
		length = max(length, together*circular(x))
		pairs := make([]float64, len(x)/2)
		for i := range pairs {
			pairs[i] = x[2*i] + x[2*i+1]
		}
		x = pairs
	}
	return length
}

const (
	insignificant = 5 // autocorrelations in a row, after which there are none
	rounds        = 3 // in which autocovariances and the variance of the mean follow from each other
)

// circular returns the length of blocks, at least 1, with which the circular bootstrap has the best variance of the
// mean of x.
func circular(x []float64) (length float64) {
	n := float64(len(x))
	measured := autocovariances(x, int(math.Ceil(math.Sqrt(n)))+insignificant)
	if measured[0] <= 0 {
		return 1
	}
	ofMean := 0. // the variance of the mean
	for range rounds {
		r := make([]float64, len(measured))
		for k := range r {
			r[k] = measured[k] + ofMean
		}
		last := min(2*max(lastSignificant(r, n), 1), len(r)-1)
		spectrum, slope := r[0], 0. // at frequency 0
		for k := 1; k <= last; k++ {
			part := 2 * min(1, 2*(1-float64(k)/float64(last))) * r[k] // a flat-top lag window
			spectrum += part
			slope += float64(float64(k) * part)
		}
		spectrum = max(spectrum, r[0])
		length = 1
		if slope > 0 {
			ratio := slope / spectrum
			length = max(1, math.Cbrt(1.5*ratio*ratio*n)) // (2 slope^2 / (4/3 spectrum^2) n)^(1/3)
		}
		ofMean = spectrum / n
	}
	return length
}

// autocovariances returns those of lags 0 to last.
func autocovariances(x []float64, last int) []float64 {
	mean := 0.
	for _, v := range x {
		mean += v / float64(len(x))
	}
	r := make([]float64, last+1)
	for k := range r {
		for i, v := range x[k:] {
			r[k] += float64((v - mean) * (x[i] - mean))
		}
		r[k] /= float64(len(x) - k)
	}
	return r
}

// lastSignificant returns the lag after which autocorrelations are within the noise of n values, several in a row; the
// last lag if that does not happen.
func lastSignificant(r []float64, n float64) int {
	noise := 2 * math.Sqrt(math.Log10(n)/n) * r[0]
	inRow := 0
	for k := 1; k < len(r); k++ {
		if inRow++; math.Abs(r[k]) >= noise {
			inRow = 0
		}
		if inRow == insignificant {
			return k - insignificant
		}
	}
	return len(r) - 1
}
