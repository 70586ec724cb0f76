package cache

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// A run of addresses with next(n=1): what is proposed after a request arrives delay requests after that.
func TestDelayedProposals(t *testing.T) {
	tr := &traces.Trace{Name: "run"}
	for i := range uint32(10) {
		tr.Objects, tr.Keys = append(tr.Objects, i), append(tr.Keys, stream.Key{Num: 100 + uint64(i)})
	}
	tr.NumObjects = 10
	for text, want := range map[string][3]float64{ // hits, prefetches, late
		"next":                {9, 10, 0},
		"next(delay=1)":       {0, 0, 9},
		"next(n=2,delay=1)":   {8, 9, 1}, // the second of two arrives just in time
		"next(n=3,delay=2)":   {7, 8, 2},
		"next(n=3,delay=100)": {0, 0, 9},
	} {
		served, n := serveAll(t, prefetchingConfig(t, tr, text, 100))
		got := values(served)
		have := [3]float64{float64(n.Hits), got[prefetch.Prefetches.Name], got[prefetch.LateProposals.Name]}
		if have != want {
			t.Errorf("%s: hits, prefetches and late proposals are %v, want %v", text, have, want)
		}
	}
}

// With every prefetcher, at any delay, a cache keeps to its capacity and its counts add up.
func TestDelayedProposalsAddUp(t *testing.T) {
	for _, text := range []string{"next(n=3,delay=5)", "stride(n=2,zone=2000,delay=3)", "amp(apt=2,max=9,delay=4)",
		"mithril(min=1,mining=8,record=all,chances=3,delay=7)", "oracle(n=4,delay=20)"} {
		for _, sized := range []bool{false, true} {
			for _, capacity := range []int64{1, 9, 60, 400} {
				tr := blocks(uint64(capacity), 4000, sized)
				built := must.Get(newExactCache(prefetchingConfig(t, tr, text, capacity)))(t)
				served := built.(*prefetching)
				var n Counts
				buffer := make([]int64, 1)
				for i := range tr.Objects {
					served.Serve(WindowOf(tr, i, i+1, sized, buffer), &n)
					if served.Used() > capacity {
						t.Fatalf("%s: %d of %d are used", text, served.Used(), capacity)
					}
				}
				got := values(served)
				if useful, wasted := got[prefetch.UsefulPrefetches.Name], got[prefetch.WastedPrefetches.Name]; useful < 0 ||
					wasted < 0 || useful+wasted != got[prefetch.Prefetches.Name] {
					t.Errorf("%s: %v useful and %v wasted of %v", text, useful, wasted, got[prefetch.Prefetches.Name])
				}
				if late := got[prefetch.LateProposals.Name]; late > float64(n.Misses()) || capacity == 400 && late == 0 {
					t.Errorf("%s: %v late of %d misses", text, late, n.Misses())
				}
			}
		}
	}
}
