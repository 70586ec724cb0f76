package models_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// TestPrefillTimesWhatTheCacheCounts: one prompt at a time, a model changes no count, the mean TTFT is that of the
// tokens that are computed where nothing but they cost time, and where all fits in the cache lru is infinite.
func TestPrefillTimesWhatTheCacheCounts(t *testing.T) {
	const n, warm = 120, 20
	trace := simtest.Conversations(n)
	// 1 ms per token, and nothing else.
	const model = "prefill(model=qwen3-8b,concurrency=1,active_b=0.5,attention_mflop=1e-6,kv_kb=1e-6,weights_gb=1e-6," +
		"peak_tflops=1,mfu=1,overhead_ms=0,predict_us=0)"
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
	for _, model := range []string{"prefill(model=qwen3-8b,concurrency=4)", "prefill(model=qwen3-8b,arrivals=trace)",
		"prefill(model=qwen3-8b,concurrency=8,arrivals=poisson,rate=3)", "prefill(model=deepseek-r1,hardware=16xh800)"} {
		rec := timed(t, trace, "lru", "prefix", model, 80, 0)["lru"]
		if rec.Int(prefix.Prompts) != 100 || rec.Int(metric.Requests) != int64(len(trace.Objects)) {
			t.Errorf("%s: %d prompts and %d blocks", model, rec.Int(prefix.Prompts), rec.Int(metric.Requests))
		}
		checkOrder(t, model, rec)
		if rec.Has(metric.HitsInFlight) {
			t.Errorf("%s: a prompt finds blocks in flight, although one prefill ends before the next begins", model)
		}
	}
	free := timed(t, trace, "laru", "prefix", "prefill(model=qwen3-8b,concurrency=1,predict_us=0)", 60, 0)["laru"]
	paid := timed(t, trace, "laru", "prefix", "prefill(model=qwen3-8b,concurrency=1,predict_us=5)", 60, 0)["laru"]
	if want := free.Float(models.LatencyMean) +
		5e-3*float64(paid.Int(predict.PredictionsMetric))/100; paid.Int(predict.PredictionsMetric) == 0 ||
		math.Abs(paid.Float(models.LatencyMean)-want) > 1e-3 {
		t.Errorf("%d predictions: mean TTFT %v ms, want %v", paid.Int(predict.PredictionsMetric),
			paid.Float(models.LatencyMean), want)
	}
}

// TestPrefillTimesTheModelThatIsNamed: nothing is timed with a model that nobody named, --kv names it, and what is used
// is in the record.
func TestPrefillTimesTheModelThatIsNamed(t *testing.T) {
	trace := simtest.Conversations(50)
	replay := func(model string) (records.Record, error) {
		run, err := simtest.TryRun(t.Context(), trace, simtest.Options{Policies: "lru", Parts: []string{"cache=prefix",
			"model=" + model}, Capacities: simtest.Objects(80)})
		if err != nil {
			return records.Record{}, err
		}
		return run[0], nil
	}
	for model, want := range map[string]string{ // what an error says
		"prefill":                                           "which language model?",
		"prefill(model=llama-9)":                            "unknown model \"llama-9\"",
		"prefill(model=deepseek-r1)":                        "are 625 GiB, but hardware=8xh100 has",
		"prefill(model=qwen3-8b,hardware=8xh99)":            "unknown accelerator \"h99\"",
		"prefill(model=qwen3-8b,weights=int3)":              "weights",
		"prefill(active_b=8,weights_gb=16,hardware=1xh100)": "which language model?", // no keys and values
	} {
		if _, err := replay(model); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
	rec := must.Get(replay("prefill(model=meta-llama/Llama-3.1-8B-Instruct,hardware=2xh200)"))(t)
	const want = "times: meta-llama/Llama-3.1-8B-Instruct on 2xh200: active_b=8.03, weights_gb=16.06, " +
		"attention_mflop=0.5243, kv_kb=131.1, peak_tflops=1979, mfu=0.43, bandwidth_gbs=9600, 100.8 GB/s from the host, " +
		"decode_ms=3.35"
	if rec.Times != want {
		t.Errorf("record: %s", rec.Times)
	}
	kv := must.Get(must.Get(llm.Parse("model=llama-3.1-8b,type=fp8"))(t).KeyValues())(t)
	must.Do(t, prompts.Of(trace.Kind).SetMemory(kv, false, trace.Objects, trace.Groups))
	byKV := must.Get(replay("prefill(hardware=2xh200)"))(t)
	if !strings.Contains(byKV.Times, "times: llama-3.1-8b on 2xh200: active_b=8.03") ||
		!strings.Contains(byKV.Times, "kv_kb=65.54") {
		t.Errorf("with --kv: %s", byKV.Times)
	}
	if _, err := replay("prefill(model=qwen3-8b)"); err == nil ||
		!strings.Contains(err.Error(), "model=qwen3-8b, but --kv (kv, in an experiment) says llama-3.1-8b") {
		t.Errorf("another model than --kv: %v", err)
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
	if err := replay("prefill(model=qwen3-8b,arrivals=trace)"); err == nil || !strings.Contains(err.Error(),
		"in a sample of 0.5 of prompts its prompts hardly wait") {
		t.Errorf("arrivals of a sample: %v", err)
	}
	must.Do(t, replay("prefill(model=qwen3-8b)"))
}
