package models_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/cache/tiers"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// TestPrefillLoadsFromTiers: one prompt at a time, the mean time to the first token is that of what is computed, and of
// what hits below the first tier at the speed of the host, where nothing else costs time.
func TestPrefillLoadsFromTiers(t *testing.T) {
	const n, warm = 120, 20
	trace := simtest.Conversations(n)
	// 1 ms per token that is computed, and 0.1 ms per token that is loaded.
	const free = "concurrency=1,active_b=0.5,attention_mflop=1e-6,kv_kb=1,weights_gb=1e-6,peak_tflops=1,mfu=1," +
		"overhead_ms=0,predict_us=0,bandwidth_gbs=1e9,host_gbs=0.01,host_us=0"
	for _, mode := range []string{"exclusive", "inclusive", "write-through", "write-back"} {
		rec := timed(t, trace, "lru", "tiers(host=3x,mode="+mode+")", "prefill(model=qwen3-8b,"+free+")", 20, warm)["lru"]
		below, _ := rec.GetInt(tiers.HitTokens.Of("host"))
		first, _ := rec.GetInt(tiers.HitTokens.Of("hbm"))
		if below == 0 || first+below != rec.Int(prefix.HitTokens) {
			t.Errorf("%s: %d and %d tokens hit in the tiers, %d in all", mode, first, below, rec.Int(prefix.HitTokens))
		}
		computed := float64(rec.Int(prefix.Tokens) - rec.Int(prefix.HitTokens))
		want := (computed + 0.1*float64(below)) / (n - warm)
		if math.Abs(rec.Float(models.LatencyMean)-want) > 1e-2 {
			t.Errorf("%s: mean TTFT %v ms, want %v", mode, rec.Float(models.LatencyMean), want)
		}
		if loaded, _ := rec.GetInt(models.LoadedBytes.Of("host")); loaded != 1000*below {
			t.Errorf("%s: %d bytes loaded, want 1000 for each of %d tokens", mode, loaded, below)
		}
		if wait := rec.Float(models.LoadWait); math.Abs(wait-0.1*float64(below)/(n-warm)) > 1e-2 {
			t.Errorf("%s: a prompt waits for loads for %v ms", mode, wait)
		}
	}
}

// TestPrefillWithOneTier: one tier in the memory of the GPUs is the prefix cache, also in its times.
func TestPrefillWithOneTier(t *testing.T) {
	trace := simtest.Conversations(100)
	for _, model := range []string{"prefill(model=qwen3-8b,concurrency=4)", "prefill(model=qwen3-8b,arrivals=trace)"} {
		one := timed(t, trace, "lru", "tiers(hbm=60)", model, 60, 0)["lru"]
		want := timed(t, trace, "lru", "prefix", model, 60, 0)["lru"]
		for _, m := range []metric.Metric{metric.Hits, metric.Evictions, prefix.HitTokens, models.LatencyMean,
			models.LatencyP99, models.Throughput} {
			if one.Float(m) != want.Float(m) {
				t.Errorf("%s: %s is %v, in the prefix cache %v", model, m.Name, one.Float(m), want.Float(m))
			}
		}
	}
}

// TestPrefillLoadsByHand is the example of docs/models.md. A computed token takes 1 ms, a load 20.1 ms and 0.5 ms per
// token. The first prompt computes its 40 tokens until 40 ms. The second one, which comes at the same time, waits until
// then; its five blocks of 10 tokens take the place of all four of the first prompt, which move to the host, and it
// computes until 90 ms. At 60 ms comes the third one, which has these four and one more block: a load of 40.1 ms
// instead of 40 ms of computing, and 10 ms that must be computed.
func TestPrefillLoadsByHand(t *testing.T) {
	trace := policytest.Prompts(10, "abcd", "vwxyz", "abcde")
	prompts.Of(trace.Kind).Arrivals = []int64{0, 0, int64(60 * time.Millisecond)}
	const machine = "arrivals=trace,concurrency=1,output=1,active_b=0.5,attention_mflop=1e-6,kv_kb=1,weights_gb=1e-6," +
		"peak_tflops=1,mfu=1,overhead_ms=0,predict_us=0,bandwidth_gbs=1e9,host_gbs=0.002,host_us=20100"
	for _, test := range []struct {
		settings    string
		third, wait float64 // milliseconds from its arrival to its first token; that its prefill waits
	}{
		{"", 90 + 40.1 + 10 - 60, 40.1},                  // it loads when its prefill begins
		{",prefetch=true", 60 + 40.1 + 10 - 60, 10.1},    // it loads when it comes, until 100.1 ms
		{",overlap=true", 90 + 40.1 - 60, 30.1},          // it computes meanwhile
		{",prefetch=true,overlap=true", 100.1 - 60, 0.1}, // it computes from 90 to 100 ms
	} {
		rec := timed(t, trace, "lru", "tiers(host=2x)", "prefill(model=qwen3-8b,"+machine+test.settings+")", 5, 0)["lru"]
		if want := (40 + 90 + test.third) / 3; math.Abs(rec.Float(models.LatencyMean)-want) > 1e-3 {
			t.Errorf("%q: mean TTFT %v ms, want %v", test.settings, rec.Float(models.LatencyMean), want)
		}
		if want := test.wait / 3; math.Abs(rec.Float(models.LoadWait)-want) > 1e-3 {
			t.Errorf("%q: waits for %v ms, want %v", test.settings, rec.Float(models.LoadWait), want)
		}
		if n, _ := rec.GetInt(models.LoadedBytes.Of("host")); n != 40_000 {
			t.Errorf("%q: %d bytes loaded, want those of 40 tokens", test.settings, n)
		}
		// 20.1 + n/2 ms of loading are no more than n ms of computing from 40.2 tokens on
		if n, _ := rec.GetInt(models.BreakEven.Of("host")); n != 41 {
			t.Errorf("%q: breaks even at %d tokens, want 41", test.settings, n)
		}
	}
}

// TestPrefillSettingsOfTiers: prefetching while prompts wait, and computing while loading, make no prompt later that
// comes at a given time and finds the same hits.
func TestPrefillSettingsOfTiers(t *testing.T) {
	trace := simtest.Conversations(100)
	const slow = "arrivals=trace,concurrency=1,host_gbs=0.5,host_us=1000"
	mean := func(more string) float64 {
		rec := timed(t, trace, "lru", "tiers(host=3x)", "prefill(model=qwen3-8b,"+slow+more+")", 20, 0)["lru"]
		return rec.Float(models.LatencyMean)
	}
	plain := mean("")
	if overlap, queue := mean(",overlap=true"), mean(",prefetch=true"); overlap >= plain || queue > plain {
		t.Errorf("mean TTFT %v ms, with overlap %v, with prefetching %v", plain, overlap, queue)
	}
	_, err := simtest.TryRun(t.Context(), trace, simtest.Options{Policies: "lru", Capacities: simtest.Objects(10),
		Parts: []string{"cache=prefix", "model=prefill(model=qwen3-8b,host_gbs=3)"}})
	if err == nil || !strings.Contains(err.Error(), "host_gbs=3 has no effect with a cache without tiers") {
		t.Errorf("error %v", err)
	}
}
