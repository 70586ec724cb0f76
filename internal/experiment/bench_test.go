package experiment

import (
	"runtime"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/sim"
)

// BenchmarkExecute holds the time of a sweep over one trace against what it is made of: of a trace of 4 M requests under 16 policies at 4
// capacities it reports the time less that of loading, over the sum of the replays, each done alone before, divided by the cores.
// The aim is a ratio of at most 1.1. The ratio with the replays as they were in the sweep, where they share the memory of the machine, says
// how much of that is idle cores.
func BenchmarkExecute(b *testing.B) {
	const trace = "zipf(objects=200000,requests=4000000)"
	policies := []string{
		"lru", "fifo", "clock", "sieve", "s3fifo", "2q", "slru", "arc", "car", "lirs", "mq", "lfu", "w-tinylfu", "lecar", "random", "opt",
	}
	var cells []Cell
	for _, capacity := range []string{"0.1%", "1%", "5%", "20%"} {
		for _, policy := range policies {
			cells = append(cells, newCell(trace, policy, capacity))
		}
	}
	cells = numbered(cells...)
	load, replays := alone(b, cells)
	for b.Loop() {
		var inSweep float64
		finished := func(_ Cell, r Result) error { inSweep += r.Seconds; return nil }
		start := time.Now()
		if err := Execute(b.Context(), cells, Options{Finished: finished}); err != nil {
			b.Fatal(err)
		}
		wall := time.Since(start)
		cores := float64(runtime.GOMAXPROCS(0))
		b.ReportMetric((wall-load).Seconds()*cores/replays.Seconds(), "ratio")
		b.ReportMetric((wall-load).Seconds()*cores/inSweep, "ratio-in-sweep")
		b.ReportMetric(load.Seconds(), "load-s")
		b.ReportMetric(replays.Seconds(), "replays-s")
	}
}

// alone returns how long it takes to load the one trace of cells, and to replay them one after the other.
func alone(b *testing.B, cells []Cell) (load, replays time.Duration) {
	b.Helper()
	start := time.Now()
	trace, err := cells[0].Workload.Load(b.Context(), columns(nil))
	if err != nil {
		b.Fatal(err)
	}
	load = time.Since(start)
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	start = time.Now()
	for _, c := range cells {
		p, err := c.parse()
		if err != nil {
			b.Fatal(err)
		}
		one, err := p.simCell(trace)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := replayer.Replay(b.Context(), []sim.Cell{one}); err != nil {
			b.Fatal(err)
		}
	}
	return load, time.Since(start)
}
