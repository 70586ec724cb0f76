package sim_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// drawLookups is drawRows with some of the reads only looking.
func drawLookups(t *rapid.T, keys uint64, longest int) rows {
	r := drawRows(t, keys, longest)
	for i := range r {
		if r[i].Op == stream.OpRead && rapid.Bool().Draw(t, "looks") {
			r[i].Op = stream.Lookup
			r[i].TTL = 0 // what is not loaded does not begin to be valid
		}
	}
	return r
}

// Beside requests that only look, the schedule that stands in for the optimum has at least as many misses as the best
// one, and the bound no more. Without them both are exact.
func TestOptimumWithLookups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, mode := drawLookups(t, 5, 24), drawMode(t)
		tr, err := r.load(t.Context(), mode)
		if err != nil {
			return // it has no requests
		}
		for _, rec := range must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "opt,opt-bypass,lru,sieve",
			Capacities: simtest.Objects(rapid.Int64Range(1, 3).Draw(t, "capacity"))}))(t) {
			fewest := r.fewestMisses(mode, 5, int(rec.Capacity), rec.Policy == "opt-bypass")
			misses, bound := int(rec.Int(metric.Misses)), rec.Float(metric.LowerBoundMisses)
			looks := tr.Written.Lookups > 0
			if rec.Has(metric.LowerBoundMisses) != looks || rec.Has(metric.Lookups) != looks {
				t.Fatalf("%s: bound %v with %d lookups", rec.Policy, bound, tr.Written.Lookups)
			}
			if misses < fewest || bound > float64(fewest) {
				t.Fatalf("%s at %d, writes %s: %d misses, bound %v, but %d are possible, of %+v", rec.Policy, rec.Capacity,
					mode, misses, bound, fewest, r)
			}
			if rec.Kind == "offline" && !looks && misses != fewest {
				t.Fatalf("%s misses %d times without lookups: want %d", rec.Policy, misses, fewest)
			}
		}
	})
}

// In tiers the bound is no more than the misses of the best schedule for one cache with the room of all tiers, or of
// the last one if that copies the others, found by trying all of them, and no policy has fewer. The hits of the
// tiers are all hits, and shares of all requests.
func TestTiersWithLookups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawLookups(t, 5, 24)
		tr, err := r.load(t.Context(), stream.WritesCount)
		if err != nil {
			return
		}
		mode := rapid.SampledFrom([]string{"exclusive", "inclusive", "write-through", "write-back"}).Draw(t, "mode")
		for _, rec := range must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "opt,lru,s3fifo",
			Parts: []string{"cache=tiers(flash=2,mode=" + mode + ")"}, Capacities: simtest.Objects(1)}))(t) {
			room := 1 + 2
			if mode == "inclusive" {
				room = 2
			}
			fewest := r.fewestMisses(stream.WritesCount, 5, room, true)
			misses, bound := int(rec.Int(metric.Misses)), rec.Float(metric.LowerBoundMisses)
			if misses < fewest || bound > float64(fewest) {
				t.Fatalf("%s in %s tiers: %d misses, bound %v, but %d are possible, of %+v", rec.Policy, mode, misses, bound,
					fewest, r)
			}
			share := 0.0
			for _, tier := range []string{"memory", "flash"} {
				x, _ := rec.Get("tier_hit_share[" + tier + "]")
				share += x
			}
			if ratio := rec.Float(metric.HitRatio); math.Abs(share-ratio) > 1e-12 {
				t.Fatalf("the tiers hit %v of the requests, all together %v", share, ratio)
			}
		}
	})
}

