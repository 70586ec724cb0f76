package modules_test

import (
	"context"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/processor"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
)

// BenchmarkReplay compares modules with the program's own policies, on Zipf(1.0) over a million objects. The two take
// turns, and what counts is the time of the processor: others may use the machine, too.
func BenchmarkReplay(b *testing.B) {
	const objects, capacity, length, window = 1_000_000, 100_000, 4_000_000, 1 << 15
	trace := make([]policies.Object, length)
	table, draws := random.NewZipf(objects, 1), random.Stream(1, 1)
	for i := range trace {
		trace[i] = policies.Object(table.Draw(draws))
	}
	replay := func(spec string) time.Duration {
		parsed := must.Get(policies.Registry.Parse(spec))(b)
		ctx, life := policies.Begin(context.Background())
		p := must.Get(parsed.Entry.New(policies.Config{Capacity: capacity, Unit: true, Objects: objects,
			Requests: length, Params: parsed.Params, Life: policies.LifeOf(ctx)}))(b).(policies.UnitReplayer)
		start := processor.Time()
		for from := 0; from < length; from += window {
			p.ReplayUnit(trace[from:min(from+window, length)], from)
		}
		took := processor.Time() - start
		must.Do(b, life.End())
		return took
	}
	for _, policy := range []string{"lru", "s3fifo", "sieve"} {
		b.Run(policy, func(b *testing.B) {
			ours, module := time.Duration(0), time.Duration(0)
			for b.Loop() {
				ours += replay(policy)
				module += replay(of(examples + policy + ".wasm"))
			}
			perSecond := func(d time.Duration) float64 { return length * float64(b.N) / d.Seconds() / 1e6 }
			b.ReportMetric(perSecond(ours), "Mreq/s-ours")
			b.ReportMetric(perSecond(module), "Mreq/s")
			b.ReportMetric(ours.Seconds()/module.Seconds(), "of-ours")
		})
	}
}
