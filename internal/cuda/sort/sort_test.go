package sort_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/cuda/sort"
)

// edges are numbers of elements around the sizes of warps, blocks and tiles.
var edges = []int{0, 1, 2, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 5000}

func TestMain(m *testing.M) { os.Exit(cudatest.Main(m)) }

// onDevice loads the operations to the device, and runs a test with a scope there.
func onDevice(t *testing.T, test func(t *testing.T, s *cuda.Scope, o *sort.Operations)) {
	t.Helper()
	s := cuda.NewScope(cudatest.Device(t, ptxrun.Options{Seed: 1}))
	o := must.Get(sort.Load(s))(t)
	test(t, s, o)
	must.Do(t, s.Close())
}

// Sorts of 32 and 64 bits give the order of a stable sort on the CPU, also where only some bits count.
func TestSort(t *testing.T) {
	onDevice(t, func(t *testing.T, s *cuda.Scope, o *sort.Operations) {
		rng := rand.New(rand.NewPCG(1, 2))
		for i, n := range edges {
			bits := []int{1, 8, 9, 17, 32}[i%5]
			keys := make([]uint32, n)
			for i := range keys {
				keys[i] = uint32(rng.Uint64() & (1<<bits - 1))
			}
			p := must.Get(sort.NewPairs(s, n+i, false))(t)
			must.Do(t, cuda.Put(s, p.Keys, keys))
			must.Do(t, o.Iota(p.Values, n))
			must.Do(t, o.Sort(p, n, bits))
			checkPairs(t, s, p, keys)
		}
	})
}

func TestSortWide(t *testing.T) {
	onDevice(t, func(t *testing.T, s *cuda.Scope, o *sort.Operations) {
		rng := rand.New(rand.NewPCG(1, 3))
		for i, n := range edges {
			bits := []int{3, 16, 33, 40, 64}[i%5]
			keys := make([]uint64, n)
			for i := range keys {
				keys[i] = rng.Uint64() >> (64 - bits)
			}
			p := must.Get(sort.NewPairs(s, n, true))(t)
			must.Do(t, cuda.Put(s, p.Keys, keys))
			must.Do(t, o.Iota(p.Values, n))
			must.Do(t, o.Sort(p, n, bits))
			checkPairs(t, s, p, keys)
		}
	})
}

// checkPairs compares sorted pairs, whose values are the places of their keys before, with a sort on the CPU.
func checkPairs[K uint32 | uint64](t *testing.T, s *cuda.Scope, p *sort.Pairs, keys []K) {
	t.Helper()
	want := make([]uint32, len(keys))
	for i := range want {
		want[i] = uint32(i)
	}
	slices.SortStableFunc(want, func(a, b uint32) int {
		if keys[a] < keys[b] {
			return -1
		} else if keys[a] > keys[b] {
			return 1
		}
		return 0
	})
	gotKeys, gotValues := make([]K, len(keys)), make([]uint32, len(keys))
	must.Do(t, cuda.Download(s, gotKeys, p.Keys))
	must.Do(t, cuda.Download(s, gotValues, p.Values))
	if !slices.Equal(gotValues, want) {
		t.Fatalf("%d keys: not in the order of a stable sort", len(keys))
	}
	for i, at := range want {
		if gotKeys[i] != keys[at] {
			t.Fatalf("%d keys: key %d is %d, want %d", len(keys), i, gotKeys[i], keys[at])
		}
	}
}

// Prefix sums with one, two and three levels of tiles.
func TestPrefixSum(t *testing.T) {
	onDevice(t, func(t *testing.T, s *cuda.Scope, o *sort.Operations) {
		rng := rand.New(rand.NewPCG(1, 4))
		sums := must.Get(sort.NewSums(s, 70_000))(t)
		for _, n := range append([]int{4095, 4096, 70_000}, edges...) {
			column := make([]uint32, n+1)
			for i := range n {
				column[i] = rng.Uint32() >> rng.IntN(32)
			}
			at := must.Get(cuda.Upload(s, column))(t)
			must.Do(t, o.PrefixSum(at, n, sums))
			got := make([]uint32, n+1)
			must.Do(t, cuda.Download(s, got, at))
			sum := uint32(0)
			for i, x := range column {
				if got[i] != sum {
					t.Fatalf("%d elements: sum before %d is %d, want %d", n, i, got[i], sum)
				}
				sum += x
			}
		}
		if err := o.PrefixSum(0, 70_000*2048, sums); err == nil {
			t.Error("no error without enough scratch space")
		}
	})
}

// Buckets may be empty, at the ends as well.
func TestStarts(t *testing.T) {
	onDevice(t, func(t *testing.T, s *cuda.Scope, o *sort.Operations) {
		rng := rand.New(rand.NewPCG(1, 5))
		for _, n := range edges {
			for _, count := range []int{0, 1, 7, 300} {
				keys := make([]uint32, n)
				for i := range keys {
					keys[i] = uint32(rng.IntN(max(1, count)))
				}
				slices.Sort(keys)
				at := must.Get(cuda.Upload(s, keys))(t)
				starts := must.Get(s.Alloc(int64(4 * (count + 1))))(t)
				must.Do(t, o.Starts(at, n, starts, count))
				got := make([]uint32, count+1)
				must.Do(t, cuda.Download(s, got, starts))
				for b, start := range got {
					if want, _ := slices.BinarySearch(keys, uint32(b)); int(start) != want {
						t.Fatalf("%d keys, bucket %d of %d begins at %d, want %d", n, b, count, start, want)
					}
				}
			}
		}
	})
}

func TestTooLong(t *testing.T) {
	s := cuda.NewScope(nil)
	if _, err := sort.NewPairs(s, sort.Longest+1, false); err == nil {
		t.Error("pairs: no error")
	}
	if _, err := sort.NewSums(s, -1); err == nil {
		t.Error("sums: no error")
	}
	if err := (&sort.Operations{}).Sort(&sort.Pairs{}, 1, 8); err == nil {
		t.Error("sort of more pairs than there is room for: no error")
	}
}
