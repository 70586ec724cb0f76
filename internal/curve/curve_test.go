package curve

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
)

func TestGridGoesFromOneToAll(t *testing.T) {
	trace := &traces.Trace{NumObjects: 1000}
	grid := Grid(trace, []capacity.Capacity{capacity.Of(10, false)}, 4)
	var amounts []int64
	for _, c := range grid {
		amounts = append(amounts, c.Amount)
	}
	if want := []int64{1, 100, 1000}; !slices.Equal(amounts, want) {
		t.Errorf("grid %v, want %v: steps of ten without the 10 of the table", amounts, want)
	}
	trace.ObjectSizes, trace.RequestSizes = []int64{5, 80}, []int64{5, 80, 7}
	if grid := Grid(trace, []capacity.Capacity{capacity.Of(10, true)}, 4); grid != nil {
		t.Errorf("grid %v of objects that change their size, each of which would be a replay", grid)
	}
}

func TestSamplesHoldWholeUnits(t *testing.T) {
	held := Scaled([]capacity.Capacity{capacity.Of(5, false), capacity.Of(10, false), capacity.Of(250, false)}, 0.1)
	if len(held) != 2 || held[0].Simulated != 1 || held[1].Simulated != 25 || held[1].Amount != 250 {
		t.Errorf("a tenth of 5, 10 and 250 objects is %+v", held)
	}
}

func TestCapacitiesAreOfOneUnit(t *testing.T) {
	trace := &traces.Trace{NumObjects: 4, ObjectSizes: []int64{1, 2, 3, 4}, Objects: []uint32{0, 1, 2, 3}, SampleRate: 1}
	specs, err := capacity.ParseList("3,1")
	if err != nil {
		t.Fatal(err)
	}
	ascending, err := Capacities(specs, capacity.AsWritten, trace)
	if err != nil || len(ascending) != 2 || ascending[0].Amount != 1 || ascending[1].Amount != 3 {
		t.Errorf("capacities %+v, %v; want 1 and 3", ascending, err)
	}
	if specs, err = capacity.ParseList("3,2B"); err != nil {
		t.Fatal(err)
	}
	if _, err := Capacities(specs, capacity.AsWritten, trace); err == nil || !strings.Contains(err.Error(), "two curves") {
		t.Errorf("objects beside bytes: %v", err)
	}
}

// The estimate from a sample counts misses: 30 of a tenth of 1000 requests are 300 of all.
func TestSampledHitRatios(t *testing.T) {
	of := func(label string, seed uint64, values map[string]float64) records.Record {
		return records.Record{Label: label, Capacity: 10, Seed: seed, Values: metric.ValuesOf(values)}
	}
	c := Curve{Rate: 0.1, Exact: []records.Record{of("lru", 0, map[string]float64{"requests": 1000, "hit_ratio": 0.75})},
		Sampled: []records.Record{of("lru", 1, map[string]float64{"misses": 30}),
			of("lru", 2, map[string]float64{"misses": 20})}}
	e, ok := c.sampledAt("lru", 10)
	if !ok || e.samples != 2 || e.mean != 0.75 || e.stdErr < 0.0499 || e.stdErr > 0.0501 {
		t.Errorf("estimate %+v, want 0.75 with a standard error of 0.05", e)
	}
	if difference, ok := c.lruError(10); !ok || difference != 0 {
		t.Errorf("error %v of lru on the samples, want none", difference)
	}
}
