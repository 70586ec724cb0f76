package models_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// TestSLSTimesWhatTheCacheCounts: a model changes no count, and with one batch at a time the mean latency is a fixed
// cost and a microsecond per miss, so that policies are ordered by their misses.
func TestSLSTimesWhatTheCacheCounts(t *testing.T) {
	const batches, warm = 400, 100
	trace := simtest.Lookups(batches)
	const all = "lru,opt,random,laru"
	plain := timed(t, trace, all, "sets", "", 640, warm*100)
	model := timed(t, trace, all, "sets", "sls(predict_ns=0)", 640, warm*100)
	for name, rec := range model {
		if want := plain[name]; rec.Int(metric.Hits) != want.Int(metric.Hits) ||
			rec.Int(metric.Evictions) != want.Int(metric.Evictions) || rec.Int(metric.Requests) != want.Int(metric.Requests) {
			t.Errorf("%s: hits %d of %d and %d evictions with a model, %d of %d and %d without", name,
				rec.Int(metric.Hits), rec.Int(metric.Requests), rec.Int(metric.Evictions), want.Int(metric.Hits),
				want.Int(metric.Requests), want.Int(metric.Evictions))
		}
		counted := float64(batches - warm)
		want := 0.050 + 100*512/600e6 + 0.001*float64(rec.Int(metric.Misses))/counted + 0.001
		if math.Abs(rec.Float(models.LatencyMean)-want) > 1e-5 {
			t.Errorf("%s: mean latency %v ms, want %v", name, rec.Float(models.LatencyMean), want)
		}
		if got, want := rec.Float(models.Throughput), 1e3*100/want; math.Abs(got/want-1) > 1e-3 {
			t.Errorf("%s: %v lookups per second, want %v", name, got, want)
		}
		checkOrder(t, name, rec)
	}
	if opt, laru, lru := model["opt"].Float(models.LatencyMean), model["laru"].Float(models.LatencyMean),
		model["lru"].Float(models.LatencyMean); opt >= lru ||
		laru >= lru {
		t.Errorf("mean latency of opt %v, of laru %v, of lru %v", opt, laru, lru)
	}
}

// TestSLSCountsPredictionsOnce: a policy that waits for its predictions pays for each, and no other does.
func TestSLSCountsPredictionsOnce(t *testing.T) {
	const batches = 200
	trace := simtest.Lookups(batches)
	free := timed(t, trace, "laru,lru", "sets", "sls(predict_ns=0)", 640, 0)
	paid := timed(t, trace, "laru,lru", "sets", "sls(predict_ns=80)", 640, 0)
	rec := paid["laru"]
	if rec.Int(predict.PredictionsMetric) == 0 {
		t.Fatal("no predictions")
	}
	want := free["laru"].Float(models.LatencyMean) + 80e-6*float64(rec.Int(predict.PredictionsMetric))/batches
	if math.Abs(rec.Float(models.LatencyMean)-want) > 1e-5 {
		t.Errorf("laru: mean latency %v ms, want %v", rec.Float(models.LatencyMean), want)
	}
	if free["lru"].Float(models.LatencyMean) != paid["lru"].Float(models.LatencyMean) {
		t.Error("lru pays for predictions")
	}
}

// TestSLSPredictsInTheBackground: predictions in the background cost no time; the later they are known, the fewer
// batches have theirs made, and at once they are known to the next batch, as without a clock.
func TestSLSPredictsInTheBackground(t *testing.T) {
	for _, policy := range []string{"laru(mode=async)", "fpb(mode=async)", "hf(mode=async)"} {
		t.Run(policy, func(t *testing.T) { predictsInTheBackground(t, policy) })
	}
}

func predictsInTheBackground(t *testing.T, policy string) {
	trace := simtest.Lookups(400)
	plain := timed(t, trace, policy, "sets", "", 640, 0)[policy]
	var before *records.Record
	for _, ns := range []int{0, 80, 2000, 50_000} {
		rec := timed(t, trace, policy, "sets", fmt.Sprintf("sls(predict_ns=%d)", ns), 640, 0)[policy]
		want := 0.050 + 100*512/600e6 + 0.001*float64(rec.Int(metric.Misses))/400 + 0.001
		if math.Abs(rec.Float(models.LatencyMean)-want) > 5e-5 {
			t.Errorf("%d ns: mean latency %v ms, want %v", ns, rec.Float(models.LatencyMean), want)
		}
		if ns <= 80 && (rec.Int(metric.Hits) != plain.Int(metric.Hits) ||
			rec.Int(predict.PredictionsMetric) != plain.Int(predict.PredictionsMetric)) {
			t.Errorf("%d ns: %d hits and %d predictions, without a clock %d and %d", ns, rec.Int(metric.Hits),
				rec.Int(predict.PredictionsMetric), plain.Int(metric.Hits), plain.Int(predict.PredictionsMetric))
		}
		if before != nil && rec.Int(predict.PredictionsMetric) > before.Int(predict.PredictionsMetric) {
			t.Errorf("%d ns: %d predictions, with faster ones %d", ns, rec.Int(predict.PredictionsMetric),
				before.Int(predict.PredictionsMetric))
		}
		before = &rec
	}
	if before.Int(predict.PredictionsMetric)*4 > plain.Int(predict.PredictionsMetric) {
		t.Errorf("%d predictions of 50 us each, %d without a clock", before.Int(predict.PredictionsMetric),
			plain.Int(predict.PredictionsMetric))
	}
}

