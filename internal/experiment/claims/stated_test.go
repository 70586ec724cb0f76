package claims

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// A stated number is met on both sides of it: 10% of it, or what the claim says.
func TestStatedNumbers(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 30/100\nt b 1 53/100\nt lru 1 20/100\nt a 2 40/100\nt b 2 41/100\nt lru 2 50/100")}
	for claim, want := range map[string]string{
		"hits(a) about 32 where capacity = 1":           "reproduced: 30 beside 32 (t, capacity 1)",
		"hits(a) about 27.3 where capacity = 1":         "reproduced: 30 beside 27.3 (t, capacity 1)",
		"hits(a) about 27.2 where capacity = 1":         "refuted: 30 beside 27.2, outside 24.5 to 29.9 (t, capacity 1)",
		"hits(a) about 27.2 or more where capacity = 1": "exceeded: 30 beside 27.2, outside 24.5 to 29.9 (t, capacity 1)",
		"hits(a) about 27.2 or less where capacity = 1": "refuted: 30 beside 27.2, outside 24.5 to 29.9 (t, capacity 1)",
		"hits(a) about 33.4 where capacity = 1":         "refuted: 30 beside 33.4, outside 30.1 to 36.7 (t, capacity 1)",
		"hits(a) about 33.4 or more where capacity = 1": "refuted: 30 beside 33.4, outside 30.1 to 36.7 (t, capacity 1)",
		"hits(a) about 33.4 or less where capacity = 1": "exceeded: 30 beside 33.4, outside 30.1 to 36.7 (t, capacity 1)",
		"hits(a) about 27 within 3 where capacity = 1":  "reproduced: 30 beside 27 (t, capacity 1)",
		"hits(a) about 27 or more within 2.5 where capacity = 1": "exceeded: 30 beside 27, outside 24.5 to 29.5 (t, " +
			"capacity 1)",
		"hits(a) about 32 or more within 5% of it": "refuted: 30 to 40, fails at 1 of 2 points; worst at t, " +
			"capacity 1: 30 beside 32, outside 30.4 to 33.6",
		"hits(a) about 32 within 5% of it": "refuted: 30 to 40, fails at 2 of 2 points; worst at t, " +
			"capacity 2: 40 beside 32, outside 30.4 to 33.6",
		"hits(a) about 28 to 37": "reproduced: 30 to 40, at all 2 points; closest at t, capacity 2: 40 beside 28 to 37",
		"hits(a) about 20 to 30 or more": "exceeded: 30 to 40, exceeded at 1 of 2 points; farthest at t, " +
			"capacity 2: 40 beside 20 to 30, outside 18 to 33",
		"hits(b) about 20 to 30 or more": "exceeded: 41 to 53, exceeded at 2 of 2 points; farthest at t, " +
			"capacity 1: 53 beside 20 to 30, outside 18 to 33",
		"hits(b) about 20 to 30": "refuted: 41 to 53, fails at 2 of 2 points; worst at t, " +
			"capacity 1: 53 beside 20 to 30, outside 18 to 33",
		"hits(a) about 50 to 60": "refuted: 30 to 40, fails at 2 of 2 points; worst at t, " +
			"capacity 1: 30 beside 50 to 60, outside 45 to 66",
		"hit_ratio(b) about 28.7% where capacity = 1": "refuted: 53.00% beside 28.7%, outside 25.83% " +
			"to 31.57% (t, capacity 1)",
		"hits(lru) - hits(a) about -9 or less where capacity = 1": "exceeded: -10 beside -9, outside -9.9 to -8.1 (t, " +
			"capacity 1)",
		"hits(lru) - hits(a) about -9 or more where capacity = 1": "refuted: -10 beside -9, outside -9.9 to -8.1 (t, " +
			"capacity 1)",
		"hits(lru) - hits(a) about -12 where capacity = 1": "refuted: -10 beside -12, outside -13.2 to -10.8 (t, " +
			"capacity 1)",
		"hits(a) about 30 at 50% of points": "reproduced: at 1 of 2 points; worst at t, capacity 2: " +
			"40 beside 30, outside 27 to " +
			"33",
	} {
		checkResult(t, in, claim, want)
	}
}

