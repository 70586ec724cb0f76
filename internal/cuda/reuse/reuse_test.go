package reuse

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/oracle"
)

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

// sizes are numbers of requests around the sizes of warps, blocks and tiles, and with several levels above a tile.
var sizes = []int{0, 1, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 4097}

// requests draws requests, most of them for few objects.
func requests(rng *rand.Rand, n, numObjects int) []uint32 {
	objects := make([]uint32, n)
	for i := range objects {
		objects[i] = uint32(float64(numObjects) * rng.Float64() * rng.Float64())
	}
	return objects
}

// agrees fails if the distances on a device differ from the CPU's.
func agrees(t rapid.TB, s *Stack, cpu *oracle.LRUStack) {
	t.Helper()
	got, err := s.Distances()
	if err != nil {
		t.Fatalf("%v", err)
	}
	if s.Seen() != cpu.Seen() || !slices.Equal(got, cpu.Distances()) {
		t.Fatalf("%d objects seen and distances %v, the CPU has %d and %v", s.Seen(), got, cpu.Seen(), cpu.Distances())
	}
}

// The device measures what the CPU does: with warm-ups, in one chunk and in several, in traces that follow each other.
func TestDistancesAreThoseOfTheCPU(t *testing.T) {
	brief.Long(t, "interprets kernels")
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom(sizes).Draw(t, "requests")
		numObjects := rapid.SampledFrom([]int{1, 2, 33, 100, 256, 257, 1500, 3000}).Draw(t, "objects")
		warmup := rapid.IntRange(0, n).Draw(t, "warm-up")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		objects := requests(rng, n, numObjects)
		options := ptxrun.Options{Seed: rng.Uint64(), Major: 7}
		if rapid.Bool().Draw(t, "little memory") {
			options.Memory = bytes(numObjects+max(n/3, numObjects), numObjects) * 5 / 4
		}
		s := must.Get(NewStack(cudatest.Device(t, options), numObjects, n))(t)
		for _, objects := range [][]uint32{objects, objects[:min(n, 40)]} {
			must.Do(t, s.Restart())
			warmup := min(warmup, len(objects))
			cpu := oracle.NewLRUStack(numObjects)
			cpu.Serve(objects[:warmup], false)
			cpu.Serve(objects[warmup:], true)
			must.Do(t, errors.Join(s.Serve(objects[:warmup], false), s.Serve(objects[warmup:], true)))
			agrees(t, s, cpu)
		}
		must.Do(t, s.Close())
	})
}

// A loop has the largest distances there are: nothing is in order in any level.
func TestDistancesOfALoop(t *testing.T) {
	const numObjects, rounds = 1300, 6
	s, err := NewStack(cudatest.Device(t, ptxrun.Options{}), numObjects, numObjects*rounds)
	must.Do(t, err)
	objects := make([]uint32, numObjects*rounds)
	for i := range objects {
		objects[i] = uint32(i % numObjects)
	}
	must.Do(t, s.Serve(objects, true))
	distances, err := s.Distances()
	if err != nil || distances[numObjects-1] != numObjects*(rounds-1) {
		t.Errorf("%d requests have the largest distance, want all but the first round, %d (%v)",
			distances[numObjects-1], numObjects*(rounds-1), err)
	}
}

// A trace is measured in chunks if memory is short, and refused if there is too little.
func TestMemoryOfDistances(t *testing.T) {
	const numObjects, n = 500, 6000
	objects := requests(rand.New(rand.NewPCG(1, 2)), n, numObjects)
	cpu := oracle.NewLRUStack(numObjects)
	cpu.Serve(objects, true)
	least := bytes(2*numObjects, numObjects)
	d := cudatest.Device(t, ptxrun.Options{Memory: least + least/8})
	s, err := NewStack(d, numObjects, n)
	must.Do(t, err)
	if s.Chunk() > n/4 {
		t.Errorf("chunks of %d requests in %d bytes", s.Chunk(), least+least/8)
	}
	must.Do(t, s.Serve(objects, true))
	agrees(t, s, cpu)
	must.Do(t, s.Close())
	if free, total, err := d.Memory(); free != total || err != nil {
		t.Errorf("%d of %d bytes are free after Close (%v)", free, total, err)
	}
	_, err = NewStack(cudatest.Device(t, ptxrun.Options{Memory: least}), numObjects, n)
	must.Fail(t, err, "use --device cpu")
}

