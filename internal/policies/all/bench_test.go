package all_test

import (
	"os"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// benchScale is the size of the benchmark's trace: Zipf(1.0), by default small enough for a quick look.
// CACHESIM_BENCH=full uses the size of the comparisons with other simulators.
type benchScale struct{ requests, ids, capacity int }

func scaleOfBench() benchScale {
	if os.Getenv("CACHESIM_BENCH") == "full" {
		return benchScale{requests: 20_000_000, ids: 1_000_000, capacity: 100_000}
	}
	return benchScale{requests: 2_000_000, ids: 100_000, capacity: 10_000}
}

// benchTrace is a Zipf(1.0) trace with its next uses.
type benchTrace struct {
	objects    []policies.Object
	numObjects int
	nextUse    []uint32
}

var zipfTrace = sync.OnceValue(func() benchTrace {
	scale := scaleOfBench()
	objects, numObjects := newZipfTrace(scale.requests, scale.ids)
	return benchTrace{objects: objects, numObjects: numObjects, nextUse: oracle.NextUse(objects, numObjects)}
})

// BenchmarkReplay replays the trace through the batch path of every policy that has one. Policies that predict get
// exact predictions.
func BenchmarkReplay(b *testing.B) {
	for _, e := range policytest.Ready() {
		if e.Kind != policies.Bound && e.Units != policies.UnitsBytes {
			b.Run(e.Name, func(b *testing.B) { benchReplay(b, e) })
		}
	}
}

func benchReplay(b *testing.B, e policies.Entry) {
	t, capacity := zipfTrace(), scaleOfBench().capacity
	cfg := policies.Config{
		Capacity: int64(capacity),
		Unit:     true,
		Objects:  t.numObjects,
		Requests: len(t.objects),
		Seed:     1,
		Params:   params.Defaults(e.Params),
	}
	if e.Kind == policies.Offline {
		cfg.NextUse = t.nextUse
	}
	if e.Relates {
		cfg.Relations = &policies.Relations{HitFrom: 2}
	}
	hits := 0
	for b.Loop() {
		hits = benchOnce(b, e, cfg, t.objects)
	}
	requests := float64(len(t.objects)) * float64(b.N)
	b.ReportMetric(requests/b.Elapsed().Seconds()/1e6, "Mreq/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/requests, "ns/req")
	b.ReportMetric(100*float64(hits)/float64(len(t.objects)), "%hit")
}

// benchOnce builds the policy off the clock and replays in windows as package sim does.
func benchOnce(b *testing.B, e policies.Entry, cfg policies.Config, objects []policies.Object) (hits int) {
	b.StopTimer()
	if policies.Can[policies.PredictorUser](e) {
		cfg.Predictor = exactPredictor(b)
	}
	p := must.Get(e.New(cfg))(b)
	batch, ok := p.(policies.UnitReplayer)
	if !ok {
		b.Skip("has no batch path")
	}
	batch.ReplayUnit(nil, 0) // what is built at the first batch is built outside the clock too
	b.StartTimer()
	const window = 1 << 15
	for from := 0; from < len(objects); from += window {
		h, _ := batch.ReplayUnit(objects[from:min(from+window, len(objects))], from)
		hits += h
	}
	return hits
}

// exactPredictor returns the predictor that package sim would pass for `oracle`.
func exactPredictor(b *testing.B) predict.Predictor {
	spec := must.Get(predict.Registry.Parse("oracle"))(b)
	t := zipfTrace()
	p := must.Get(spec.Entry.New(predict.Config{Objects: t.objects, Count: t.numObjects, NextUse: t.nextUse,
		Params: spec.Params, OptEvicts: func() []bool {
			return policies.OptEvicts(t.objects, t.numObjects, t.nextUse, int64(scaleOfBench().capacity))
		}}))(b)
	return &predict.Counted{Predictor: p}
}
