package boosted

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// BenchmarkLRB replays a skewed trace with scans with models that are trained as the paper does.
func BenchmarkLRB(b *testing.B) {
	tr := policytest.Trace(1, 100_000, 20_000)
	config := policies.Config{Capacity: 2000, Unit: true, Objects: tr.NumObjects, Requests: len(tr.Objects), Seed: 1,
		Params: params.Defaults(entry.Params)}
	evictions := 0
	for b.Loop() {
		p := must.Get(newLRB(config))(b)
		_, evicted := p.serve(tr.Objects)
		evictions += evicted
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(len(tr.Objects)*b.N), "ns/req")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(evictions), "ns/eviction")
}