// measure counts distances from the allocation of memory to its release.
func measure(d cuda.Device, objects []uint32, numObjects int) error {
	s, err := NewStack(d, numObjects, len(objects))
	if err != nil {
		return err
	}
	if err := s.Serve(objects, true); err != nil {
		return err
	}
	if _, err := s.Distances(); err != nil {
		return err
	}
	return s.Close()
}

// An error of the device ends the computation wherever it happens.
func TestDeviceIsLost(t *testing.T) {
	objects := requests(rand.New(rand.NewPCG(3, 4)), 3000, 50)
	for call := 1; ; call += brief.Of(1, 5) {
		err := measure(cudatest.Device(t, ptxrun.Options{Fail: call}), objects, 50)
		if err == nil {
			if call < 30 {
				t.Errorf("only %d calls can fail", call-1)
			}
			return
		}
		if !errors.Is(err, ptxrun.ErrLost) {
			t.Fatalf("call %d: %v", call, err)
		}
	}
}

// BenchmarkGPUReuse measures the distances of requests with a distribution close to Zipf's, of exponent 1. Rows for
// which the host or the GPU has too little memory are skipped.
func BenchmarkGPUReuse(b *testing.B) {
	d := cudatest.GPU(b)
	for _, size := range []struct{ requests, objects int }{{10e6, 1e6}, {100e6, 1e6}, {100e6, 11.5e6}, {1e9, 10e6}} {
		b.Run(fmt.Sprintf("requests=%d/objects=%d", size.requests, size.objects), func(b *testing.B) {
			host, device := 4*int64(size.requests), bytes(size.objects+min(size.requests, longestChunk), size.objects)
			if has, _ := memory.Available(); has < 2*host {
				b.Skipf("needs %s of memory, there are %s", memory.Bytes(2*host), memory.Bytes(has))
			}
			if free, _, err := freeOf(b, d); err != nil || free-free/16 < device {
				b.Skipf("needs %s on the GPU, %s are free (%v)", memory.Bytes(device*16/15), memory.Bytes(free), err)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			objects := make([]uint32, size.requests)
			for i := range objects {
				objects[i] = uint32(math.Pow(float64(size.objects), rng.Float64())) - 1
			}
			onGPU := func() {
				must.Do(b, d.Do(b.Context(), func(d cuda.Device) error { return measure(d, objects, size.objects) }))
			}
			onCPU := func() { oracle.NewLRUStack(size.objects).Serve(objects, true) }
			cudatest.Compare(b, float64(len(objects)), onGPU, onCPU)
		})
	}
}

// freeOf returns the free memory of a device.
func freeOf(b *testing.B, d *cuda.Shared) (free, total int64, err error) {
	err = d.Do(b.Context(), func(d cuda.Device) (err error) {
		free, total, err = d.Memory()
		return err
	})
	return free, total, err
}

// A device that takes more memory for an allocation than it has bytes measures in shorter chunks; if that does not
// help, it is cuda.ErrOutOfMemory.
func TestCoarseMemory(t *testing.T) {
	const numObjects, n = 500, 20000
	objects := requests(rand.New(rand.NewPCG(1, 2)), n, numObjects)
	cpu := oracle.NewLRUStack(numObjects)
	cpu.Serve(objects, true)
	options := ptxrun.Options{Memory: bytes(numObjects+n, numObjects) * 17 / 16, Granule: 16 << 10}
	s, err := NewStack(cudatest.Device(t, options), numObjects, n)
	if err != nil || s.Chunk() >= n {
		t.Fatalf("chunks of %d requests, error %v", s.Chunk(), err)
	}
	must.Do(t, s.Serve(objects, true))
	agrees(t, s, cpu)
	options.Granule = 256 << 10
	if _, err := NewStack(cudatest.Device(t, options), numObjects, n); !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("error %v where chunks of any length do not fit", err)
	}
}
