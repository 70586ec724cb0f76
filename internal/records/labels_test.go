package records

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
)

func TestByLabel(t *testing.T) {
	recs := []Record{
		{Label: "lru", Axes: "p=1", Values: metric.ValuesOf(map[string]float64{
			"hit_ratio": 0.4, "tenant_hits[a]": 10, "tenant_hits[b,c]": 20, "tenant_hit_ratio[a]": 0.5,
		})},
		{Label: "fifo", Values: metric.ValuesOf(map[string]float64{"hit_ratio": 0.3})},
	}
	got := ByLabel(recs, "tenant_hits", "tenant_hit_ratio")
	want := []struct {
		label, axes  string
		hits, ratio  float64
		hasHits, has bool
	}{{"lru", "p=1,tenant=a", 10, 0.5, true, true}, {"lru", "p=1,tenant=b;c", 20, 0, true, false},
		{"fifo", "", 0, 0, false, false}}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i, w := range want {
		r := &got[i]
		hits, hasHits := r.Get("tenant_hits")
		ratio, has := r.Get("tenant_hit_ratio")
		if r.Label != w.label || r.Axes != w.axes || hits != w.hits || hasHits != w.hasHits || ratio != w.ratio ||
			has != w.has {
			t.Errorf("record %d: %s %q, hits %v %v, ratio %v %v; want %+v", i, r.Label, r.Axes, hits, hasHits, ratio, has, w)
		}
		if all, _ := r.Metric("hit_ratio"); all != recs[min(i/2, 1)].Float(metric.Metric{Name: "hit_ratio"}) {
			t.Errorf("record %d: hit ratio %v, which depends on no label", i, all)
		}
	}
	if recs[0].Axes != "p=1" || recs[0].Values.Len() != 4 {
		t.Error("the records changed")
	}
}

func TestLabelsOf(t *testing.T) {
	for name, want := range map[string]string{"tenant_hits": "tenant", "tenant_hits[a]": "", "hit_ratio": "", "x": ""} {
		if got := LabelsOf(name); got != want {
			t.Errorf("%s: labels %q, want %q", name, got, want)
		}
	}
}

// The end of a label in a name, a bracket, is behind the digits: gap[0.15] comes before gap[0.1] in a record.
func TestLabelsThatAreNumbersAreInTheirOrder(t *testing.T) {
	var axes []string
	for _, r := range ByLabel([]Record{{Values: metric.ValuesOf(map[string]float64{
		"tenant_hits[0.15]": 1, "tenant_hits[0.1]": 1, "tenant_hits[10]": 1, "tenant_hits[2]": 1, "tenant_hits[a]": 1,
	})}}, "tenant_hits") {
		axes = append(axes, r.Axes)
	}
	want := []string{"tenant=0.1", "tenant=0.15", "tenant=2", "tenant=10", "tenant=a"}
	if !slices.Equal(axes, want) {
		t.Errorf("got %q, want %q", axes, want)
	}
}
