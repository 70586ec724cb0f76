package blocks

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/statistics"
)

// Draws is how often the blocks are drawn.
const Draws = 1000

// run is how many consecutive blocks are drawn together, with the first after the last: what is in the cache when a
// block begins depends on the previous one, so that neighbours are alike.
const run = 5

// draws says how often each block is in each draw. All records share them, so that differences between policies are
// those on the same requests.
type draws []uint8

const purpose = 0x626c6f636b73 // of the random numbers

func newDraws(seed uint64) draws {
	d := make(draws, Draws*Count)
	bits := random.Stream(seed, purpose)
	for k := range Draws {
		for left := Count; left > 0; left -= run {
			first, _ := random.Below(bits, Count)
			for i := range min(run, left) {
				d[k*Count+(first+i)%Count]++
			}
		}
	}
	return d
}

// of returns how often each block is in draw k.
func (d draws) of(k int) []uint8 { return d[k*Count : (k+1)*Count] }

// spread is by how much the draws vary too little: they differ from their own mean, not from the true one, and there
// are few of them. It is the ratio of Student's to the normal quantile, as for the mean of as many runs as there are.
var spread = math.Sqrt(float64(Count)/(Count-run)) * statistics.StudentQuantile((1+confidence)/2, Count/run-1) / 1.96

// confidence is the share of the draws within an interval.
const confidence = 0.95

// Interval returns the range of the middle 95% of the values of all draws, which may be infinite, and includes the
// value that was measured.
func Interval(measured float64, drawn []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(drawn))
	low = statistics.Quantile((1-confidence)/2, sorted)
	high = statistics.Quantile((1+confidence)/2, sorted)
	return math.Min(low, measured), math.Max(high, measured)
}

// Tie reports whether differences of all draws lie on both sides of 0, apart from the outermost 5%.
func Tie(differences []float64) bool {
	sorted := slices.Sorted(slices.Values(differences))
	return statistics.Quantile((1-confidence)/2, sorted) <= 0 && statistics.Quantile((1+confidence)/2, sorted) >= 0
}
