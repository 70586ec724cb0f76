package curve

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
)

func TestGridGoesFromOneToAll(t *testing.T) {
	trace := &traces.Trace{NumObjects: 1000}
	grid := Grid(trace, cache.ExactSpec(), []capacity.Capacity{capacity.Of(10, false)}, 4)
	var amounts []int64
	for _, c := range grid {
		amounts = append(amounts, c.Amount)
	}
	if want := []int64{1, 100, 1000}; !slices.Equal(amounts, want) {
		t.Errorf("grid %v, want %v: steps of ten without the 10 of the table", amounts, want)
	}
	trace.ObjectSizes, trace.RequestSizes = []int64{5, 80}, []int64{5, 80, 7}
	if grid := Grid(trace, cache.ExactSpec(), []capacity.Capacity{capacity.Of(10, true)}, 4); grid != nil {
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
	must.Do(t, err)
	ascending, err := Capacities(specs, capacity.AsWritten, trace)
	if err != nil || len(ascending) != 2 || ascending[0].Amount != 1 || ascending[1].Amount != 3 {
		t.Errorf("capacities %+v, %v; want 1 and 3", ascending, err)
	}
	specs = must.Get(capacity.ParseList("3,2B"))(t)
	must.NotGet(Capacities(specs, capacity.AsWritten, trace))(t, "two curves", "objects beside bytes")
}

// The estimate from a sample counts misses: 30 of a tenth of 1000 requests are 300 of all.
func TestSampledHitRatios(t *testing.T) {
	of := func(label string, seed uint64, values map[string]float64) records.Record {
		return records.Record{Label: label, Capacity: 10, Seed: seed, Values: metric.ValuesOf(values)}
	}
	c := Curve{Rate: 0.1, Ratio: OfRequests,
		Exact: []records.Record{of("lru", 0, map[string]float64{"requests": 1000, "hit_ratio": 0.75})},
		Sampled: []records.Record{of("lru", 1, map[string]float64{"misses": 30}),
			of("lru", 2, map[string]float64{"misses": 20})}}
	e, ok := c.sampledAt("lru", 10)
	if !ok || e.samples != 2 || e.mean != 0.75 || e.stdErr < 0.0499 || e.stdErr > 0.0501 {
		t.Errorf("estimate %+v, want 0.75 with a standard error of 0.05", e)
	}
	if difference, ok := c.errorOf("lru", 10); !ok || difference != 0 {
		t.Errorf("error %v of lru on the samples, want none", difference)
	}
}

// The share of the bytes of a whole trace that hit follows from the bytes that miss on a sample.
func TestSampledByteHitRatios(t *testing.T) {
	of := func(values map[string]float64) records.Record {
		return records.Record{Label: "lru", Capacity: 10, Values: metric.ValuesOf(values)}
	}
	c := Curve{Rate: 0.1, Ratio: must.Get(RatioNamed("byte_hit_ratio"))(t),
		Exact:   []records.Record{of(map[string]float64{"requests": 10, "bytes": 1000, "byte_hit_ratio": 0.5})},
		Sampled: []records.Record{of(map[string]float64{"misses": 1, "bytes": 90, "hit_bytes": 50, "byte_hit_ratio": 0.6})}}
	if e, ok := c.sampledAt("lru", 10); !ok || math.Abs(e.mean-0.6) > 1e-12 {
		t.Errorf("estimate %+v, %t; want 0.6: 40 bytes of a tenth of 1,000 missed", e, ok)
	}
	if x, ok := c.exactAt("lru", 10); !ok || x != 0.5 {
		t.Errorf("exact %v, %t; want 0.5", x, ok)
	}
}

// curveOf is a curve of lru and others at capacities 10, 20 and 30: hit ratios in per cent of the whole trace, of which
// that of lru is known everywhere, and of two samples.
func curveOf(t *testing.T, exact, first, second map[string][3]float64) *Curve {
	t.Helper()
	c := &Curve{Rate: 0.1, Ratio: OfRequests}
	for k, amount := range []int64{10, 20, 30} {
		c.Capacities = append(c.Capacities, capacity.Of(amount, false))
		for label, hits := range exact {
			if hits[k] >= 0 {
				c.Exact = append(c.Exact, records.Record{Label: label, Capacity: amount,
					Values: metric.ValuesOf(map[string]float64{"requests": 1000, "hit_ratio": hits[k] / 100})})
			}
		}
		for seed, sample := range []map[string][3]float64{first, second} {
			for label, hits := range sample {
				c.Sampled = append(c.Sampled, records.Record{Label: label, Capacity: amount, Seed: uint64(seed),
					Values: metric.ValuesOf(map[string]float64{"misses": 100 - hits[k]})})
			}
		}
	}
	specs := must.Get(policies.Registry.ParseList("sieve,arc"))(t)
	c.Specs = specs
	return c
}

// TestErrorsOfEachPolicy: each policy has its own errors, measured where lru is furthest off and in the middle, and a
// warning names the capacities at which the order may be another.
func TestErrorsOfEachPolicy(t *testing.T) {
	sample := map[string][3]float64{"lru": {33, 41, 60}, "sieve": {40, 50, 70}, "arc": {35, 45, 80}}
	c := curveOf(t, map[string][3]float64{"lru": {30, 40, 60}, "sieve": {28, 49, -1}, "arc": {34, 46, -1}}, sample, sample)
	want := []string{
		"error: of lru on the samples, 1.33 on average and 3.00 at most",
		"errors at 10, where the others were replayed on the whole trace, too: sieve +12.00, arc +1.00",
		"errors at 20, where the others were replayed on the whole trace, too: sieve +1.00, arc -1.00",
		"warning: at 1 of 3 capacities hit ratios are closer than their errors, so that the order of these policies may be " +
			"another: 10 (sieve, arc, lru)",
	}
	if got := c.errorLines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTheMeanIsLimited: estimates of single samples may be below 0, their mean is not pulled up by that.
func TestTheMeanIsLimited(t *testing.T) {
	c := curveOf(t, map[string][3]float64{"lru": {30, 40, 60}}, map[string][3]float64{"lru": {-20, -20, 60}},
		map[string][3]float64{"lru": {30, 10, 60}})
	for capacity, want := range map[int64]float64{10: 0.05, 20: 0} {
		if e, ok := c.sampledAt("lru", capacity); !ok || math.Abs(e.mean-want) > 1e-12 {
			t.Errorf("at %d: %+v, want a mean of %v", capacity, e, want)
		}
	}
}
