package sim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// benchWrites returns 1 M requests to 100 000 objects, Zipf(1.0), of which this share writes. Before another share of
// them, objects are removed.
func benchWrites(writes, removed float64, mode stream.Writes) *traces.Trace {
	const requests, objects = 1_000_000, 100_000
	t := &traces.Trace{Name: "zipf", SampleRate: 1, NumObjects: objects, Written: traces.Written{Mode: mode}}
	zipf, rng := random.NewZipf(objects, 1), random.Stream(1, 1)
	chance := rand.New(random.Stream(1, 2))
	if writes > 0 {
		t.Ops = make([]stream.Op, requests)
	}
	for pos := range requests {
		t.Objects = append(t.Objects, uint32(zipf.Draw(rng)))
		if writes > 0 && chance.Float64() < writes {
			t.Ops[pos] = stream.OpWrite
		}
		if chance.Float64() < removed {
			t.Removals = append(t.Removals, traces.Removal{Before: uint32(pos), Object: uint32(zipf.Draw(rng))})
		}
	}
	return t
}

// BenchmarkWrites replays traces with and without writes and removals.
func BenchmarkWrites(b *testing.B) {
	for _, test := range []struct {
		name            string
		writes, removed float64
		mode            stream.Writes
	}{
		{"reads", 0, 0, 0}, {"count=10%", 0.1, 0, stream.WritesCount}, {"fill=10%", 0.1, 0, stream.WritesFill},
		{"removed=10%", 0, 0.1, 0},
	} {
		t := benchWrites(test.writes, test.removed, test.mode)
		for _, policy := range []string{"lru", "s3fifo", "arc", "opt"} {
			b.Run(test.name+"/"+policy, func(b *testing.B) {
				r := sim.NewReplayer(t, sim.ReplayerOptions{})
				c := simtest.Cell(b, policy, simtest.Objects(10_000)[0])
				for b.Loop() {
					must.Get(r.Replay(b.Context(), c))(b)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(t.Objects)), "ns/request")
			})
		}
	}
}
