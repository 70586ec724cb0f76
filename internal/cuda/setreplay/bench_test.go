package setreplay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
)

// BenchmarkGPUResident replays a chunk in 1562 sets of 64 ways again and again: its requests, with a distribution close
// to Zipf's of exponent 1, stay on the device. Of the seconds, some divide them among the sets. The seconds of the copy
// are beside them.
func BenchmarkGPUResident(b *testing.B) {
	const requests, objects, sets, ways = 20_000_000, 1_000_000, 1562, 64
	device := cudatest.GPU(b)
	rng := rand.New(rand.NewPCG(1, 2))
	t := Trace{Objects: make([]uint32, requests), Count: objects, Hashes: make([]uint32, objects),
		Keys: make([]uint64, objects)}
	for i := range t.Objects {
		t.Objects[i] = uint32(math.Pow(objects, rng.Float64())) - 1
	}
	for o := range t.Hashes {
		t.Hashes[o], t.Keys[o] = rng.Uint32(), rng.Uint64()
	}
	for _, batch := range []int{1, 128} {
		b.Run(fmt.Sprintf("lru/batch=%d", batch), func(b *testing.B) {
			t.Batch = batch
			must.Do(b, device.Do(b.Context(), func(d cuda.Device) error {
				return resident(b, d, t, Cell{Sets: sets, Ways: ways, Slabs: 2, Lanes: ways / 2})
			}))
		})
	}
}

// resident measures a replay of the first chunk of a trace.
func resident(b *testing.B, d cuda.Device, t Trace, c Cell) error {
	r, err := prepare(d, t, []Cell{c}, Options{})
	if err != nil {
		return err
	}
	defer r.scope.Close()
	to := r.chunkEnd(0, r.length)
	start := time.Now()
	if err := r.write(0, to); err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		return err
	}
	copying := time.Since(start).Seconds()
	if to, err = r.shorten(0, to); err != nil { // compiles the kernels
		return err
	}
	dividing := 0.0
	for b.Loop() {
		start := time.Now()
		if _, err := r.divideAll(0, to); err != nil {
			return err
		}
		dividing += time.Since(start).Seconds()
		if err := r.replayWritten(0, to); err != nil {
			return err
		}
		if err := d.Sync(); err != nil {
			return err
		}
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(seconds, "gpu-s")
	b.ReportMetric(dividing/float64(b.N), "dividing-s")
	b.ReportMetric(copying, "copy-s")
	b.ReportMetric(float64(to)/seconds/1e6, "M/s")
	b.ReportMetric(0, "ns/op") // the same as gpu-s
	return nil
}
