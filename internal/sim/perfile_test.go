package sim_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// Each file starts with an empty cache, and the counts are sums: under lru, opt, a policy without batch path, and reuse
// distances.
func TestPerFileStartsEmpty(t *testing.T) {
	dir := t.TempDir()
	texts := []string{"1\n2\n1\n3\n", "1\n2\n1\n3\n1\n1\n", "4\n2\n"}
	var paths []string
	want := map[string][4]int64{} // misses and evictions at capacities 1 and 2
	for i, text := range texts {
		path := filepath.Join(dir, string(rune('a'+i)))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		paths = append(paths, path)
		alone := must.Get(read.Load(t.Context(), []string{path}, read.Options{}))(t)
		for _, rec := range simtest.Run(t, alone, simtest.Options{Policies: "lru,lru-stack,opt,marker,random",
			Capacities: simtest.Objects(1, 2)}) {
			sum := want[rec.Label]
			sum[rec.Capacity-1] += rec.Int(metric.Misses)
			sum[rec.Capacity+1] += rec.Int(metric.Evictions)
			want[rec.Label] = sum
		}
	}
	all := must.Get(read.Load(t.Context(), paths, read.Options{Selection: read.Selection{PerFile: true}}))(t)
	for _, rec := range simtest.Run(t, all, simtest.Options{Policies: "lru,lru-stack,opt,marker,random",
		Capacities: simtest.Objects(1, 2)}) {
		sum := want[rec.Label]
		if rec.Int(metric.Misses) != sum[rec.Capacity-1] || rec.Int(metric.Evictions) != sum[rec.Capacity+1] ||
			rec.Int(metric.Requests) != 12 {
			t.Errorf("%s at %d: %d misses, %d evictions, %d requests; the files alone sum up to %v", rec.Label,
				rec.Capacity, rec.Int(metric.Misses), rec.Int(metric.Evictions), rec.Int(metric.Requests), sum)
		}
		if !rec.Has(metric.OptMisses) || rec.Int(metric.OptMisses) != want["opt"][rec.Capacity-1] {
			t.Errorf("%s at %d is compared with %v misses", rec.Label, rec.Capacity, rec.Int(metric.OptMisses))
		}
	}
	if _, err := simtest.TryRun(t.Context(), all, simtest.Options{Policies: "lru", Capacities: simtest.Objects(1),
		Warmup: 1}); err == nil {
		t.Error("a warm-up on files that each start empty was accepted")
	}
}

// 33990 misses of the optimum and 43883 of LRU at capacity 10 stand in results/caching_bk_paper.json of
// adampolak/mts-with-predictions.
func TestPerFileBrightkite(t *testing.T) {
	dir := os.Getenv("CACHESIM_TRACES")
	if dir == "" {
		t.Skip("CACHESIM_TRACES is not set")
	}
	trace := must.Get(read.Load(t.Context(), []string{filepath.Join(dir, "learned", "brightkite.tar.xz")},
		read.Options{Selection: read.Selection{PerFile: true}}))(t)
	want := map[string]int64{"lru": 43883, "opt": 33990}
	for _, rec := range simtest.Run(t, trace, simtest.Options{Policies: "lru,opt", Capacities: simtest.Objects(10)}) {
		if rec.Int(metric.Misses) != want[rec.Label] {
			t.Errorf("%s misses %d, want %d", rec.Label, rec.Int(metric.Misses), want[rec.Label])
		}
	}
}

// The bound over files that each start empty is the sum of theirs.
func TestPerFileSumsBounds(t *testing.T) {
	all := policytest.Trace(4, 4000, 200)
	all.Starts = []int{0, 1500, 2500}
	options := simtest.Options{Policies: "pfoo-l",
		Capacities: []capacity.Capacity{{Amount: 300, Bytes: true, Simulated: 300}}}
	var sum float64
	for _, part := range all.Parts() {
		sum += simtest.Run(t, part, options)[0].Float(metric.LowerBoundMisses)
	}
	rec := simtest.Run(t, all, options)[0]
	if got := rec.Float(metric.LowerBoundMisses); math.Abs(got-sum) > 1e-9 ||
		rec.Int(metric.Misses) != int64(math.Ceil(got)) {
		t.Errorf("bound of %v, %d misses; the files alone sum up to %v", got, rec.Int(metric.Misses), sum)
	}
}
