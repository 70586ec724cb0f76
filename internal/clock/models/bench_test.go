package models_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// BenchmarkStorage replays 18 jobs in a closed loop, each of which reads blocks of 20 files of its own at random,
// through a cache of half of them.
func BenchmarkStorage(b *testing.B) {
	const reads, jobs, filesOfJob, blocks = 200_000, 18, 20, 64
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for i := range reads {
		job := i % jobs
		fmt.Fprintf(&text, "%.3f,%d,/data/%d/%d,%d,%d,%d\n", float64(i)/1000, job, job, rng.IntN(filesOfJob),
			rng.IntN(blocks)<<22, 1<<22, blocks<<22)
	}
	tr := simtest.LoadReads(b, text.String())
	size := capacity.Of(jobs*filesOfJob*blocks/2<<22, true)
	for _, lists := range [][]string{{}, {"prefetcher=next(n=4)"}} {
		b.Run(strings.Join(append([]string{"lru"}, lists...), " "), func(b *testing.B) {
			c := simtest.Cell(b, "lru", size, append([]string{"model=storage(arrivals=closed)"}, lists...)...)
			r := sim.NewReplayer(tr, sim.ReplayerOptions{})
			requests := int64(0)
			start := time.Now()
			for b.Loop() {
				rec := must.Get(r.Replay(b.Context(), c))(b)
				requests += rec.Int(metric.Requests)
			}
			b.ReportMetric(float64(requests)/time.Since(start).Seconds(), "req/s")
		})
	}
}
