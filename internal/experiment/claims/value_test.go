package claims

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Values are computed at the points at which a claim compares them: from means over the seeds, and at a place on every
// dimension that they do not combine.
func TestValues(t *testing.T) {
	d := NewData(exampleInput(t))
	for text, want := range map[string][]string{
		"hit_ratio(arc) - hit_ratio(lru) where trace = oltp": {"oltp 250  0.05", "oltp 500  0.07", "oltp 1000  0.07"},
		"hit_ratio(arc) / (max over baselines of hit_ratio) - 100% where capacity = 250": {
			"oltp 250  0.3125",
		},
		"hit_ratio(random)": {"oltp 250  0.12"}, // of two seeds
		"hit_ratio(laru) / hit_ratio(lru) where noise >= 0.5": {"oltp 250 noise=0.5 1.875", "oltp 250 noise=1 0.9375"},
		"max over capacity of hit_ratio(lru)": {"oltp 250  0.32 over capacity",
			"gli 250  0.009 over capacity"},
		"min over noise of hit_ratio(laru)": {"oltp 250  0.15"},
		"published(lru)":                    nil,
	} {
		var got []string
		points, reason := must.Get(ParseValue(text))(t).At(d)
		for _, p := range points {
			point := fmt.Sprintf("%s %s %s %.5g", p.Record.Trace, p.Record.CapacityText, p.Axes, p.X)
			for _, dimension := range p.Over {
				point += " over " + dimension
			}
			got = append(got, point)
		}
		if want != nil && !slices.Equal(got, want) {
			t.Errorf("%s: %q (%s), want %q", text, got, reason, want)
		}
		if want == nil && len(got) != 2 {
			t.Errorf("%s: %q, want the numbers at two points", text, got)
		}
	}
	if points, reason := must.Get(ParseValue("hit_ratio(lirs)"))(t).At(d); points != nil || reason == "" {
		t.Errorf("an absent policy: %v, reason %q", points, reason)
	}
}

func TestValueErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "want a value",
		"1 + 1":                               "it names no metric of a policy",
		"hit_ratio(lru) > 0.5":                `">" is unexpected here; want the end or where`,
		"hit_ratio(lru) within 1%":            "want the end or where",
		"hit_ratio(lru) where":                "want a dimension",
		"max over baselines of hit_ratio + 1": "ambiguous",
	} {
		must.NotGet(ParseValue(text))(t, want, text)
	}
	for text, want := range map[string]bool{
		"hit_ratio(arc) - hit_ratio(lru)":        true,
		"hit_ratio(arc) / hit_ratio(lru) - 100%": true,
		"hit_ratio(arc) / hit_ratio(lru)":        false,
		"misses(arc) - misses(lru)":              false,
	} {
		if got := must.Get(ParseValue(text))(t).IsShare(); got != want {
			t.Errorf("%s is a share: %v", text, got)
		}
	}
}
