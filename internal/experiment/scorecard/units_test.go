package scorecard

import "testing"

func TestValuesHaveUnits(t *testing.T) {
	for _, c := range [][3]string{ // measured, unit, want
		{"fails at 2 of 27 points; worst at meta-low, capacity 1%, batch 2048: 1.983 < 2.167, ±7.371e-05, read as 5", "ms",
			"fails at 2 of 27 points; worst at meta-low, capacity 1%, batch 2048: 1.983 ms < 2.167 ms, ±0.000074 ms, " +
				"read as 5"},
		{"52.66% beside 28.7%, outside 25.83% to 31.57%, ±1.31% (online-qa, cache prefix)", "%",
			"52.7% beside 28.7%, outside 25.8% to 31.6%, ±1.3% (online-qa, cache prefix)"},
		{"1.80% to 26.04%, fails at 4 of 8 points; worst at a, p 0: 1.80% beside 0.38, 3.87% apart", "%",
			"1.80% to 26.04%, fails at 4 of 8 points; worst at a, p 0: 1.80% beside 38%, 3.87 points apart"},
		{"at all 18 points; closest at clinc, p 0: 6,957 > 6909.0; 3 points left out: 5 > 4", "misses",
			"at all 18 points; closest at clinc, p 0: 6,957 misses > 6,909.0 misses; 3 points left out: 5 > 4"},
		{"fails in 2 of 5 series; worst at n32, cache 32: from 25.83% at hot 0.20 to 30.48% at hot 0.40, ±0.05%", "%",
			"fails in 2 of 5 series; worst at n32, cache 32: from 25.83% at hot 0.20 to 30.48% at hot 0.40, ±0.05%"},
		{"371,022.7 > 316076.0, ±2,304.4", "/s", "371,023/s > 316,076/s, ±2,304/s"},
		{"1.004 to 3.204, fails at 1 of 1 points; worst at a: 1.004 beside 2, outside 1.8 to 2.2; over 1 to 3 places", "x",
			"1.004x to 3.204x, fails at 1 of 1 points; worst at a: 1.004x beside 2x, outside 1.8x to 2.2x; over 1 to 3 places"},
		{"25.33% > 5%, ±0.1%", "points", "25.33 points > 5 points, ±0.1 points"},
		{"10.4 < 10.45, a tie within ±12", "ms", "10.4 ms < 10.45 ms, a tie within ±12 ms"}, // not 10 < 10
		{"arc 30.6 is number 2 of 4, behind lirs 31.2", "ms", "arc 30.6 ms is number 2 of 4, behind lirs 31.2 ms"},
		{"-0.177 < 0, ±0.018", "", "-0.177 < 0, ±0.018"},
		{"", "ms", ""},
	} {
		if got := withUnits(c[0], c[1]); got != c[2] {
			t.Errorf("%s\nin %s: got\n%s\nwant\n%s", c[0], c[1], got, c[2])
		}
	}
}
