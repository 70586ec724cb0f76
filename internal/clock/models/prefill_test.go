package models_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// TestPrefillTimesWhatTheCacheCounts: one prompt at a time, a model changes no count, the mean TTFT is that of the
// tokens that are computed where nothing but they cost time, and where all fits in the cache lru is infinite.
func TestPrefillTimesWhatTheCacheCounts(t *testing.T) {
	const n, warm = 120, 20
	trace := simtest.Conversations(n)
	// 1 ms per token, and nothing else.
	const model = "prefill(concurrency=1,active_b=0.5,attention_mflop=1e-6,kv_kb=1e-6,weights_gb=1e-6," +
		"peak_tflops=1,utilisation=1,overhead_ms=0,predict_us=0)"
	plain := timed(t, trace, "lru,opt", "prefix", "", 60, warm)
	rec := timed(t, trace, "lru,opt", "prefix", model, 60, warm)
	for name, rec := range rec {
		if want := plain[name]; rec.Int(metric.Hits) != want.Int(metric.Hits) ||
			rec.Int(prefix.HitTokens) != want.Int(prefix.HitTokens) || rec.Int(prefix.Prompts) != n-warm {
			t.Errorf("%s: %d hits and %d tokens with a model, %d and %d without", name, rec.Int(metric.Hits),
				rec.Int(prefix.HitTokens), want.Int(metric.Hits), want.Int(prefix.HitTokens))
		}
		want := float64(rec.Int(prefix.Tokens)-rec.Int(prefix.HitTokens)) / (n - warm)
		if math.Abs(rec.Float(models.LatencyMean)-want) > 1e-3 {
			t.Errorf("%s: mean TTFT %v ms, want %v", name, rec.Float(models.LatencyMean), want)
		}
		checkOrder(t, name, rec)
	}
	if opt, lru := rec["opt"].Float(models.LatencyMean), rec["lru"].Float(models.LatencyMean); opt >= lru {
		t.Errorf("mean TTFT of opt %v, of lru %v", opt, lru)
	}
	all := timed(t, trace, "lru,infinite", "prefix", model, int64(trace.NumObjects), warm)
	if lru, infinite := all["lru"].Float(models.LatencyMean), all["infinite"].Float(models.LatencyMean); lru != infinite ||
		lru > rec["opt"].Float(models.LatencyMean) {
		t.Errorf("with room for all mean TTFT of lru %v, of infinite %v, of opt with less room %v", lru, infinite,
			rec["opt"].Float(models.LatencyMean))
	}
}

// TestPrefillSettings: every way of arriving serves all prompts and has its percentiles in order; predictions that are
// waited for cost time.
func TestPrefillSettings(t *testing.T) {
	trace := simtest.Conversations(100)
	for _, model := range []string{"prefill(concurrency=4)", "prefill(arrivals=trace)",
		"prefill(concurrency=8,arrivals=poisson,rate=3)", "prefill(model=deepseek-r1,hardware=8xh800)"} {
		rec := timed(t, trace, "lru", "prefix", model, 80, 0)["lru"]
		if rec.Int(prefix.Prompts) != 100 || rec.Int(metric.Requests) != int64(len(trace.Objects)) {
			t.Errorf("%s: %d prompts and %d blocks", model, rec.Int(prefix.Prompts), rec.Int(metric.Requests))
		}
		checkOrder(t, model, rec)
		if rec.Has(metric.HitsInFlight) {
			t.Errorf("%s: a prompt finds blocks in flight, although one prefill ends before the next begins", model)
		}
	}
	free := timed(t, trace, "laru", "prefix", "prefill(concurrency=1,predict_us=0)", 60, 0)["laru"]
	paid := timed(t, trace, "laru", "prefix", "prefill(concurrency=1,predict_us=5)", 60, 0)["laru"]
	if want := free.Float(models.LatencyMean) +
		5e-3*float64(paid.Int(predict.PredictionsMetric))/100; paid.Int(predict.PredictionsMetric) == 0 ||
		math.Abs(paid.Float(models.LatencyMean)-want) > 1e-3 {
		t.Errorf("%d predictions: mean TTFT %v ms, want %v", paid.Int(predict.PredictionsMetric),
			paid.Float(models.LatencyMean), want)
	}
}

// A sample has too few prompts for the queues of the whole trace; where the next prompt waits for one that is done, it
// has not.
func TestPrefillOfASample(t *testing.T) {
	trace := simtest.Conversations(100)
	trace.SampleRate = 0.5
	replay := func(model string) error {
		_, err := simtest.TryRun(t.Context(), trace, simtest.Options{Policies: "lru", Parts: []string{"cache=prefix",
			"model=" + model}, Capacities: simtest.Objects(80)})
		return err
	}
	if err := replay("prefill(arrivals=trace)"); err == nil || !strings.Contains(err.Error(),
		"in a sample of 0.5 of prompts its prompts hardly wait") {
		t.Errorf("arrivals of a sample: %v", err)
	}
	must.Do(t, replay("prefill"))
}
