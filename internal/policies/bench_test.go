package policies

import (
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/params"
)

// benchScale is the size of the benchmark's trace: Zipf(1.0), by default small enough for a quick look. CACHESIM_BENCH=full
// takes the size at which the project compares itself with other simulators.
type benchScale struct{ requests, ids, capacity int }

func scaleOfBench() benchScale {
	if os.Getenv("CACHESIM_BENCH") == "full" {
		return benchScale{requests: 20_000_000, ids: 1_000_000, capacity: 100_000}
	}
	return benchScale{requests: 2_000_000, ids: 100_000, capacity: 10_000}
}

// benchTrace is a Zipf(1.0) trace with its next-use column.
type benchTrace struct {
	objects    []Object
	numObjects int
	nextUse    []uint32
}

var zipfTrace = sync.OnceValue(func() benchTrace {
	scale := scaleOfBench()
	t := newZipfTrace(scale.requests, scale.ids)
	t.nextUse = naiveNextUse(t.objects, t.numObjects)
	return t
})

// newZipfTrace draws requests by inverting the cumulative distribution of 1/rank.
func newZipfTrace(requests, ids int) benchTrace {
	cumulative := make([]float64, ids)
	sum := 0.0
	for rank := range cumulative {
		sum += 1 / float64(rank+1)
		cumulative[rank] = sum
	}
	rng := rand.New(rand.NewPCG(1, 2))
	number := make([]uint32, ids) // dense number of each rank, plus 1
	t := benchTrace{objects: make([]Object, requests)}
	for i := range t.objects {
		rank, _ := slices.BinarySearch(cumulative, rng.Float64()*sum)
		if number[rank] == 0 {
			t.numObjects++
			number[rank] = uint32(t.numObjects)
		}
		t.objects[i] = number[rank] - 1
	}
	return t
}

func naiveNextUse(objects []Object, numObjects int) []uint32 {
	seen := slices.Repeat([]uint32{Never}, numObjects)
	next := make([]uint32, len(objects))
	for i, o := range slices.Backward(objects) {
		next[i], seen[o] = seen[o], uint32(i)
	}
	return next
}

// BenchmarkReplay replays the trace through the batch path of every policy that has one.
func BenchmarkReplay(b *testing.B) {
	for _, e := range All() {
		if e.Kind != Bound && e.Units != UnitsBytes {
			b.Run(e.Name, func(b *testing.B) { benchReplay(b, e) })
		}
	}
}

func benchReplay(b *testing.B, e Entry) {
	t, capacity := zipfTrace(), scaleOfBench().capacity
	cfg := Config{
		Capacity: int64(capacity), Unit: true, Objects: t.numObjects, Requests: len(t.objects), Seed: 1, Params: params.Defaults(e.Params),
	}
	if e.Kind == Offline {
		cfg.NextUse = t.nextUse
	}
	hits := 0
	for b.Loop() {
		hits = benchOnce(b, e, cfg, t.objects)
	}
	requests := float64(len(t.objects)) * float64(b.N)
	b.ReportMetric(requests/b.Elapsed().Seconds()/1e6, "Mreq/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/requests, "ns/req")
	b.ReportMetric(100*float64(hits)/float64(len(t.objects)), "%hit")
}

// benchOnce builds the policy outside the clock and replays in windows as package sim does.
func benchOnce(b *testing.B, e Entry, cfg Config, objects []Object) (hits int) {
	b.StopTimer()
	p, err := e.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	batch, ok := p.(UnitReplayer)
	if !ok {
		b.Skip("has no batch path")
	}
	b.StartTimer()
	const window = 1 << 15
	for from := 0; from < len(objects); from += window {
		h, _ := batch.ReplayUnit(objects[from:min(from+window, len(objects))], from)
		hits += h
	}
	return hits
}
