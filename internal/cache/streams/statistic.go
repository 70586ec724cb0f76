package streams

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Form is a form of the Kolmogorov-Smirnov statistic of integers.
type Form uint8

// Integer compares the share of smaller gaps with F(k-1), as is right for integers. Scipy compares it with F(k), as
// scipy.stats.kstest and so the authors of the paper do; that overestimates the statistic where c is small.
const (
	Integer Form = iota
	Scipy
)

// CDF returns the probability that two different items out of c, drawn at random, are at most k positions apart:
// 2k/(c-1) - k(k+1)/(c(c-1)), equation 1 of the paper. It is 1 from k = c-1 on.
func CDF(k, c float64) float64 {
	switch {
	case k < 1:
		return 0
	case k >= c-1:
		return 1
	}
	return k / (c - 1) * (2 - (k+1)/c)
}

// D returns the Kolmogorov-Smirnov statistic of gaps against CDF: the largest difference between the two distributions,
// 0 without gaps. It sorts the gaps, which are at least 1.
func D(gaps []uint64, c float64, form Form) float64 {
	slices.Sort(gaps)
	n, d := float64(len(gaps)), 0.0
	for i := 0; i < len(gaps); {
		j := i + 1
		for j < len(gaps) && gaps[j] == gaps[i] {
			j++
		}
		k := float64(gaps[i])
		at := CDF(k, c)
		before := at
		if form == Integer {
			before = CDF(k-1, c)
		}
		d = max(d, math.Abs(float64(j)/n-at), math.Abs(float64(i)/n-before))
		i = j
	}
	return d
}

// Threshold returns the critical value of D for n gaps at a significance level: the usual approximation of the table,
// K/(sqrt(n) + 0.12 + 0.11/sqrt(n)) with K = sqrt(-ln(alpha/2)/2), 1.6276 at 0.01 and 1.3581 at 0.05 (Stephens 1970).
func Threshold(n int, alpha float64) float64 {
	root := math.Sqrt(float64(n))
	return math.Sqrt(-math.Log(alpha/2)/2) / (root + 0.12 + 0.11/root)
}

// Items estimates how many items there are from n draws: the German tank estimate, (largest+1)(n+1)/n, rounded up.
func Items(largest uint64, n int) float64 {
	return math.Ceil((float64(largest) + 1) * float64(n+1) / float64(n))
}

// repeatLevel is the significance level of the guard against repeats.
const repeatLevel = 0.001

// TooManyRepeats reports whether n draws out of c items have too many repeats for a random order: so many or more have
// a probability below 0.001. Their number is Poisson distributed around n²/(2c).
func TooManyRepeats(repeats, n int, c float64) bool {
	if repeats == 0 {
		return false
	}
	null := distuv.Poisson{Lambda: float64(n) * float64(n) / (2 * c)}
	return null.Survival(float64(repeats)-1) < repeatLevel
}

// Steps returns how many of the indexes extend one of the given number of interleaved sequential readers: they follow
// the index that the reader accessed last. An index that extends none begins a reader, in place of the one that was
// extended longest ago. The first index never counts.
func Steps(indexes []uint64, readers int) int {
	var (
		lasts [maxReaders]uint64 // index that each reader accessed last, the most recent reader first
		known int
		steps int
	)
	readers = min(max(readers, 1), maxReaders)
	for _, x := range indexes {
		i := 0
		for i < known && (x == 0 || lasts[i] != x-1) { // nothing precedes 0
			i++
		}
		if i < known {
			steps++
		} else {
			known = min(known+1, readers)
			i = known - 1
		}
		copy(lasts[1:i+1], lasts[:i])
		lasts[0] = x
	}
	return steps
}

// maxReaders is the largest number of interleaved readers, and perReader the fewest transitions for each reader that is
// found: with fewer, a random order looks like many readers.
const maxReaders, perReader = 64, 5

// Readers returns the number of interleaved sequential readers, and the share of the indexes that extend one: without
// the first index of each, which can extend none. With 0 for the number, it is the least one (1, 2, 4 and so on) with
// which that share reaches least, or else the one with the largest share.
func Readers(indexes []uint64, number int, least float64) (readers int, share float64) {
	n := len(indexes)
	if number > 0 {
		return number, float64(Steps(indexes, number)) / float64(n-1)
	}
	most := min(maxReaders, max(1, n/perReader))
	for r := 1; ; r = min(2*r, most) {
		if got := float64(Steps(indexes, r)) / float64(n-r); r == 1 || got > share {
			readers, share = r, got
		}
		if share >= least || r == most {
			return readers, share
		}
	}
}
