package similarity

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/similarity/dot"
)

// checkNearest compares lists with the beginnings of a naive join's.
func checkNearest(t rapid.TB, v Vectors, k int, got *Nearest) {
	t.Helper()
	ids, similarities := naiveJoin(v, -2)
	want := min(k, max(0, v.Len()-1))
	if got.Len() != v.Len() || got.K() != want || got.Bytes() != int64(8*want*v.Len()) {
		t.Fatalf("%d lists of %d in %d bytes, want %d of %d", got.Len(), got.K(), got.Bytes(), v.Len(), want)
	}
	for i := range v.Len() {
		for r := range want {
			if id, similarity := got.At(i, r); id != ids[i][r] || similarity != similarities[i][r] {
				t.Fatalf("%d vectors of %d: number %d of the nearest of %d is %d with %v, want %d with %v", v.Len(), v.Dim, r,
					i, id, similarity, ids[i][r], similarities[i][r])
			}
		}
	}
}

func TestNearestAreThoseOfANaiveSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		v := randomVectors(random, rapid.IntRange(0, 80).Draw(t, "n"), rapid.IntRange(1, 70).Draw(t, "dim"),
			rapid.SampledFrom([]float64{0, 1e-6, 0.01, 2}).Draw(t, "spread"))
		k := rapid.SampledFrom([]int{1, 2, 3, 10, 79, 80, MostNearest}).Draw(t, "k")
		options := Options{Jobs: rapid.IntRange(1, 5).Draw(t, "jobs"), Backend: rapid.SampledFrom([]Backend{
			CPU, cpu{side: 6}, cpu{side: 30}, naive{}}).Draw(t, "backend")}
		got := must.Get(FindNearest(t.Context(), v, k, options))(t)
		checkNearest(t, v, k, got)
	})
}

// With equal vectors the lowest numbers are the nearest.
func TestNearestOfEqualVectors(t *testing.T) {
	v := Vectors{Dim: 1, Data: []float32{1, 1, 1, 1, 1, 1, 1}}
	got := must.Get(FindNearest(t.Context(), v, 2, Options{Backend: cpu{side: 6}}))(t)
	for i, want := range [][2]uint32{{1, 2}, {0, 2}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}} {
		first, similarity := got.At(i, 0)
		if second, _ := got.At(i, 1); [2]uint32{first, second} != want || similarity != 1 {
			t.Errorf("the nearest of %d are %d (%v) and %d, want %v", i, first, similarity, second, want)
		}
	}
}

func TestNearestRefusesTooMuch(t *testing.T) {
	v := randomVectors(rand.New(rand.NewPCG(1, 1)), 50, 4, 0.5)
	for k, want := range map[int]string{0: "want a number from 1 to 1000", 1001: "want a number from 1 to 1000",
		21: "of 50 vectors need 8.2 KiB of memory, more than 7.8 KiB", 49: "ask for 20 or fewer"} {
		if got, err := FindNearest(t.Context(), v, k, Options{MaxPairs: 1000}); err == nil || got != nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %s", k, err, want)
		}
	}
	if _, err := FindNearest(t.Context(), v, 20, Options{MaxPairs: 1000}); err != nil {
		t.Error(err)
	}
}

func TestNearestStopAndReportProgress(t *testing.T) {
	const n = 500
	v := randomVectors(rand.New(rand.NewPCG(2, 1)), n, 8, 0.5)
	var most atomic.Int64
	_, err := FindNearest(t.Context(), v, 3, Options{Backend: cpu{side: 6 * dot.Rows}, Progress: func(done, total int64) {
		if total != n*(n-1) {
			t.Errorf("%d pairs in all", total)
		}
		for old := most.Load(); old < done && !most.CompareAndSwap(old, done); old = most.Load() {
		}
	}})
	if err != nil || most.Load() != n*(n-1) {
		t.Errorf("%d pairs compared (%v)", most.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err = FindNearest(ctx, v, 3, Options{Jobs: 1, Backend: cpu{side: 36}, Progress: func(done, total int64) {
		calls++
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d blocks and error %v after it was cancelled in the first", calls, err)
	}
}

func BenchmarkNearest10k(b *testing.B) {
	v := randomVectors(rand.New(rand.NewPCG(1, 2)), 10_000, 384, 2)
	for b.Loop() {
		must.Get(FindNearest(b.Context(), v, 10, Options{Jobs: 1}))(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(10_000*9_999), "ns/pair")
}
