package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
)

// A percentile is the least time that so many per cent of the times do not exceed.
func TestLatencyIsByNearestRank(t *testing.T) {
	times := make([]time.Duration, 200)
	for i := range times {
		times[i] = time.Duration(200-i) * time.Millisecond
	}
	if got, want := newLatency(times, 400, 2*time.Second), (Latency{100.5, 100, 190, 198, 200}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := newLatency(times[:1], 1, 0), (Latency{200, 200, 200, 200, 0}); got != want {
		t.Errorf("one time: got %v, want %v", got, want)
	}
}

// lookupTrace is a trace of n batches of 100 lookups of 2000 keys, few of which are popular.
func lookupTrace(n int) *traces.Trace {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 4, 1999)
	t := &traces.Trace{Name: "lookups", NumObjects: 2000, SampleRate: 1}
	for i := range n * 100 {
		if i%100 == 0 {
			t.Groups = append(t.Groups, i)
		}
		t.Objects = append(t.Objects, uint32(zipf.Uint64()))
	}
	return t
}

// timed replays t under the policies with a model and returns their records by policy.
func timed(t *testing.T, trace *traces.Trace, policies, cache, model string, capacity int64, warmup int) map[string]records.Record {
	t.Helper()
	caches, err := ParseCaches(cache)
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := predict.ParseList("oracle")
	if err != nil {
		t.Fatal(err)
	}
	options := RunOptions{Policies: specs(t, policies), Predictors: oracle, Caches: caches, Capacities: objects(capacity), Warmup: warmup}
	if model != "" {
		if options.Models, err = ParseModels(model); err != nil {
			t.Fatal(err)
		}
	}
	byPolicy := map[string]records.Record{}
	for _, rec := range mustRun(t, trace, options) {
		byPolicy[rec.Label] = rec
	}
	return byPolicy
}

// checkOrder fails unless the percentiles of a record are in order.
func checkOrder(t *testing.T, name string, rec records.Record) {
	t.Helper()
	if p50, p95, p99 := *rec.LatencyP50, *rec.LatencyP95, *rec.LatencyP99; p50 <= 0 || p50 > p95 || p95 > p99 {
		t.Errorf("%s: P50 %v, P95 %v, P99 %v", name, p50, p95, p99)
	}
}

// TestSLSTimesWhatTheCacheCounts: a model changes no count, and with one batch at a time the mean latency is a fixed cost and a microsecond per miss, so
// that policies are ordered by their misses.
func TestSLSTimesWhatTheCacheCounts(t *testing.T) {
	const batches, warm = 400, 100
	trace := lookupTrace(batches)
	const all = "lru,opt,random,laru"
	plain := timed(t, trace, all, "sets", "", 640, warm*100)
	model := timed(t, trace, all, "sets", "sls(predict_ns=0)", 640, warm*100)
	for name, rec := range model {
		if want := plain[name]; rec.Hits != want.Hits || rec.Evictions != want.Evictions || rec.Requests != want.Requests {
			t.Errorf("%s: hits %d of %d and %d evictions with a model, %d of %d and %d without", name,
				rec.Hits, rec.Requests, rec.Evictions, want.Hits, want.Requests, want.Evictions)
		}
		counted := float64(batches - warm)
		want := 0.050 + 100*512/600e6 + 0.001*float64(rec.Misses)/counted + 0.001
		if math.Abs(*rec.LatencyMean-want) > 1e-5 {
			t.Errorf("%s: mean latency %v ms, want %v", name, *rec.LatencyMean, want)
		}
		if got, want := *rec.Throughput, 1e3*100/want; math.Abs(got/want-1) > 1e-3 {
			t.Errorf("%s: %v lookups per second, want %v", name, got, want)
		}
		checkOrder(t, name, rec)
	}
	if opt, laru, lru := *model["opt"].LatencyMean, *model["laru"].LatencyMean, *model["lru"].LatencyMean; opt >= lru || laru >= lru {
		t.Errorf("mean latency of opt %v, of laru %v, of lru %v", opt, laru, lru)
	}
}

