package policies

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
)

// A counter has the name of its metric, with its label, however it is made.
func TestCountersAreNamedByTheirMetrics(t *testing.T) {
	plain := metric.Metric{Name: "counted", Unit: metric.Count}
	labelled := metric.Metric{Name: "counted_of", Unit: metric.Count, Labels: "tenant"}
	var v metric.Values
	v.SetNamed(labelled.Of("web"), 2)
	v.Set(plain, 1)
	want := []Counter{Count(plain, 1), CountOf(labelled, "web", 2)}
	if got := CountAll(v); !slices.Equal(got, want) || got[0].Name() != "counted" || got[1].Name() != "counted_of[web]" {
		t.Errorf("counters %v, want %v", got, want)
	}
}
