package target

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/records"
)

// drawn is a curve whose hit ratios at each capacity are evenly spread over a range in the draws, in the given order.
func drawn(policy string, online bool, spread float64, rising bool, points ...Point) Curve {
	c := Curve{Policy: policy, Online: online, Points: points}
	for _, p := range points {
		var ratios []float64
		for k := range blocks.Draws {
			at := float64(k)/(blocks.Draws-1) - 0.5
			if !rising {
				at = -at
			}
			ratios = append(ratios, p.HitRatio+spread*at)
		}
		c.Drawn = append(c.Drawn, ratios)
	}
	return c
}

func intervalsOf(t *testing.T, level float64, curves ...Curve) (a Answer, sentence string) {
	t.Helper()
	a, ok := Of(Target{Value: level}, records.Objects, curves)
	if !ok {
		t.Fatal("no answer")
	}
	return a, a.Sentence()
}

// A hit ratio of 0.5 is at the square root of 100 x 10,000. In the draws the ratios move by 0.1 to either side, of
// which 0.095 count: a quarter of the distance between the points is a factor of 100^(0.095/0.4).
func TestIntervals(t *testing.T) {
	lru := drawn("lru", true, 0.2, true, Point{100, 0.3}, Point{10_000, 0.7})
	a, got := intervalsOf(t, 0.5, lru)
	if want := "a hit ratio of 0.5: ~1,000 objects with lru (335 to 2,990)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if text := strings.Join(a.Explanation(), "\n"); !strings.Contains(text, "95% intervals, from how much 400 blocks") {
		t.Error(text)
	}
	_, got = intervalsOf(t, 0.69, lru)
	if want := "a hit ratio of 0.69: ~8,910 objects with lru (2,980 to more than 10,000)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, got = intervalsOf(t, 0.31, lru)
	if want := "a hit ratio of 0.31: ~113 objects with lru (at most 100 to 335)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	_, got = intervalsOf(t, 0.15, lru) // always enough
	if want := "a hit ratio of 0.15: at most 100 objects with lru"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Policies whose ratios rise and fall together are told apart by small differences; those that do not, tie.
func TestTies(t *testing.T) {
	lru := drawn("lru", true, 0.2, true, Point{100, 0.3}, Point{10_000, 0.7})
	same := drawn("fifo", true, 0.2, true, Point{100, 0.29}, Point{10_000, 0.69})
	other := drawn("arc", true, 0.2, false, Point{100, 0.29}, Point{10_000, 0.69})
	opt := drawn("opt", false, 0.2, false, Point{100, 0.6}, Point{10_000, 0.7})
	a, _ := intervalsOf(t, 0.5, lru, same, other, opt)
	if text := strings.Join(a.Explanation(), "\n"); !strings.Contains(text, "; at ~1,000 objects a tie: lru, arc") ||
		strings.Contains(text, "fifo") {
		t.Error(text)
	}
}

// Where blocks of one policy are unknown the largest hit ratio of a draw is, too: there are no intervals.
func TestNoIntervals(t *testing.T) {
	lru := drawn("lru", true, 0.2, true, Point{100, 0.3}, Point{10_000, 0.7})
	unknown := Curve{Policy: "arc", Online: true, Points: lru.Points, Drawn: [][]float64{lru.Drawn[0], nil}}
	if _, got := intervalsOf(t, 0.5, lru, unknown); got != "a hit ratio of 0.5: ~1,000 objects with lru, ~1,000 with arc" {
		t.Error(got)
	}
	unknown.Online = false
	if _, got := intervalsOf(t, 0.5, lru, unknown); got != "a hit ratio of 0.5: ~1,000 objects with lru (335 to 2,990); "+
		"offline: ~1,000 with arc" {
		t.Error(got)
	}
	if a, _ := intervalsOf(t, 0.5, unknown); a.someInterval() {
		t.Errorf("%+v", a)
	}
}
