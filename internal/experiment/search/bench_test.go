package search_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/results/target"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// BenchmarkFirstScreen is what the search adds to `cachesim run` on the trace that comes with the program.
func BenchmarkFirstScreen(b *testing.B) {
	w := workload.Workload{Name: "demo", Files: []string{"../../../testdata/demo.oracleGeneral.zst"}}
	tr := must.Get(w.Load(b.Context(), nil, read.Options{}))(b)
	r := newReplays(b, tr, 0)
	g, o := r.group(target.Default, policiesInBench, capacity.Of(364, false))
	for b.Loop() {
		o.Known = search.Known{}
		a := must.Get(search.Answer(g, o))(b)
		b.ReportMetric(float64(a.Replays), "replays")
	}
}

var policiesInBench = strings.Split("lru,arc,lirs,s3fifo,sieve,w-tinylfu,opt", ",")
