package models_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// No prefetcher, policy or setting brings a job below the bound, and the schedule that knows the future is not below it
// either.
func TestNoJobIsFasterThanTheBound(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	for run := range 12 {
		var text strings.Builder
		time, blocks := 0.0, 10+draw.IntN(40)
		for range 150 {
			first, n := draw.IntN(blocks), 1+draw.IntN(3)
			if draw.IntN(2) == 0 { // popular ones
				first /= 5
			}
			fmt.Fprintf(&text, "%v,a,/data/x,%d,%d,%d\n", time, first<<22, n<<22, (blocks+3)<<22)
			time += draw.Float64() / 10
		}
		tr := simtest.LoadReads(t, text.String())
		for _, prefetch := range []string{"none", "next(n=4)", "igt", "oracle(n=16)"} {
			for _, model := range []string{"storage(arrivals=closed)", "storage(arrivals=closed,prefetches=1,delay_ms=0)"} {
				for label, rec := range simtest.ByPolicy(t, tr, "lru,s3fifo,uniform", capacity.Of(int64(2+run), false), 0,
					"prefetcher="+prefetch, "model="+model) {
					took, bound, schedule := rec.Float(models.MeanCompletion), rec.Float(models.CompletionBound),
						rec.Float(models.CompletionAggressive)
					if !rec.Has(models.CompletionBound) || took < bound || schedule < bound {
						t.Errorf("%s with %s and %s: %v s, bound %v s, Aggressive %v s", label, prefetch, model, took, bound, schedule)
					}
				}
			}
		}
	}
}

// A job that reads new blocks only waits for each of them: the bound and Aggressive say so exactly, by blocks and by
// bytes. Two jobs have neither.
func TestBoundOfOneScan(t *testing.T) {
	const blocks = 30
	var text strings.Builder
	for i := range blocks {
		fmt.Fprintf(&text, "0,a,/data/x,%d,%d,%d\n", i<<22, 1<<22, blocks<<22)
	}
	want := 0.15 + blocks*blockSeconds
	for _, size := range []capacity.Capacity{capacity.Of(5, false), capacity.Of(5<<22+1, true)} {
		rec := simtest.ByPolicy(t, simtest.LoadReads(t, text.String()), "lru", size, 0, "prefetcher=next(n=4)",
			"model=storage(arrivals=closed,local_ms=0)")["lru"]
		for _, m := range []metric.Metric{models.CompletionBound, models.CompletionAggressive} {
			if got := rec.Float(m); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: %v, want %v", m.Name, got, want)
			}
		}
	}
	two := simtest.ByPolicy(t, simtest.Reads(t, 20, 10, 0), "lru", capacity.Of(5, false), 0,
		"model=storage(arrivals=closed)")["lru"]
	if two.Has(models.CompletionBound) || two.Has(models.CompletionAggressive) {
		t.Error("two jobs have a bound")
	}
}
