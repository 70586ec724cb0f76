package report

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/experiment"
)

func TestPublishedAlone(t *testing.T) {
	f := &experiment.File{
		Absent: map[string]string{"fpb": "needs predictions"},
		References: []experiment.Reference{{Name: "paper", Metric: "misses", Points: []experiment.Point{
			{
				At:     map[string]experiment.Values{"policy": {"fpb"}, "trace": {"bk"}, "sigma": {"0", "2"}},
				Values: []experiment.Number{33990, 34083.7},
			},
			{
				At:     map[string]experiment.Values{"policy": {"fpb"}, "trace": {"other"}, "sigma": {"0"}},
				Values: []experiment.Number{1},
			},
			// nowhere on the axis
			{At: map[string]experiment.Values{"policy": {"fpb"}, "trace": {"bk"}}, Values: []experiment.Number{2}},
			{
				At:     map[string]experiment.Values{"policy": {"lru"}, "trace": {"bk"}, "sigma": {"0"}},
				Values: []experiment.Number{3},
			},
		}}},
	}
	figure := experiment.Figure{
		X:          "sigma",
		Y:          "misses",
		References: experiment.Values{"paper"},
		Only:       map[string]experiment.Values{"trace": {"bk"}, "policy": {"fpb"}},
	}
	recs := publishedAlone(f, figure)
	if len(recs) != 2 {
		t.Fatalf("%d records, want 2: %+v", len(recs), recs)
	}
	for i, want := range []struct {
		misses int64
		axes   string
	}{{33990, "sigma=0"}, {34084, "sigma=2"}} {
		if r := recs[i]; r.Int(metric.Misses) != want.misses || r.Axes != want.axes || r.Label != "fpb (published)" ||
			r.Trace != "bk" {
			t.Errorf("record %d: %s of %s at %s: %d misses, want %d at %s", i, r.Label, r.Trace, r.Axes,
				r.Int(metric.Misses), want.misses, want.axes)
		}
	}
	// Over the capacity, the numbers of all sigmas would have the same place.
	f.References[0].Points[0].At["capacity"] = experiment.Values{"10"}
	if recs := publishedAlone(f, experiment.Figure{X: "capacity", Y: "misses",
		References: experiment.Values{"paper"}}); len(recs) != 0 {
		t.Errorf("numbers on an axis that the figure does not have: %+v", recs)
	}
	if recs := publishedAlone(f, experiment.Figure{X: "capacity", Y: "misses", Panels: "sigma",
		References: experiment.Values{"paper"}}); len(recs) != 2 {
		t.Errorf("%d numbers over panels, want 2", len(recs))
	}
	figure.Y = "hit_ratio"
	if recs := publishedAlone(f, figure); len(recs) != 0 {
		t.Errorf("misses are drawn as hit ratios: %+v", recs)
	}
}
