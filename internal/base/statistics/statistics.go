// Package statistics has the few statistics that the program needs. The same functions of gonum/stat give the same
// bits, but that package brings linear algebra with it, which makes the program 2 MB larger.
package statistics

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
)

// Mean returns the arithmetic mean; NaN without values.
func Mean(x []float64) float64 { return floats.Sum(x) / float64(len(x)) }

// StdDev returns the sample standard deviation, with n-1 in the denominator; NaN for fewer than two values.
func StdDev(x []float64) float64 { return math.Sqrt(variance(x, Mean(x))) }

// variance and covariance are the corrected two-pass algorithm of Chan, Golub and LeVeque, "Algorithms for Computing
// the Sample Variance: Analysis and Recommendations" (The American Statistician 1983), formula (1.7).
func variance(x []float64, mean float64) float64 { return covariance(x, x, mean, mean) }

func covariance(x, y []float64, xMean, yMean float64) float64 {
	xy, xRest, yRest := deviations(x, y, xMean, yMean)
	n := float64(len(x))
	return (xy - xRest*yRest/n) / (n - 1)
}

// deviations returns the sum of the products of the deviations from the means, and the sums of the deviations, which
// would be 0 without rounding.
func deviations(x, y []float64, xMean, yMean float64) (products, xRest, yRest float64) {
	for i := range x {
		dx, dy := x[i]-xMean, y[i]-yMean
		products += float64(dx * dy)
		xRest += dx
		yRest += dy
	}
	return products, xRest, yRest
}

// Correlation returns Pearson's correlation coefficient of x and y, which have the same length; NaN if all values of
// one are equal.
func Correlation(x, y []float64) float64 {
	n, xMean, yMean := float64(len(x)), Mean(x), Mean(y)
	xy, xRest, yRest := deviations(x, y, xMean, yMean)
	xx, _, _ := deviations(x, x, xMean, xMean)
	yy, _, _ := deviations(y, y, yMean, yMean)
	xx -= xRest * xRest / n
	yy -= yRest * yRest / n
	return (xy - xRest*yRest/n) / math.Sqrt(xx*yy)
}

// Line fits y = intercept + slope x by least squares. rSquared is the share of the variance of y that the line
// explains; NaN if all y are equal.
func Line(x, y []float64) (intercept, slope, rSquared float64) {
	xMean, yMean := Mean(x), Mean(y)
	slope = covariance(x, y, xMean, yMean) / variance(x, xMean)
	intercept = yMean - float64(slope*xMean)
	var rest, total float64
	for i := range x {
		d := y[i] - (intercept + float64(slope*x[i]))
		rest += float64(d * d)
		d = y[i] - yMean
		total += float64(d * d)
	}
	return intercept, slope, 1 - rest/total
}

// Quantile returns the smallest value that at least a share p of the sorted values does not exceed; NaN if one of them
// is NaN.
func Quantile(p float64, sorted []float64) float64 {
	if floats.HasNaN(sorted) {
		return math.NaN()
	}
	i := int(math.Ceil(p * float64(len(sorted))))
	return sorted[max(i, 1)-1]
}

// Batches divides values in the order of their times into n parts of nearly equal size, and returns of(part) for each;
// nil if there are fewer than two values for each part.
func Batches(x []float64, n int, of func(part []float64) float64) []float64 {
	if len(x) < 2*n {
		return nil
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = of(x[i*len(x)/n : (i+1)*len(x)/n])
	}
	return values
}

// StudentQuantile returns the p quantile of Student's t distribution, for p above 0.5.
func StudentQuantile(p float64, degreesOfFreedom float64) float64 {
	t := mathext.InvRegIncBeta(degreesOfFreedom/2, 0.5, 2*(1-p))
	return math.Sqrt(degreesOfFreedom * (1 - t) / t)
}
