package experiment

import (
	"runtime"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/processor"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// BenchmarkExecute compares the time of a sweep with that of its parts: over a trace of 4 M requests, 16 policies at 4
// capacities. It reports
//
//	ratio       time of the sweep less that of loading the trace, over the sum of the replays, each done alone
//	            before, divided by the cores;
//	            the aim is at most 1.1, on a machine with nothing else to do
//	idle-ratio  the same with the replays as long as they were in the sweep: what is above 1 is cores that stood idle
//	cpu-ratio   processor time of the sweep over that of loading and of the replays alone: what is above 1 is work
//	            that the sweep adds,
//	            and replays that wait for memory which others use
//
// The last two hold on a busy machine too.
func BenchmarkExecute(b *testing.B) {
	const trace = "zipf(objects=200000,requests=4000000)"
	policies := []string{
		"lru",
		"fifo",
		"clock",
		"sieve",
		"s3fifo",
		"2q",
		"slru",
		"arc",
		"car",
		"lirs",
		"mq",
		"lfu",
		"w-tinylfu",
		"lecar",
		"random",
		"opt",
	}
	var cells []Cell
	for _, capacity := range []string{"0.1%", "1%", "5%", "20%"} {
		for _, policy := range policies {
			cells = append(cells, newCell(trace, policy, capacity))
		}
	}
	cells = numbered(cells...)
	var load, replays time.Duration
	cpuAlone := processorTime(func() { load, replays = alone(b, cells) })
	for b.Loop() {
		inSweep := 0.0
		finished := func(_ Cell, r Result) error { inSweep += r.Seconds; return nil }
		start := time.Now()
		cpu := processorTime(func() {
			must.Do(b, Execute(b.Context(), cells, Options{Finished: finished}))
		})
		cores := float64(runtime.GOMAXPROCS(0))
		wall := (time.Since(start) - load).Seconds() * cores
		b.ReportMetric(wall/replays.Seconds(), "ratio")
		b.ReportMetric(wall/inSweep, "idle-ratio")
		b.ReportMetric(cpu.Seconds()/cpuAlone.Seconds(), "cpu-ratio")
	}
}

// alone returns how long it takes to load the one trace of cells, and to replay them one after the other.
func alone(b *testing.B, cells []Cell) (load, replays time.Duration) {
	b.Helper()
	start := time.Now()
	trace := must.Get(cells[0].Workload.Load(b.Context(), nil, read.Options{}))(b)
	load = time.Since(start)
	replayer := sim.NewReplayer(trace, sim.ReplayerOptions{})
	start = time.Now()
	for _, c := range cells {
		one := must.Get(c.on(trace))(b)
		must.Get(replayer.Replay(b.Context(), one))(b)
	}
	return load, time.Since(start)
}

// processorTime returns the processor time that the program spends while work runs.
func processorTime(work func()) time.Duration {
	before := processor.Time()
	work()
	return processor.Time() - before
}
