package join

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/similarity"
)

// checkNearest compares a search on a device with the CPU's.
func checkNearest(t rapid.TB, d cuda.Device, l limits, v similarity.Vectors, k int) {
	t.Helper()
	want := must.Get(similarity.FindNearest(context.Background(), v, k, similarity.Options{}))(t)
	compared := int64(0)
	got := must.Get(similarity.FindNearest(context.Background(), v, k, similarity.Options{Backend: untested(d, l),
		Jobs: 3, Progress: func(done, total int64) { compared = done }}))(t)
	if n := int64(v.Len()); compared != n*(n-1) || got.Len() != want.Len() || got.K() != want.K() {
		t.Fatalf("%d pairs of %d vectors compared, %d lists of %d, want %d of %d", compared, n, got.Len(), got.K(),
			want.Len(), want.K())
	}
	for i := range want.Len() {
		for r := range want.K() {
			id, similar := got.At(i, r)
			if wantID, wantSimilar := want.At(i, r); id != wantID || similar != wantSimilar {
				t.Fatalf("%d vectors of %d: number %d of the nearest of %d is %d with %v, want %d with %v", v.Len(), v.Dim, r, i,
					id, similar, wantID, wantSimilar)
			}
		}
	}
}

func TestNearestAreThoseOfTheCPU(t *testing.T) {
	brief.Long(t, "interprets kernels")
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.SampledFrom([]int{2, 31, 32, 33, 128, 129}).Draw(t, "n")
		dim := rapid.SampledFrom([]int{1, 3, 32, 33, 66}).Draw(t, "dim")
		v := randomVectors(random, n, dim, rapid.SampledFrom([]float64{0, 0.01, 0.5, 2}).Draw(t, "spread"))
		k := rapid.SampledFrom([]int{1, 2, 10, n - 1, similarity.MostNearest}).Draw(t, "k")
		l := limits{group: rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "group"), rows: 4, room: 1 << 20, bytes: 1 << 62}
		checkNearest(t, cudatest.Device(t, ptxrun.Options{Seed: random.Uint64()}), l, v, k)
	})
}

// Vectors in several chunks, with room for the pairs of one square, and columns that begin with a few tiles.
func TestNearestInLittleMemory(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(1, 1)), brief.Of(420, 260), 20, 0.5)
	perVector := int64(4*20 + 4*16 + boundBytes)
	for _, group := range brief.Sample(2, 1, 2) {
		square := int64(group * side)
		l := limits{group: group, rows: 8, room: 1, bytes: 2*square*perVector + square*square*pairBytes + margin}
		checkNearest(t, cudatest.Device(t, ptxrun.Options{}), l, v, 3)
		l.bytes = 1 << 62
		checkNearest(t, cudatest.Device(t, ptxrun.Options{}), l, v, 50)
	}
}

func TestNearestStop(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(3, 1)), 300, 8, 0.5)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := similarity.FindNearest(ctx, v, 3, similarity.Options{
		Backend: untested(cudatest.Device(t, ptxrun.Options{}),
			limits{group: 1, rows: 1, room: 1 << 20, bytes: 1 << 62}),
		Progress: func(done, total int64) {
			calls++
			cancel()
		}})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d launches and error %v after it was cancelled in the first", calls, err)
	}
}

// A device that is lost in any call ends the search with its error.
func TestNearestOnALostDevice(t *testing.T) {
	checkLost(t, func(v similarity.Vectors, o similarity.Options) (found bool, err error) {
		lists, err := similarity.FindNearest(t.Context(), v, 3, o)
		return lists != nil, err
	})
}

// BenchmarkGPUNearest finds the 10 nearest of vectors in groups around a centre.
func BenchmarkGPUNearest(b *testing.B) {
	d := cudatest.GPU(b)
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("vectors=%d", n), func(b *testing.B) {
			v := groups(n, 384, 10)
			searchOn := func(backend similarity.Backend) {
				must.Get(similarity.FindNearest(b.Context(), v, 10, similarity.Options{Backend: backend}))(b)
			}
			pairs := float64(n) * float64(n-1)
			cudatest.Compare(b, pairs, func() { searchOn(Backend(d)) }, func() { searchOn(similarity.CPU) })
		})
	}
}
