package sim_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// checkSameCounts compares a cell with the same cell with a model: the counts, whatever the warm-up, and the windows of
// a series.
func checkSameCounts(t *rapid.T, tr *traces.Trace, c sim.Cell, model string, warmup int) {
	t.Helper()
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup})
	want, got := simtest.Replay(t, r, c), simtest.Replay(t, r, simtest.With(t, c, "model="+model))
	if have, without := simtest.Counts(got.Values), simtest.Counts(want.Values); have != without {
		t.Fatalf("warm-up %d: %+v with %s, %+v without", warmup, have, model, without)
	}
	rows := slices.DeleteFunc(got.Series, func(r series.Row) bool { return strings.HasPrefix(r.Name, "latency") })
	if !reflect.DeepEqual(rows, want.Series) {
		t.Fatalf("warm-up %d: windows %v with %s, %v without", warmup, rows, model, want.Series)
	}
	if l, ok := got.Get(models.LatencyMean.Name); !ok || l <= 0 {
		t.Fatalf("warm-up %d: a mean latency of %v", warmup, l)
	}
}

// TestModelsCountTheSame: hits, misses and evictions of a cell do not depend on its model, wherever the warm-up ends:
// at the end of a batch, inside one, or inside the last one.
func TestModelsCountTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawSetsTrace(t)
		tr.Starts = nil
		policy := rapid.SampledFrom([]string{"lru", "opt", "random", "laru", "s3fifo", "fpb"}).Draw(t, "policy")
		batch := rapid.SampledFrom([]int{1, 2, 7, 50}).Draw(t, "batch")
		c := setsCell(t, policy, fmt.Sprintf("sets(ways=4,batch=%d)", batch), "noisy(p=0.3)",
			rapid.Int64Range(1, 80).Draw(t, "capacity"), 1)
		c.Series = series.Window{Requests: rapid.SampledFrom([]int64{0, 1, 5, 64}).Draw(t, "window")}
		model := rapid.SampledFrom([]string{"sls", "sls(inflight=3)", "sls(inflight=2,rate=5000,memory=queued)"})
		checkSameCounts(t, tr, c, model.Draw(t, "model"), rapid.IntRange(0, len(tr.Objects)-1).Draw(t, "warmup"))
	})
}

// TestPromptsCountTheSame: so it is with one prompt at a time.
func TestPromptsCountTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "trace"), 1))
		tr := policytest.RandomPrompts(rng, rapid.IntRange(1, 30).Draw(t, "prompts"), 5, 3)
		policy := rapid.SampledFrom([]string{"lru", "opt", "opt-bypass", "random", "laru", "fpb"}).Draw(t, "policy")
		kind := rapid.SampledFrom([]string{"prefix", "prefix(evict=node)", "prefix(evict=any)"}).Draw(t, "cache")
		c := simtest.Cell(t, policy, capacity.Of(rapid.Int64Range(1, 12).Draw(t, "capacity"), false), "cache="+kind,
			"predictor=oracle")
		c.Series = series.Window{Requests: rapid.SampledFrom([]int64{0, 1, 5, 64}).Draw(t, "window")}
		checkSameCounts(t, tr, c, "prefill(model=qwen3-8b,concurrency=1)",
			rapid.IntRange(0, len(tr.Groups)-1).Draw(t, "warmup"))
	})
}

// TestEveryModelCountsFromTheWarmupOn: what counts are the requests after the warm-up, in every model, and some of them
// have a latency.
func TestEveryModelCountsFromTheWarmupOn(t *testing.T) {
	lookups, files, long := simtest.Lookups(20), simtest.Reads(t, 300, 10, time.Second), longReads(t)
	ratings := simtest.Recommended(t, 300, 100, 300)
	nodes := simtest.Cell(t, "lru", capacity.Capacity{}, "cache=pools(nodes=2,gpus=1,memory=300MiB)")
	for _, test := range []struct {
		trace  *traces.Trace
		cell   sim.Cell
		models []string
	}{
		{lookups, setsCell(t, "lru", "sets", "", 640, 1), []string{"sls"}},
		{files, simtest.Cell(t, "lru", capacity.Of(10, false)), []string{"storage"}},
		{long, simtest.Cell(t, "lru", capacity.Of(10, false)), []string{"storage(arrivals=closed)"}},
		{ratings, nodes, []string{"recommender", "recommender(rate=100)", "fluid", "fluid(rate=100)"}},
	} {
		n := len(test.trace.Objects)
		for _, model := range test.models {
			for _, warmup := range []int{0, 1, n / 3, n / 2, n - 2, n - 1} {
				r := sim.NewReplayer(test.trace, sim.ReplayerOptions{Warmup: warmup})
				rec := simtest.Replay(t, r, simtest.With(t, test.cell, "model="+model))
				if got := rec.Int(metric.Requests); got != int64(n-warmup) {
					t.Errorf("%s, warm-up %d: %d requests count, want %d", model, warmup, got, n-warmup)
				}
				if l, ok := rec.Get(models.LatencyMean.Name); !ok || !(l > 0) {
					t.Errorf("%s, warm-up %d: a mean latency of %v", model, warmup, l)
				}
			}
		}
	}
}

// longReads is a trace of 40 reads of seven blocks each.
func longReads(t *testing.T) *traces.Trace {
	t.Helper()
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "%d,a,/data/a,%d,%d,%d\n", i, i%3*(7<<22), 7<<22, 21<<22)
	}
	return simtest.LoadReads(t, text.String())
}
