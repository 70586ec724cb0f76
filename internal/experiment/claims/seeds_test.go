package claims

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// seeded has three policies at one point with a seed each: b is always 2 above a, c differs from both by chance, and
// sure has no seeds.
func withSeeds(t *testing.T) Input {
	var lines strings.Builder
	for seed, c := range []int{12, 30, 20, 11, 33} {
		a := []int{10, 30, 20, 10, 30}[seed]
		fmt.Fprintf(&lines, "t a 1 %d/100 seed=%d\nt b 1 %d/100 seed=%d\nt c 1 %d/100 seed=%d\n", a, seed, a+2, seed, c, seed)
	}
	return Input{Records: recs(t, lines.String()+"t sure 1 21/100\n")}
}

// What a seed does to both sides cancels; a difference that the seeds do not decide is undecided.
func TestSeedsDecide(t *testing.T) {
	in := withSeeds(t)
	for claim, want := range map[string]string{
		"hits(a) < hits(b)":      "reproduced: 20 < 22 (t, capacity 1)",
		"hits(a) + 2 == hits(b)": "reproduced: 22 = 22 (t, capacity 1)",
		// the differences are 2, 0, 0, 1, 3: their mean 1.2, their standard error 0.583, and t is 2.776
		"hits(a) < hits(c)":              "undecided: 20 < 21.2, a tie within ±1.6 (t, capacity 1)",
		"hits(a) >= hits(c)":             "undecided: 20 < 21.2, a tie within ±1.6 (t, capacity 1)",
		"hits(a) < hits(c) + 0.5":        "reproduced: 20 < 21.7, ±1.6 (t, capacity 1)",
		"hits(a) > hits(c) + 0.5":        "refuted: 20 < 21.7, ±1.6 (t, capacity 1)",
		"hits(a) == hits(c) within 3":    "reproduced: 20 beside 21.2, 1.2 apart, ±1.6 (t, capacity 1)",
		"hits(a) != hits(c) within 3":    "refuted: 20 beside 21.2, 1.2 apart, ±1.6 (t, capacity 1)",
		"hits(a) == hits(c)":             "undecided: 20 < 21.2, a tie within ±1.6 (t, capacity 1)",
		"hits(c) - hits(a) about 4 to 5": "refuted: 1.2 beside 4 to 5, outside 3.6 to 5.5, ±1.6 (t, capacity 1)",
		"hits(c) - hits(a) about 2":      "undecided: 1.2 beside 2, outside 1.8 to 2.2, a tie within ±1.6 (t, capacity 1)",
		"hits(c) - hits(a) about -5 to -2": "refuted: 1.2 beside -5 to -2, outside -5.5 to -1.8, ±" +
			"1.6 (t, capacity 1)",
		"hits(a) is first among a, b, c": "refuted: a 20 is number 3 of 3, behind b 22 (t, capacity 1)",
		"hits(b) is first among a, b, c": "undecided: b 22 is number 1 of 3, ahead of c 21.2, a tie " +
			"within ±1.6 (t, capacity 1)",
		"hits(sure) > hits(a)":       "undecided: 21 > 20, a tie within ±12.4 (t, capacity 1)",
		"hits(a) < hits(sure) + 100": "reproduced: 20 < 121, ±12.4 (t, capacity 1)",
	} {
		checkResult(t, in, claim, want)
	}
}

// The jackknife of a mean has the interval of Student's t, and more seeds than groups give nearly the same one.
func TestTheIntervalIsThatOfStudent(t *testing.T) {
	x := []float64{3, 5, 4, 9, 7}
	var without []float64
	mean, squares := 5.6, 0.0
	for _, left := range x {
		without = append(without, (28-left)/4)
		squares += (left - mean) * (left - mean)
	}
	want := math.Sqrt(squares / 4 / 5)
	if got := deviation(without); math.Abs(got-want) > 1e-12 {
		t.Errorf("standard error %g, want %g", got, want)
	}
	if got := deviation([]float64{1, math.Inf(1)}); !math.IsInf(got, 1) {
		t.Errorf("standard error %g of what cannot be computed, want +Inf", got)
	}
}

