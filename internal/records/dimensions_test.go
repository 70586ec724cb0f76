package records

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
)

func TestDimensions(t *testing.T) {
	r := Record{Trace: "oltp", Policy: "s3fifo", Label: "s3", Capacity: 489, CapacityText: "1%", Seed: 7,
		Axes: "small=0.1,kind=flip"}
	for name, want := range map[string]Value{
		"trace":    {Text: "oltp"},
		"policy":   {Text: "s3"},
		"capacity": {Text: "1%", Number: 489, IsNumber: true},
		"seed":     {Text: "7", Number: 7, IsNumber: true},
		"small":    {Text: "0.1", Number: 0.1, IsNumber: true},
		"kind":     {Text: "flip"},
	} {
		if got, ok := r.Dim(name); !ok || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, ok, want)
		}
	}
	if v, ok := r.Dim("smal"); ok {
		t.Errorf("a dimension that the record does not have is %+v", v)
	}
	if names := AxisNames([]Record{r, {Axes: "skew=1"}, r, {}}); !slices.Equal(names, []string{"small", "kind", "skew"}) {
		t.Errorf("axes %v", names)
	}
}

func TestMetrics(t *testing.T) {
	r := Record{CapacityShare: ptr(0.5), Values: metric.ValuesOf(map[string]float64{"misses": 3, "hit_ratio": 0.25,
		"opt_misses": 2, "ghosts": 0.5})}
	for name, want := range map[string]float64{"misses": 3, "hit_ratio": 0.25, "opt_misses": 2, "ghosts": 0.5,
		"evictions":      0,
		"capacity_share": 0.5} {
		if got, ok := r.Metric(name); !ok || got != want {
			t.Errorf("%s: got %v, %v; want %v", name, got, ok, want)
		}
	}
	for _, name := range []string{"byte_hit_ratio", "trace", "nothing", ""} {
		if got, ok := r.Metric(name); ok {
			t.Errorf("%q has the value %v", name, got)
		}
	}
	names := MetricNames()
	for _, name := range []string{"hit_ratio", "misses", "byte_hit_ratio", "ns_per_request", "competitive_ratio"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is no metric of %v", name, names)
		}
	}
	if slices.Contains(names, "seed") || slices.Contains(names, "capacity") || slices.Contains(names, "best") {
		t.Errorf("settings among the metrics %v", names)
	}
}

func TestRanOnce(t *testing.T) {
	recs := []Record{
		{Label: "lru", CapacityText: "1%"}, {Label: "lru", CapacityText: "2%"}, {Label: "lru", CapacityText: "1%",
			Trace: "b"},
		{Label: "random", CapacityText: "1%"}, {Label: "random", CapacityText: "1%", Seed: 1}, {Label: "random",
			CapacityText: "1%", Axes: "x=1", Seed: 1},
	}
	if got, want := RanOnce(recs), []bool{true, true, true, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
