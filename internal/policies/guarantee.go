package policies

import (
	"fmt"
	"math"
	"strconv"
)

// Guarantee is the proven bound on the ratio of a policy's misses to the optimum's, as the literature states it, up to
// a constant number of misses; "" if nothing is proven.
type Guarantee struct {
	Consistency string // with exact predictions
	Robustness  string // with any predictions
}

// Game is how a policy chooses victims, where that says all: the least recently used object or, as predictions or
// chance choose, one of several. A phase begins when all residents were requested since the last one began. Package
// adversary finds the worst traces of such a policy.
type Game struct {
	// Marking policies draw the victim from the residents that were not requested in the phase. The rest says nothing
	// about these.
	Marking bool
	// Candidates are of how many least recently used objects predictions choose one: at first in a phase, and after each
	// loss of confidence. With 1 there is nothing to choose. The last number stays.
	Candidates []int
	// Every is after how many misses of objects that a prediction evicted in the phase confidence is lost. For these
	// misses, the least recently used object is evicted.
	Every int
}

// CompetitiveRatio writes a ratio, or a bound on one, as a formula with its value: "4H_k = 8.33".
func CompetitiveRatio(formula string, value float64) string {
	return fmt.Sprintf("%s = %s", formula, strconv.FormatFloat(math.Round(100*value)/100, 'f', -1, 64))
}

// Harmonic returns 1 + 1/2 + ... + 1/k. For large k an integral approximates the sum of the later terms.
func Harmonic(k int64) (sum float64) {
	for i := range min(k, mostSummed) {
		sum += 1 / float64(i+1)
	}
	if k > mostSummed {
		sum += math.Log((float64(k) + 0.5) / (mostSummed + 0.5))
	}
	return sum
}

// mostSummed is how many terms of a harmonic sum are added one by one.
const mostSummed = 1 << 20

// KCompetitive is the guarantee of policies that are k-competitive with room for k objects (Sleator and Tarjan,
// Amortized efficiency of list update and paging rules, CACM 1985).
func KCompetitive(_ Values, capacity int) Guarantee {
	return Guarantee{Robustness: CompetitiveRatio("k", float64(capacity))}
}
