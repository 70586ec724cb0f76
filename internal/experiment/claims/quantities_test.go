package claims

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// The quantities of a claim are what it compares, in the mean over its points, with the interval of Student's t between
// the seeds. a has 10, 30, 20, 10, 30 hits, b two more of each, and sure 21 without seeds.
func TestQuantities(t *testing.T) {
	d := NewData(withSeeds(t))
	half := statistics.StudentQuantile(0.975, 4) * math.Sqrt(400./4/5)
	for claim, want := range map[string][]Quantity{
		"hits(a) < hits(b)":                     {{"hits(a)", 20, half}, {"hits(b)", 22, half}},
		"hits(sure) > 20":                       {{"hits(sure)", 21, 0}},
		"hits(b) - hits(a) about 2":             {{"hits(b) - hits(a)", 2, 0}},
		"hits(sure) is first among a, b, sure":  {{"hits(sure)", 21, 0}, {"the others beside hits(sure)", 21, half}},
		"hits(a) increases with seed":           {{"hits(a)", 20, 0}, {"first hits(a)", 10, 0}, {"last hits(a)", 30, 0}},
		"ns_per_request(a) < ns_per_request(b)": nil, // times of a machine
		"hits(a) < hits(unknown)":               nil,
		"hits(a) < hits(b) where trace = other": nil,
		"max over seed of hits(a) < (min over seed of hits(b)) * 10": {{"max over seed of hits(a)", 30, 0},
			{"(min over seed of hits(b)) * 10", 120, 0}},
	} {
		got := must.Get(Parse(claim))(t).Evaluate(d).Quantities
		same := len(got) == len(want)
		for i := range got {
			same = same && got[i].Of == want[i].Of && math.Abs(got[i].Mean-want[i].Mean) < 1e-9 &&
				math.Abs(got[i].Half-want[i].Half) < 1e-9
		}
		if !same {
			t.Errorf("%s: quantities %+v, want %+v", claim, got, want)
		}
	}
}