func TestStatedNumbersAreReadBack(t *testing.T) {
	for _, text := range []string{
		"hits(a) about 32", "hits(a) about 1 to 2 within 5% of it where trace = t", "1 - hits(a) / hits(b) about -3 to 2",
		"max over trace of hits(a) about 2 at 50% of points", "hits(a) about 32 or more",
		"hits(a) about 1 to 2 or less within 5% of it where trace = t",
	} {
		if c, err := Parse(text); err != nil || c.String() != text {
			t.Errorf("%s: read back as %v (%v)", text, c, err)
		}
	}
	for text, want := range map[string]string{
		"hits(a) about 3 to 2":       "column 15: the range from 3 to 2 is empty: write the lower end first",
		"hits(a) about hits(a)":      "column 1: both sides are hits(a)",
		"hits(a) about 1 to hits(a)": "column 1: both sides are hits(a)",
		"hits(a) about 0": "column 15: a share of 0 is 0, so that nothing but 0 is about it: " +
			"write about 0 within X",
		"hits(a) about 0 within 5% of it": "column 15: a share of 0 is 0, so that nothing but 0 is about it: " +
			"write about 0 within X",
		"hits(a) about 5 or moer": "column 20: \"moer\" is unexpected here; want more or less after or: the side on which " +
			"the source praises a value; did you mean \"more\"?",
		"hits(a) about 5 or more or less": "column 25: \"or\" is unexpected here",
		"hits(a) about 0 within 2":        "",
		"hits(a) about 0 to 2":            "",
	} {
		got := ""
		if _, err := Parse(text); err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// A stated number is missed on both sides of it; only beyond the side that is praised is a miss more than was stated.
func TestStatedNumbersAgreeWithNaiveReading(t *testing.T) {
	verdicts := map[Verdict]int{}
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		hits := rapid.IntRange(0, 40).Draw(t, "hits")
		low := rapid.IntRange(1, 40).Draw(t, "low")
		high := low + rapid.IntRange(0, 10).Draw(t, "width")
		band := rapid.IntRange(0, 3).Draw(t, "band")
		side := rapid.SampledFrom([]string{"", " or more", " or less"}).Draw(t, "side")
		text := fmt.Sprintf("hits(a) about %d to %d%s within %d", low, high, side, band)
		want := Reproduced
		switch {
		case hits > high+band:
			want = map[bool]Verdict{true: Exceeded, false: Refuted}[side == " or more"]
		case hits < low-band:
			want = map[bool]Verdict{true: Exceeded, false: Refuted}[side == " or less"]
		}
		got := must.Get(Parse(text))(t).Evaluate(NewData(Input{Records: recs(whole, fmt.Sprintf("t a 1 %d/100", hits))}))
		if got.Verdict != want {
			t.Fatalf("%s with %d hits is %s (%s), want %s", text, hits, got.Verdict, got.Measured, want)
		}
		verdicts[want]++
	})
	for _, v := range []Verdict{Reproduced, Exceeded, Refuted} {
		seeded.Covers(t, verdicts[v] > 0, "no claim is %s: %v", v, verdicts)
	}
}

// What two seeds do not tell apart from a bound is undecided on either side of it, praised or not.
func TestStatedNumbersWithinTheNoise(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 30/100\nt a 1 34/100")}
	in.Records[1].Seed = 1
	for claim, want := range map[string]Verdict{
		"hits(a) about 33 within 1": Undecided, "hits(a) about 31 within 1": Undecided,
		"hits(a) about 31 or more within 1": Undecided, "hits(a) about 100 within 1": Refuted,
		"hits(a) about 1 within 1": Refuted, "hits(a) about 32 within 31": Reproduced,
	} {
		r := must.Get(Parse(claim))(t).Evaluate(NewData(in))
		if half := r.Quantities[0].Half; math.Abs(half-25.4) > 0.1 {
			t.Fatalf("the interval is ±%g, want ±25.4", half)
		}
		if r.Verdict != want {
			t.Errorf("%s: got %s (%s), want %s", claim, r.Verdict, r.Measured, want)
		}
	}
}
