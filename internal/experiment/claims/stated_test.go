package claims

import "testing"

// A stated number is met on both sides of it: 10% of it, or what the claim says.
func TestStatedNumbers(t *testing.T) {
	in := Input{Records: recs(t, "t a 1 30/100\nt b 1 53/100\nt lru 1 20/100\nt a 2 40/100\nt b 2 41/100\nt lru 2 50/100")}
	for claim, want := range map[string]string{
		"hits(a) about 32 where capacity = 1":   "holds: 30 beside 32 (t, capacity 1)",
		"hits(a) about 27.3 where capacity = 1": "holds: 30 beside 27.3 (t, capacity 1)",
		"hits(a) about 27.2 where capacity = 1": "exceeds: 30 beside 27.2, outside 24.5 to 29.9 (t, capacity 1)",
		"hits(a) about 33.4 where capacity = 1": "does not hold: 30 beside 33.4, outside 30.1 to 36.7 (t, " +
			"capacity 1)",
		"hits(a) about 27 within 3 where capacity = 1":   "holds: 30 beside 27 (t, capacity 1)",
		"hits(a) about 27 within 2.5 where capacity = 1": "exceeds: 30 beside 27, outside 24.5 to 29.5 (t, capacity 1)",
		"hits(a) about 32 within 5% of it": "does not hold: 30 to 40, fails at 1 of 2 points; worst at t, " +
			"capacity 1: 30 beside 32, outside 30.4 to 33.6",
		"hits(a) about 28 to 37": "holds: 30 to 40, at all 2 points; closest at t, capacity 2: 40 beside 28 to 37",
		"hits(a) about 20 to 30": "exceeds: 30 to 40, exceeds at 1 of 2 points; farthest at t, " +
			"capacity 2: 40 beside 20 to 30, outside 18 to 33",
		"hits(b) about 20 to 30": "exceeds: 41 to 53, exceeds at 2 of 2 points; farthest at t, " +
			"capacity 1: 53 beside 20 to 30, outside 18 to 33",
		"hits(a) about 50 to 60": "does not hold: 30 to 40, fails at 2 of 2 points; worst at t, " +
			"capacity 1: 30 beside 50 to 60, outside 45 to 66",
		"hit_ratio(b) about 28.7% where capacity = 1": "exceeds: 53.00% beside 28.7%, outside 25.83% " +
			"to 31.57% (t, capacity 1)",
		"hits(lru) - hits(a) about -9 where capacity = 1": "exceeds: -10 beside -9, outside -9.9 to -8.1 (t, capacity 1)",
		"hits(lru) - hits(a) about -12 where capacity = 1": "does not hold: -10 beside -12, outside -13.2 to -10.8 (t, " +
			"capacity 1)",
		"hits(a) about 30 at 50% of points": "holds: at 1 of 2 points; worst at t, capacity 2: " +
			"40 beside 30, outside 27 to " +
			"33",
	} {
		checkResult(t, in, claim, want)
	}
}

func TestStatedNumbersAreReadBack(t *testing.T) {
	for _, text := range []string{
		"hits(a) about 32", "hits(a) about 1 to 2 within 5% of it where trace = t", "1 - hits(a) / hits(b) about -3 to 2",
		"max over trace of hits(a) about 2 at 50% of points",
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
		"hits(a) about 0 within 2": "",
		"hits(a) about 0 to 2":     "",
	} {
		if _, err := Parse(text); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
