package streams

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// The gaps of a random order have the closed form, those of a reader in the order of the listing are all in the first
// bin; the shares of the verdicts and of the bins add up to 1.
func TestMeasuredTestsAndGaps(t *testing.T) {
	const n, bins = 5000, 20
	l, address := flat(n)
	o := Defaults()
	o.Gaps = bins
	for name, order := range map[string][]int{
		"tests_random": rand.New(rand.NewPCG(1, 2)).Perm(n), "tests_sequential": inOrder(n),
	} {
		tree := New(l, o)
		for i, item := range order {
			tree.Access(address(item), int64(i))
		}
		v := tree.Measure()
		if tests := v.Int(TestsMetric); tests != n/int64(o.Window)-1 {
			t.Errorf("%s: %d tests, want one after the first 101 files and then one per window: %d", name, tests,
				n/o.Window-1)
		}
		if share, _ := v.Get(name); share < 0.9 {
			t.Errorf("%s: %v, want most of them", name, share)
		}
		verdicts, gaps, first := 0.0, 0.0, math.NaN()
		for m := range v.Names() {
			x, _ := v.Get(m)
			switch {
			case strings.HasPrefix(m, "tests_"):
				verdicts += x
			case strings.HasPrefix(m, GapsMetric.Name):
				gaps += x
			}
			if m == fmt.Sprintf("%s[0.05]", GapsMetric.Name) {
				first = x
			}
		}
		if math.Abs(verdicts-1) > 1e-9 || math.Abs(gaps-1) > 1e-9 {
			t.Errorf("%s: the verdicts add up to %v, the gaps to %v", name, verdicts, gaps)
		}
		distance, wantFirst, wantDistance := v.Float(GapDistance), 0.0975, 0.0
		if name == "tests_sequential" {
			wantFirst, wantDistance = 1, 1-0.0975
		}
		if math.Abs(first-wantFirst) > 0.02 || math.Abs(distance-wantDistance) > 0.02 {
			t.Errorf("%s: %v in the first bin, want %v; distance %v, want %v", name, first, wantFirst, distance,
				wantDistance)
		}
	}
}

// Without tests and bins there is nothing to report about them.
func TestNoTestsNoShares(t *testing.T) {
	l, address := flat(50)
	tree := New(l, Defaults())
	for i := range 50 {
		tree.Access(address(i), int64(i))
	}
	v := tree.Measure()
	if v.Int(TestsMetric) != 0 || v.Has(RandomTests) || v.Has(GapDistance) {
		t.Errorf("%d tests, random %v, gaps %v; want none", v.Int(TestsMetric), v.Has(RandomTests), v.Has(GapDistance))
	}
}

func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