// TestSLSCountsPredictionsOnce: a policy that waits for its predictions pays for each, and no other does.
func TestSLSCountsPredictionsOnce(t *testing.T) {
	const batches = 200
	trace := lookupTrace(batches)
	free := timed(t, trace, "laru,lru", "sets", "sls(predict_ns=0)", 640, 0)
	paid := timed(t, trace, "laru,lru", "sets", "sls(predict_ns=80)", 640, 0)
	rec := paid["laru"]
	if *rec.Predictions == 0 {
		t.Fatal("no predictions")
	}
	want := *free["laru"].LatencyMean + 80e-6*float64(*rec.Predictions)/batches
	if math.Abs(*rec.LatencyMean-want) > 1e-5 {
		t.Errorf("laru: mean latency %v ms, want %v", *rec.LatencyMean, want)
	}
	if *free["lru"].LatencyMean != *paid["lru"].LatencyMean {
		t.Error("lru pays for predictions")
	}
}

// TestSLSWithRoomForAll: once everything is resident, every batch takes the closed form of a batch without misses.
func TestSLSWithRoomForAll(t *testing.T) {
	trace := lookupTrace(600)
	for o := range trace.NumObjects { // a first batch with everything
		trace.Objects[o] = uint32(o)
	}
	rec := timed(t, trace, "lru", "sets", "sls", 20000, 2000)["lru"]
	if rec.Misses != 0 {
		t.Fatalf("%d misses", rec.Misses)
	}
	want := 0.050 + 100*512/600e6
	for name, got := range map[string]float64{"mean": *rec.LatencyMean, "P50": *rec.LatencyP50, "P99": *rec.LatencyP99} {
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s latency %v ms, want %v", name, got, want)
		}
	}
}

// TestSLSSettings: several batches at once and arrivals at a rate keep the counts; more of a memory never makes it slower.
func TestSLSSettings(t *testing.T) {
	trace := lookupTrace(200)
	base := timed(t, trace, "lru", "sets", "sls", 640, 0)["lru"]
	for _, model := range []string{"sls(inflight=3)", "sls(rate=1000)", "sls(inflight=4,rate=20000)", "sls(host_gbs=120,outstanding=64)", "sls(access_ns=500)", "sls(hbm_gbs=1200)"} {
		rec := timed(t, trace, "lru", "sets", model, 640, 0)["lru"]
		if rec.Hits != base.Hits {
			t.Errorf("%s: %d hits, with the defaults %d", model, rec.Hits, base.Hits)
		}
		checkOrder(t, model, rec)
		if rec.Model != model {
			t.Errorf("the record of %s says %q", model, rec.Model)
		}
	}
	for _, model := range []string{"sls(host_gbs=120,outstanding=64)", "sls(access_ns=500)", "sls(hbm_gbs=1200)"} {
		if rec := timed(t, trace, "lru", "sets", model, 640, 0)["lru"]; *rec.LatencyMean > *base.LatencyMean {
			t.Errorf("%s: mean latency %v ms, with the defaults %v", model, *rec.LatencyMean, *base.LatencyMean)
		}
	}
}

// TestSLSBatchesAreThoseOfTheCache: a trace without groups has the batches of the cache's parameter.
func TestSLSBatchesAreThoseOfTheCache(t *testing.T) {
	grouped := lookupTrace(100)
	plain := *grouped
	plain.Groups = nil
	want := timed(t, grouped, "lru", "sets", "sls", 640, 0)["lru"]
	got := timed(t, &plain, "lru", "sets(batch=100)", "sls", 640, 0)["lru"]
	if *got.LatencyMean != *want.LatencyMean || *got.Throughput != *want.Throughput {
		t.Errorf("batches of the cache: mean %v ms, of the trace %v ms", *got.LatencyMean, *want.LatencyMean)
	}
	if got := timed(t, &plain, "lru", "sets(batch=50)", "sls", 640, 0)["lru"]; *got.LatencyMean >= *want.LatencyMean {
		t.Error("batches of half the size take as long")
	}
}

func TestModelErrors(t *testing.T) {
	trace := lookupTrace(3)
	for _, test := range []struct{ cache, model, want string }{
		{"exact", "sls", "model sls works on the cache sets, not on exact; write --cache sets"},
		{"exact", "prefill", "model prefill works on the cache prefix, not on exact; write --cache prefix"},
	} {
		models, err := ParseModels(test.model)
		if err != nil {
			t.Fatal(err)
		}
		caches, err := ParseCaches(test.cache)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(t.Context(), trace, RunOptions{Policies: specs(t, "lru"), Caches: caches, Models: models, Capacities: objects(10)})
		if fmt.Sprint(err) != test.want {
			t.Errorf("%s on %s: %v, want %s", test.model, test.cache, err, test.want)
		}
	}
}
