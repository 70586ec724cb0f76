package sets

import (
	"context"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var benchZipf = sync.OnceValues(func() (*traces.Trace, []uint32) {
	spec, err := gen.Parse("zipf(requests=2000000,objects=100000,alpha=1)", "")
	if err != nil {
		panic(err)
	}
	g, err := gen.New(context.Background(), spec, nil)
	if err != nil {
		panic(err)
	}
	t := &traces.Trace{Name: "zipf", NumObjects: 100_000}
	var rec stream.Record
	for g.Read(&rec) == nil {
		t.Objects = append(t.Objects, uint32(rec.Num-1))
	}
	return t, oracle.NextUse(t.Objects, t.NumObjects)
})

// BenchmarkSets replays Zipf(1.0) through sets of a tenth of the objects, beside the exact cache.
func BenchmarkSets(b *testing.B) {
	for _, c := range []struct{ cache, policy, predictor string }{
		{"exact", "lru", ""},
		{"exact", "laru", "oracle"},
		{"sets", "lru", ""},
		{"sets", "laru", "oracle"},
		{"sets", "laru(marks=bitset)", "oracle"},
		{"sets", "laru(mode=async)", "oracle"},
		{"sets", "laru", "noisy(p=0.3)"},
		{"sets", "fpb", "oracle"},
		{"sets", "opt", ""},
		{"sets", "fifo", ""},
		{"sets", "s3fifo", ""},
		{"sets", "hf", "oracle"},
		{"sets", "lru-k", ""},
	} {
		b.Run(c.cache+"/"+c.policy+"/"+c.predictor, func(b *testing.B) { benchSets(b, c.cache, c.policy, c.predictor) })
	}
}

func benchSets(b *testing.B, cacheText, policyText, predictorText string) {
	t, nextUse := benchZipf()
	kind := must.Get(cache.Registry.Parse(cacheText))(b)
	policy := must.Get(policies.Registry.Parse(policyText))(b)
	config := cache.Config{
		Trace:    t,
		Capacity: int64(t.NumObjects / 10),
		Unit:     true,
		Params:   kind.Params,
		Policy:   policy,
		NextUse:  func() []uint32 { return nextUse },
	}
	const window = 1 << 15 // as long as the longest of a replay
	var n cache.Counts
	for b.Loop() {
		b.StopTimer()
		if policies.Can[policies.PredictorUser](policy.Entry) {
			config.Predictor = countedPredictor(b, t, nextUse, predictorText)
		}
		c := must.Get(kind.Entry.New(config))(b)
		n = cache.Counts{}
		b.StartTimer()
		for from := 0; from < len(t.Objects); from += window {
			c.Serve(cache.WindowOf(t, from, min(from+window, len(t.Objects)), false, nil), &n)
		}
	}
	b.ReportMetric(float64(len(t.Objects))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mreq/s")
	b.ReportMetric(100*float64(n.Hits)/float64(n.Requests), "%hit")
}

// countedPredictor builds a predictor as a replay does.
func countedPredictor(b *testing.B, t *traces.Trace, nextUse []uint32, text string) predict.Predictor {
	spec := must.Get(predict.Registry.Parse(text))(b)
	p := must.Get(spec.Entry.New(predict.Config{Objects: t.Objects, Count: t.NumObjects, NextUse: nextUse, Seed: 1,
		Params: spec.Params}))(b)
	return &predict.Counted{Predictor: p}
}