// What only looks counts for its tenant, whoever's pool has the object, and all in all as without tenants.
func TestTenantsLookUp(t *testing.T) {
	tr := *simtest.Generated(t, "zipf(requests=3000,objects=200,alpha=0.8)", traces.Needs{Keys: true})
	tr.Tenants = &traces.Tenants{Names: []string{"a", "b", "c"}}
	for o := range tr.NumObjects {
		tr.Tenants.Of = append(tr.Tenants.Of, uint32(o*o%3))
	}
	requests := map[string]float64{}
	tr.Ops = make([]stream.Op, len(tr.Objects))
	for pos, o := range tr.Objects {
		if pos >= 500 {
			requests[tr.Tenants.Names[tr.Tenants.Of[o]]]++
		}
		if tr.Ops[pos] = stream.OpRead; pos*pos%7 < 3 {
			tr.Ops[pos] = stream.Lookup
			tr.Written.Lookups++
		}
	}
	tr.Written.Passing = tr.Written.Lookups
	r := sim.NewReplayer(&tr, sim.ReplayerOptions{Warmup: 500})
	alone := simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Of(40, false)))
	for _, parts := range [][]string{{"allocator=shared"}, {"allocator=equal"}, {"allocator=ucp(every=300)"},
		{"allocator=shared", "prefetcher=next"}, {"allocator=shared", "cache=tiers(memory=40)"},
		{"allocator=shared", "cache=tiers(flash=2x)", "prefetcher=next"}} {
		got, hits := simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Of(40, false), parts...)), 0.0
		for name, want := range requests {
			if is, _ := got.Get("tenant_requests[" + name + "]"); is != want {
				t.Errorf("%v: tenant %s has %v requests, want %v", parts, name, is, want)
			}
			x, _ := got.Get("tenant_hits[" + name + "]")
			hits += x
		}
		if hits != got.Float(metric.Hits) || got.Int(metric.Lookups) != int64(tr.Written.Lookups) {
			t.Errorf("%v: tenants have %v hits, all together %v", parts, hits, got.Float(metric.Hits))
		}
		exact := len(parts) == 1 && parts[0] == "allocator=shared" || strings.Contains(parts[len(parts)-1], "=40")
		if exact && hits != alone.Float(metric.Hits) {
			t.Errorf("%v: %v hits, without tenants %v", parts, hits, alone.Float(metric.Hits))
		}
	}
}

// Belady's rule keeps what is requested soonest, though the other object would hit three times. So its ratio is an
// interval, whose ends hold the best schedule's 4 misses.
func TestLookupsHideTheOptimum(t *testing.T) {
	var r rows
	for i, key := range []uint64{0, 1, 2, 1, 0, 0, 0} {
		r = append(r, stream.Record{Num: key, Op: stream.OpRead, Size: 1, Time: int64(i)})
		if i > 3 {
			r[i].Op = stream.Lookup
		}
	}
	tr := must.Get(r.load(t.Context(), stream.WritesCount))(t)
	rec := must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "lru",
		Capacities: simtest.Objects(2)}))(t)[0]
	best := r.fewestMisses(stream.WritesCount, 3, 2, false)
	opt, bound := rec.Int(metric.OptMisses), rec.Float(metric.LowerBoundMisses)
	if opt != 6 || best != 4 || bound != 3 || rec.Int(metric.Lookups) != 3 {
		t.Errorf("%d misses of opt, %d of the best schedule, bound %v, %d lookups: want 6, 4, 3 and 3", opt, best, bound,
			rec.Int(metric.Lookups))
	}
	if text := tr.Written.Text(); text != "3 of 7 requests only look: where they miss, nothing is loaded" {
		t.Error(text)
	}
}

// A log in which a row only looks gives what a list does, in objects and in bytes, one capacity or many at once.
func TestLRUWithLookupsEqualsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, mode := drawLookups(t, 8, 60), drawMode(t)
		r = append(r, stream.Record{Num: 99, Time: r[len(r)-1].Time, Size: 1})
		tr := must.Get(r.load(t.Context(), mode))(t)
		for _, rec := range must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "lru",
			Capacities: simtest.Objects(1, 2, 3, 5)}))(t) {
			want := &naiveLRU{mode: mode, capacity: int(rec.Capacity), ends: map[uint64]int64{}}
			for _, row := range r {
				want.serve(row)
			}
			hits := want.readHits + want.writeHits
			if mode == stream.WritesFill {
				hits = want.readHits
			}
			if got := rec.Int(metric.Hits); got != hits {
				t.Fatalf("%d hits at %d, writes %s, want %d, of %+v", got, rec.Capacity, mode, hits, r)
			}
			writes := slices.ContainsFunc(tr.Ops, stream.Op.Writes)
			if rec.Has(metric.Writes) != writes {
				t.Fatalf("writes counted: %v, want %v", !writes, writes)
			}
		}
	})
}
