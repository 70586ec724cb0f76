package claims

import (
	"math"

	"github.com/cachesim/cachesim/internal/records"
)

// test is a number that must not be negative for a claim to hold at a point, or must be positive if the test is strict.
type test struct {
	margin float64
	slack  float64 // the margin with the rounding errors of its operations
	strict bool
	size   float64 // of the values whose difference the margin is
	half   float64 // half the width of the margin's 95% interval; 0 if nothing varies with the seed
}

// newTest tests whether a is at least b, which depends on values.
func newTest(a, b float64, values ...float64) test {
	t := test{margin: apart(a, b), slack: a - b}
	for _, x := range values {
		t.size = max(t.size, math.Abs(x))
	}
	return t
}

// relative makes slacks comparable between points: those of ratios stay as they are, others are taken relative to the
// size of the values.
func (t test) relative(u unit) float64 {
	if u == share || t.size == 0 {
		return t.slack
	}
	return t.slack / t.size
}

// least is the least relative slack of tests.
func least(tests []test, u unit) float64 {
	nearest := math.Inf(1)
	for _, t := range tests {
		nearest = min(nearest, t.relative(u))
	}
	return nearest
}

// answer is the outcome of a test. Of several, the least decides.
type answer int

const (
	no     answer = iota // the interval excludes that the test passes
	unsure               // the interval includes both
	yes
)

// verdict is the verdict of a claim that holds where the answer is yes.
func (a answer) verdict() Verdict {
	return [...]Verdict{no: Refuted, unsure: Undecided, yes: Reproduced}[a]
}

func (t test) answer() answer {
	switch {
	case t.margin-t.half > 0 || t.half == 0 && t.margin == 0 && !t.strict:
		return yes
	case t.margin+t.half < 0 || t.half == 0:
		return no
	}
	return unsure
}

// every is the answer whether all tests pass.
func every(tests []test) answer {
	all := yes
	for _, t := range tests {
		all = min(all, t.answer())
	}
	return all
}

// nearest is the least of the tests with that answer, as by orders them; of all tests if none has it.
func nearest(tests []test, is answer, by func(i int) float64) (at int) {
	none := answered(tests, is) == 0
	least := math.Inf(1)
	for i, t := range tests {
		if x := by(i); x < least && (none || t.answer() == is) {
			at, least = i, x
		}
	}
	return at
}

// nearestTest is the test with the least margin among those that decide a verdict: if it does not hold, among those
// that fail.
func nearestTest(tests []test, verdict Verdict) int {
	return nearest(tests, verdict.answer(), func(i int) float64 { return tests[i].margin })
}

// answer is the answer of the tests that decide a verdict.
func (v Verdict) answer() answer {
	switch v {
	case Reproduced:
		return yes
	case Undecided:
		return unsure
	}
	return no
}

func answered(tests []test, is answer) int {
	return records.Count(tests, func(t test) bool { return t.answer() == is })
}

// apart is by how much a is above b, and 0 if they differ by the rounding of a few operations.
func apart(a, b float64) float64 {
	if records.CompareNumbers(a, b) == 0 {
		return 0
	}
	return a - b
}

// rounding is the share of a value up to which differences between seeds come from rounding.
const rounding = 1e-12

// vary sets half the width of the interval, unless it comes from rounding.
func (t *test) vary(half float64) {
	if half > rounding*t.size && !math.IsNaN(half) {
		t.half = half
	}
}
