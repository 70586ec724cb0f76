package adversary

import (
	"fmt"
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/policies"
)

// Guarantee is what is proven of the ratio of a policy's misses to those of the optimum, up to a constant number of
// misses, as it is stated in the literature; "" where nothing is.
type Guarantee struct {
	Consistency string // with exact predictions
	Robustness  string // with any
}

// Stated returns the guarantee of a policy at a capacity: of those that LCR compares LARU with (section 2.3), and of
// classics. With other parameters than the defaults nothing is stated, but of LARU.
func Stated(policy policies.Spec, capacity int) Guarantee {
	name := policy.Name()
	switch {
	case name == "laru":
		return statedOfLARU(policy.Params, capacity)
	case policy.String() != name:
		return Guarantee{}
	}
	k := float64(capacity)
	switch name {
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
	case "guard": // Chen et al., NeurIPS 2025
		return Guarantee{"1", bound("2H_(k-1)+2", 2*harmonic(capacity-1)+2)}
	case "lru", "lru-stack", "fifo", "clock": // Sleator and Tarjan, CACM 1985
		return Guarantee{"", bound("k", k)}
	case "marker": // Fiat et al., Journal of Algorithms 1991
		return Guarantee{"", bound("2H_k", 2*harmonic(capacity))}
	}
	return Guarantee{}
}

// statedOfLARU: consistency takes predictions that are there in time and marks that are exact; the sharper bound takes
// a confidence that shrinks at every fallback.
func statedOfLARU(v policies.Values, capacity int) (g Guarantee) {
	if v.Text("mode") == "sync" && v.Text("marks") == "exact" {
		g.Consistency = "1"
	}
	g.Robustness = "O(k)"
	if v.Text("decay") == "1" {
		k := float64(capacity)
		g.Robustness = bound("k+log_b k+2", k+math.Log(k)/math.Log(v.Float("b"))+2)
	}
	return g
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
