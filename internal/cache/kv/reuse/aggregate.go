package reuse

import "math"

// How the similarities of a group of query heads become one.
const (
	Harmonic   = "harmonic"
	Arithmetic = "arithmetic"
	Min        = "min"
)

// smallest is the similarity up to which harmonic means are not used: around 0 they have a pole.
const smallest = 1e-6

// Aggregate returns the similarity of a group of at least one query head: the mean that kind says, weighted by the
// importances (QSAC, equation 2). Query heads without importance are left out, unless none has any; weights may be nil,
// for the same importance of all. A harmonic mean is dominated by the lowest similarities; it makes no sense beyond 0,
// where it is the smallest similarity instead. If one similarity is -1, as for a query without norm, so is every mean.
func Aggregate(kind string, similarities, weights []float64) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	var total, sum, inverses float64
	for i, s := range similarities {
		w := 1.0
		if weights != nil {
			if w = weights[i]; w <= 0 {
				continue
			}
		}
		least, most = min(least, s), max(most, s)
		total += w
		sum += float64(w * s)
		inverses += w / s
	}
	switch {
	case total == 0:
		return Aggregate(kind, similarities, nil)
	case kind == Min, kind == Harmonic && least <= smallest, least == -1:
		return least
	case kind == Harmonic:
		sum = total / inverses
	case kind == Arithmetic:
		sum /= total
	}
	// Rounding may bring a mean above every similarity, and so above a threshold that none of them exceeds.
	return max(least, min(most, sum))
}

// clamped returns an importance in [0,1]: published ones are slightly negative.
func clamped(importance float64) float64 { return max(0, min(1, importance)) }

// weightsOf returns the weights of the query heads of a head, nil if they are all the same.
func weightsOf(h *Head) []float64 {
	var weights []float64
	for _, x := range h.QueryImportances {
		weights = append(weights, clamped(x))
	}
	return weights
}
