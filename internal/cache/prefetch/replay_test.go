package prefetch_test

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// blockTrace returns requests to block addresses, of streams and of a few others, with times and sizes.
func blockTrace(seed uint64, requests int) *traces.Trace {
	rng := rand.New(rand.NewPCG(seed, 5))
	streams := []uint64{1000, 3000}
	numbers := map[uint64]uint32{}
	t := &traces.Trace{Name: "blocks", SampleRate: 1}
	for len(t.Objects) < requests {
		address := uint64(rng.IntN(60))
		if s := rng.IntN(3); s < 2 {
			streams[s] += uint64(1 + s)
			address = streams[s]
			if rng.IntN(40) == 0 {
				streams[s] = uint64(1000 + 2000*s)
			}
		}
		o, ok := numbers[address]
		if !ok {
			o = uint32(len(numbers))
			numbers[address] = o
			t.Keys = append(t.Keys, stream.Key{Num: address})
			t.ObjectSizes = append(t.ObjectSizes, int64(1+address%5))
		}
		t.Times = append(t.Times, int64(len(t.Objects))*1e9)
		t.Objects = append(t.Objects, o)
	}
	t.NumObjects = len(numbers)
	return t
}

// forEachPrefetching calls do for cells of every policy that a cache can have, in objects and in bytes.
func forEachPrefetching(t *testing.T, do func(t *testing.T, c sim.Cell)) {
	for _, e := range policytest.Ready() {
		if e.Kind == policies.Bound || policies.Can[policies.HeadServer](e) || e.ShortInside {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			for _, size := range []capacity.Capacity{capacity.Of(1, false), capacity.Of(30, false), capacity.Of(90, true)} {
				if sim.CheckUnits(e, size.Bytes) == nil {
					do(t, simtest.Cell(t, e.Name, size))
				}
			}
		})
	}
}

func TestEveryPolicyWorksWithEveryPrefetcher(t *testing.T) {
	r := sim.NewReplayer(blockTrace(1, 3000), sim.ReplayerOptions{})
	forEachPrefetching(t, func(t *testing.T, c sim.Cell) {
		loaded := false
		for _, text := range brief.Sample(2, "next(n=2)", "stride", "amp(apt=2)", "mithril(mining=10)") {
			c := simtest.With(t, c, "prefetcher="+text)
			rec := simtest.Replay(t, r, c).Record
			if again := simtest.Replay(t, r, c).Record; !reflect.DeepEqual(rec, again) {
				t.Errorf("%s: %+v and then %+v", text, rec, again)
			}
			if rec.Int(metric.Requests) != 3000 || rec.Prefetcher != c.Prefetcher.String() {
				t.Errorf("%s: %d requests, prefetcher %q", text, rec.Int(metric.Requests), rec.Prefetcher)
			}
			prefetches, useful := rec.Int(prefetch.Prefetches), rec.Int(prefetch.UsefulPrefetches)
			if wasted := rec.Int(prefetch.WastedPrefetches); useful < 0 || wasted < 0 || useful+wasted != prefetches {
				t.Errorf("%s: %d prefetches, %d of them useful and %d wasted", text, prefetches, useful, wasted)
			}
			if c := rec.Float(prefetch.Coverage); useful > 0 && (c <= 0 || c > 1) {
				t.Errorf("%s: coverage %v", text, c)
			}
			loaded = loaded || useful > 0
		}
		if loaded == c.Policy.Entry.Idle && c.Capacity.Amount > 1 {
			t.Errorf("prefetched anything useful at %d: %t", c.Capacity.Amount, loaded)
		}
	})
}

// A prefetcher that proposes nothing changes nothing, whichever path the policy takes without one.
func TestNoPrefetcherIsNone(t *testing.T) {
	r := sim.NewReplayer(blockTrace(2, 2000), sim.ReplayerOptions{Warmup: 100})
	forEachPrefetching(t, func(t *testing.T, c sim.Cell) {
		if c.Policy.Entry.Unbounded {
			return // its capacity is another with a prefetcher
		}
		if _, own := c.Policy.Params["prefetch"]; own {
			c.Policy.Params = maps.Clone(c.Policy.Params)
			c.Policy.Params["prefetch"] = "off"
		}
		want := simtest.Replay(t, r, c)
		none := must.Get(prefetch.Registry.Parse("none"))(t)
		c.Prefetcher = &none
		got := simtest.Replay(t, r, c)
		for _, m := range []metric.Metric{metric.Hits, metric.Misses, metric.Evictions, metric.Oversized} {
			if got.Int(m) != want.Int(m) {
				t.Errorf("%s: %d; without a prefetcher %d", m.Name, got.Int(m), want.Int(m))
			}
		}
	})
}

// Ten addresses in order, all of which next proposes: hits, and those that are on their way, are worked out by hand.
func TestHitsInFlight(t *testing.T) {
	for _, c := range []struct {
		prefetcher          string
		warmup, sampledFrom int
		ratio, inFlight     float64 // inFlight is -1 if absent
	}{
		{"next", 0, 0, 0.9, -1},
		{"next(delay=1)", 0, 0, 0, 0.9},
		{"next(delay=1)", 5, 0, 0, 1},
		{"next(n=2,delay=1)", 0, 0, 0.8, 0.9},
		{"next(n=2,delay=1)", 0, 40, 0.9, 0.95}, // a sample: 2 misses of 20 expected requests, one of them on its way
	} {
		tr := &traces.Trace{Name: "run", NumObjects: 10, SampleRate: 1}
		if c.sampledFrom > 0 {
			tr.SampleRate, tr.SampledFrom = 0.5, c.sampledFrom
		}
		for i := range uint32(10) {
			tr.Objects, tr.Keys = append(tr.Objects, i), append(tr.Keys, stream.Key{Num: 100 + uint64(i)})
		}
		rec := simtest.ByPolicy(t, tr, "lru", capacity.Of(100, false), c.warmup, "prefetcher="+c.prefetcher)["lru"]
		inFlight := -1.0
		if rec.Has(metric.HitsInFlight) {
			inFlight = rec.Float(metric.HitsInFlight)
		}
		if rec.Float(metric.HitRatio) != c.ratio || inFlight != c.inFlight {
			t.Errorf("%s after %d: hit ratio %v and %v in flight, want %v and %v", c.prefetcher, c.warmup,
				rec.Float(metric.HitRatio), inFlight, c.ratio, c.inFlight)
		}
	}
}
