package cache_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// Five requests followed by hand: the second asks for more bytes of an object than it was loaded with, which changes
// nothing in the cache, the third is for an object larger than the cache, and the last needs room.
func TestExactCounts(t *testing.T) {
	tr := &traces.Trace{
		Name: "by hand", SampleRate: 1, NumObjects: 4, Objects: []uint32{0, 0, 1, 2, 3},
		ObjectSizes: []int64{4, 11, 6, 1}, RequestSizes: []int64{4, 6, 11, 6, 1},
	}
	c := cache.NewExact(policytest.Build(t, simtest.Policy(t, "lru").Entry, tr, 10, false), 10, tr.NumObjects)
	got, err := sim.Replay(t.Context(), tr, c, sim.ReplayOptions{Bytes: true})
	must.Do(t, err)
	want := cache.Counts{Requests: 5, Hits: 1, Evictions: 1, Oversized: 1, Bytes: 28, HitBytes: 6}
	if got.Counts != want || c.Used() != 7 || c.Resident(0) || !c.Resident(2) || !c.Resident(3) {
		t.Errorf("%+v with %d bytes used; want %+v with 7", got, c.Used(), want)
	}
	after := want
	after.Requests, after.Hits, after.Oversized, after.Bytes, after.HitBytes = 2, 0, 0, 7, 0
	c = cache.NewExact(policytest.Build(t, simtest.Policy(t, "lru").Entry, tr, 10, false), 10, tr.NumObjects)
	got, err = sim.Replay(t.Context(), tr, c, sim.ReplayOptions{Bytes: true, Warmup: 3})
	if err != nil || got.Counts != after {
		t.Errorf("after a warm-up of 3: %+v, error %v; want %+v", got, err, after)
	}
}

// What expires counts as evicted, at the moment it is due.
func TestExactExpiry(t *testing.T) {
	tr := simtest.FromKeys("aaabb")
	tr.Times = []int64{0, 1999999999, 2e9, 5e9, 6e9}
	for warmup, want := range map[int]cache.Counts{0: {Requests: 5, Hits: 2, Evictions: 2},
		2: {Requests: 3, Hits: 1, Evictions: 2}} {
		options := simtest.Options{Policies: "ttl(ttl=2)", Capacities: simtest.Objects(3), Warmup: warmup}
		rec := simtest.Run(t, tr, options)[0]
		if got := (cache.Counts{Requests: rec.Int(metric.Requests), Hits: rec.Int(metric.Hits),
			Evictions: rec.Int(metric.Evictions)}); got != want ||
			rec.Int(metric.Misses) != want.Misses() {
			t.Errorf("after a warm-up of %d: %+v, want %+v", warmup, got, want)
		}
	}
}