// TestSLSWithRoomForAll: once everything is resident, every batch takes the closed form of a batch without misses.
func TestSLSWithRoomForAll(t *testing.T) {
	trace := simtest.Lookups(600)
	for o := range trace.NumObjects { // a first batch with everything
		trace.Objects[o] = uint32(o)
	}
	rec := timed(t, trace, "lru", "sets", "sls", 20000, 2000)["lru"]
	if rec.Int(metric.Misses) != 0 {
		t.Fatalf("%d misses", rec.Int(metric.Misses))
	}
	want := 0.050 + 100*512/600e6
	for name, got := range map[string]float64{"mean": rec.Float(models.LatencyMean), "P50": rec.Float(models.LatencyP50),
		"P99": rec.Float(models.LatencyP99)} {
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s latency %v ms, want %v", name, got, want)
		}
	}
}

// TestSLSSettings: several batches at once and arrivals at a rate keep the counts; more of a memory never makes it
// slower.
func TestSLSSettings(t *testing.T) {
	trace := simtest.Lookups(200)
	base := timed(t, trace, "lru", "sets", "sls", 640, 0)["lru"]
	for _, model := range []string{"sls(inflight=3)", "sls(rate=1000)", "sls(inflight=4,rate=20000)",
		"sls(host_gbs=120,outstanding=64)", "sls(access_ns=500)", "sls(hbm_gbs=1200)"} {
		rec := timed(t, trace, "lru", "sets", model, 640, 0)["lru"]
		if rec.Int(metric.Hits) != base.Int(metric.Hits) {
			t.Errorf("%s: %d hits, with the defaults %d", model, rec.Int(metric.Hits), base.Int(metric.Hits))
		}
		checkOrder(t, model, rec)
		if rec.Model != model {
			t.Errorf("the record of %s says %q", model, rec.Model)
		}
	}
	for _, model := range []string{"sls(host_gbs=120,outstanding=64)", "sls(access_ns=500)", "sls(hbm_gbs=1200)"} {
		if rec := timed(t, trace, "lru", "sets", model, 640,
			0)["lru"]; rec.Float(models.LatencyMean) > base.Float(models.LatencyMean) {
			t.Errorf("%s: mean latency %v ms, with the defaults %v", model, rec.Float(models.LatencyMean),
				base.Float(models.LatencyMean))
		}
	}
}

// TestSLSBatchesAreThoseOfTheCache: a trace without groups has the batches of the cache's parameter.
func TestSLSBatchesAreThoseOfTheCache(t *testing.T) {
	grouped := simtest.Lookups(100)
	plain := *grouped
	plain.Groups = nil
	want := timed(t, grouped, "lru", "sets", "sls", 640, 0)["lru"]
	got := timed(t, &plain, "lru", "sets(batch=100)", "sls", 640, 0)["lru"]
	if got.Float(models.LatencyMean) != want.Float(models.LatencyMean) ||
		got.Float(models.Throughput) != want.Float(models.Throughput) {
		t.Errorf("batches of the cache: mean %v ms, of the trace %v ms", got.Float(models.LatencyMean),
			want.Float(models.LatencyMean))
	}
	got = timed(t, &plain, "lru", "sets(batch=50)", "sls", 640, 0)["lru"]
	if got.Float(models.LatencyMean) >= want.Float(models.LatencyMean) {
		t.Error("batches of half the size take as long")
	}
}

// TestSLSHitsInFlight: three batches begin together in a cache with room for the first. The second evicts it, so the
// third misses what the first is still fetching: the keys 0 and 1. Its second lookup of 0 is a hit.
func TestSLSHitsInFlight(t *testing.T) {
	trace := &traces.Trace{Name: "evicted", NumObjects: 128, SampleRate: 1, Groups: []int{0, 64, 128}}
	for o := range uint32(128) {
		trace.Objects = append(trace.Objects, o)
	}
	trace.Objects = append(trace.Objects, 0, 0, 1)
	for _, want := range []struct {
		warmup        int
		hits, delayed int64
		inFlight      float64
	}{{0, 1, 2, 3. / 131}, {129, 1, 1, 1}, {130, 0, 1, 1}} {
		rec := timed(t, trace, "lru", "sets", "sls(inflight=3)", 64, want.warmup)["lru"]
		if rec.Int(metric.Hits) != want.hits || rec.Int(models.DelayedHits) != want.delayed ||
			rec.Float(metric.HitsInFlight) != want.inFlight {
			t.Errorf("%d hits, %d delayed, in flight %v, want %+v", rec.Int(metric.Hits), rec.Int(models.DelayedHits),
				rec.Float(metric.HitsInFlight), want)
		}
	}
	if rec := timed(t, trace, "lru", "sets", "sls", 64, 0)["lru"]; rec.Has(metric.HitsInFlight) {
		t.Error("one batch at a time finds something in flight")
	}
}
