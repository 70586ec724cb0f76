package adversary

import (
	"fmt"
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/policies"
)

// Guarantee is what is proven of the ratio of a policy's misses to those of the optimum, up to a constant number of misses, as it is stated in the
// literature; "" where nothing is.
type Guarantee struct {
	Consistency string // with exact predictions
	Robustness  string // with any
}

// Stated returns the guarantee of a policy at a capacity: those that LCR compares LARU with (section 2.3), and classics.
func Stated(policy policies.Spec, capacity int) Guarantee {
	k := float64(capacity)
	switch policy.Entry.Name {
	case "fpb":
		return Guarantee{"1", "unbounded"}
	case "blindoracle-lru":
		return Guarantee{"2", bound("2k", 2*k)}
	case "predictive-marker":
		return Guarantee{"2", bound("4H_k", 4*harmonic(capacity))}
	case "lnonmarker":
		return Guarantee{"", "no bound"}
	case "follow-robust":
		return Guarantee{"1", "O(log k)"}
	case "laru":
		if policy.Params.Text("decay") != "1" {
			return Guarantee{"1", "O(k)"}
		}
		return Guarantee{"1", bound("k+log_b k+2", k+math.Log(k)/math.Log(policy.Params.Float("b"))+2)}
	case "guard": // Chen et al., NeurIPS 2025
		return Guarantee{"1", bound("2H_(k-1)+2", 2*harmonic(capacity-1)+2)}
	case "lru", "lru-stack", "fifo", "clock": // Sleator and Tarjan, CACM 1985
		return Guarantee{"", bound("k", k)}
	case "marker": // Fiat et al., Journal of Algorithms 1991
		return Guarantee{"", bound("2H_k", 2*harmonic(capacity))}
	}
	return Guarantee{}
}

// bound writes a formula with its value: "4H_k = 8.33".
func bound(formula string, value float64) string {
	return fmt.Sprintf("%s = %s", formula, strconv.FormatFloat(math.Round(100*value)/100, 'f', -1, 64))
}

// harmonic returns 1 + 1/2 + ... + 1/n.
func harmonic(n int) (sum float64) {
	for i := range n {
		sum += 1 / float64(i+1)
	}
	return sum
}
