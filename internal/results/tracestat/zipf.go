package tracestat

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/statistics"
)

// ZipfFit describes the popularity of the objects by Zipf's law: the object of rank r, counted from the most requested,
// gets a share of the requests proportional to 1/r^alpha.
type ZipfFit struct {
	// Alpha is the exponent under which the requests are most likely, given as many objects as the trace has and their
	// ranks by count. Objects that a short trace happens not to request are unknown, so few requests per object bias it.
	Alpha float64 `json:"alpha"`
	// AlphaLeastSquares is minus the slope of a line through the logarithms of rank and count, at ranks that are evenly
	// spaced on the logarithmic axis. RSquared is the share of the variance that the line explains. Both are nil for fewer
	// than 3 such ranks; RSquared also if all counts are equal.
	AlphaLeastSquares *float64 `json:"alpha_least_squares"`
	RSquared          *float64 `json:"r_squared"`
}

// fitZipf fits counts, which must not increase and be at least 1. It returns nil for fewer than two objects.
func fitZipf(counts []uint32) *ZipfFit {
	if len(counts) < 2 {
		return nil
	}
	fit := &ZipfFit{Alpha: mostLikelyAlpha(counts)}
	var x, y []float64
	for _, rank := range spacedRanks(len(counts)) {
		x, y = append(x, math.Log(float64(rank))), append(y, math.Log(float64(counts[rank-1])))
	}
	if len(x) < 3 {
		return fit
	}
	_, slope, rSquared := statistics.Line(x, y)
	alpha := 0 - slope // 0, not -0, for equal counts
	fit.AlphaLeastSquares = &alpha
	if counts[0] != counts[len(counts)-1] {
		fit.RSquared = &rSquared
	}
	return fit
}

// maxAlpha bounds the search; a trace above it requests little else than its first object.
const maxAlpha = 20

// mostLikelyAlpha minimizes alpha mean(ln rank) + ln H(n, alpha), the negative log-likelihood of one request, by
// ternary search: it is convex in alpha.
func mostLikelyAlpha(counts []uint32) float64 {
	var sumLogs, requests float64
	for i, c := range counts {
		sumLogs += float64(float64(c) * math.Log(float64(i+1)))
		requests += float64(c)
	}
	cost := func(alpha float64) float64 { return alpha*sumLogs/requests + math.Log(harmonic(len(counts), alpha)) }
	low, high := 0.0, float64(maxAlpha)
	for high-low > 1e-6 {
		third := (high - low) / 3
		if cost(low+third) <= cost(high-third) {
			high -= third
		} else {
			low += third
		}
	}
	return (low + high) / 2
}

// harmonic returns the sum of r^-alpha for r from 1 to n: the first terms one by one, the rest by Euler and Maclaurin's
// formula with an error below 1e-12 of the sum.
func harmonic(n int, alpha float64) float64 {
	const exact = 1024
	sum := 0.0
	for r := 1; r <= min(n, exact); r++ {
		sum += math.Pow(float64(r), -alpha)
	}
	if n <= exact {
		return sum
	}
	first, last := math.Pow(exact, -alpha), math.Pow(float64(n), -alpha)
	integral := exact * first * math.Log(float64(n)/exact)
	// Where alpha is 1, the integral is the logarithm: the limit of expm1(x)/x at 0 is 1.
	if slope := (1 - alpha) * math.Log(float64(n)/exact); slope != 0 {
		integral *= math.Expm1(slope) / slope
	}
	return sum + float64(integral) + float64((last-first)/2) + float64(alpha/12*(float64(first/exact)-last/float64(n)))
}

// spacedRanks returns ranks from 1 to n, 20 for each factor of 10, and fewer at the beginning, where whole numbers are
// further apart.
func spacedRanks(n int) []int {
	var ranks []int
	for i := 0; ; i++ {
		rank := int(math.Round(math.Pow(10, float64(i)/20)))
		if rank >= n {
			return append(ranks, n)
		}
		if len(ranks) == 0 || rank > ranks[len(ranks)-1] {
			ranks = append(ranks, rank)
		}
	}
}