func TestManySeedsAreLeftOutInGroups(t *testing.T) {
	var lines strings.Builder
	for seed := range 50 {
		fmt.Fprintf(&lines, "t a 1 %d/100 seed=%d\n", 40+seed%7, seed)
	}
	in := Input{Records: recs(t, lines.String()+"t lru 1 42/100\n")}
	r := verdictOf(t, in, "hits(a) > hits(lru)")
	if r.Verdict != Reproduced || !strings.Contains(r.Measured, "±") {
		t.Errorf("got %+v", r)
	}
	e := &evaluator{d: NewData(in), leftOut: everySeed, claim: &Claim{}}
	e.slots = []slot{{cells: e.slotCells(0)}}
	groupOf, groups := e.seedGroups()
	if len(groupOf) != 50 || groups != maxGroups {
		t.Errorf("%d seeds in %d groups, want 50 in %d", len(groupOf), groups, maxGroups)
	}
	for e.leftOut = range groups {
		e.groupOf = groupOf
		if n := len(e.remaining(e.slots[0].cells[0].recs)); n < 47 || n > 48 {
			t.Errorf("without group %d there are %d records, want all but 2 or 3", e.leftOut, n)
		}
	}
}

// A value that some of the seeds alone make computable is not sure.
func TestValuesThatNeedASeed(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 1/100 seed=0\nt a 1 0/100 seed=1\nt b 1 20/100 seed=0\nt b 1 20/100 seed=1")}
	checkResult(t, in, "hits(b) / hits(a) > 10", "undecided: 40 > 10, which cannot be computed without some of the seeds "+
		"(t, capacity 1)")
}

// The text names what is not decided, and not what is nearer but sure.
func TestTheTextIsAboutWhatDecides(t *testing.T) {
	var lines strings.Builder
	noise := []int{-40, 40, 10, -30, 20}
	for seed, n := range noise {
		for place, x := range []int{100, 110, 130 + n, 300} {
			fmt.Fprintf(&lines, "t a 1 %d/1000 seed=%d x=%d\n", x+seed, seed, place)
		}
		fmt.Fprintf(&lines, "t b 1 %d/1000 seed=%d\nt c 1 %d/1000 seed=%d\n", 110+seed, seed, 130+n+seed, seed)
		fmt.Fprintf(&lines, "t d 1 %d/1000 seed=%d\nt e 1 %d/1000 seed=%d\n", 300+seed, seed, 90+seed+n%2, seed)
	}
	in := Input{Records: recs(t, lines.String())}
	for claim, want := range map[string]string{
		"hits(a) increases with x": "undecided: from 112 at x 1 to 132 at x 2, a tie within ±42.1 (t, capacity 1)",
		"hits(a) is monotone in x": "undecided: from 112 at x 1 to 132 at x 2, a tie within ±42.1 (t, capacity 1)",
		"hits(a) decreases with x": "refuted: from 132 at x 2 to 302 at x 3, ±42.1 (t, capacity 1)",
		"hits(a at x = 0) < hits(b) < hits(c)": "undecided: 102 < 112 < 132, a tie within ±42.1 " +
			"(t, capacity 1)",
		"hits(c) < hits(b) < hits(a at x = 0)": "refuted: 132 > 112 > 102 (t, capacity 1)",
		"hits(b) is last among b, c, d": "undecided: b 112 is number 3 of 3, behind c 132, a tie within ±42.1 " +
			"(t, capacity 1)",
		"hits(b) is second among b, c, d": "undecided: b 112 is number 3 of 3, behind c 132, a tie within ±42.1 " +
			"(t, capacity 1)",
		"hits(c) is third among b, c, d, e": "undecided: c 132 is number 2 of 4, ahead of b 112, a tie within ±42.1 " +
			"(t, capacity 1)",
		"hits(c) about 130":           "undecided: 132 beside 130, inside 117 to 143, a tie within ±42.6 (t, capacity 1)",
		"hits(c) between 120 and 140": "undecided: 132, inside 120 to 140, a tie within ±42.6 (t, capacity 1)",
		"hits(c) != hits(d)":          "reproduced: 132 < 302, ±42.1 (t, capacity 1)",
	} {
		checkResult(t, in, claim, want)
	}
}
