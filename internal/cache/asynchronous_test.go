package cache

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/requests"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

func requestOf(c Config, i int) policies.Request {
	o := c.Trace.Objects[i]
	r := policies.Request{Object: o, Query: o, Pos: i, Size: 1}
	if !c.Unit {
		r.Size = c.Trace.Size(i)
	}
	return r
}

// askAll serves a whole trace as a model does in which every object arrives at once.
func askAll(t *testing.T, c Config) (requests.Asynchronous, Counts) {
	t.Helper()
	c.Asynchronous = true
	built := must.Get(newExactCache(c))(t)
	served := built.(requests.Asynchronous)
	var n Counts
	var fetches []requests.Fetch
	for i := range c.Trace.Objects {
		r := requestOf(c, i)
		if served.Ask(r, i) {
			n.Hits++
		} else {
			served.Arrive(r)
		}
		n.Requests++
		fetches = served.Proposals(fetches[:0])
		for _, f := range fetches {
			served.Arrive(policies.Request{Object: f.Object, Query: f.Object, Pos: i, Size: f.Size,
				Reason: policies.Prefetch})
		}
	}
	n.Evictions, n.Oversized = served.Evictions(), served.Oversized()
	return served, n
}

// compareServed compares what arrives at once with what Serve does.
func compareServed(t *testing.T, c Config) {
	t.Helper()
	served, want := serveAll(t, c)
	want.Bytes, want.HitBytes = 0, 0
	asked, got := askAll(t, c)
	if got != want {
		t.Errorf("%+v if objects arrive at once, %+v if they are served", got, want)
	}
	if a, s := asked.(Reporting).Counters(), served.(Reporting).Counters(); !slices.Equal(a, s) {
		t.Errorf("counters %v if objects arrive at once, %v if they are served", a, s)
	}
}

func TestArrivingAtOnceIsServing(t *testing.T) {
	for _, unit := range []bool{true, false} {
		policytest.ForSample(t, !unit, func(t *testing.T, e policies.Entry) {
			if policies.Can[policies.PredictorUser](e) || e.Relates || e.Kind == policies.Bound {
				return // they need more than a trace
			}
			tr := policytest.Trace(3, 2000, 150)
			c := configOf(t, tr, policytest.Spec(e), "", policytest.CapacityFor(e, 60), unit)
			if !unit {
				c.Capacity *= 20
			}
			compareServed(t, c)
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	requests := make([][2]int, 2000)
	for i := range requests {
		requests[i] = [2]int{rng.IntN(3), rng.IntN(40)}
	}
	for _, allocator := range []string{"equal", "proportional(every=50)", "ucp(every=100)", "shared"} {
		compareServed(t, configOf(t, tenantTrace(requests), "lru", allocator, 100, false))
	}
	// Of several proposals after a request, none is for an object that an earlier one evicts.
	for _, prefetcher := range []string{"next", "next(when=tagged)", "stride(n=1,zone=2000)", "mithril(mining=12)"} {
		compareServed(t, prefetchingConfig(t, blocks(1, 3000, false), prefetcher, 200))
	}
}

// inFlight is what has been asked for and has not arrived.
type inFlight struct {
	request policies.Request
	key     uint64
	waiting []policies.Request
	after   int // requests until it arrives
}

// TestLateArrivals: whatever the delays, a cache is never fuller than its capacity, proposes nothing that is resident
// or on its way, and keeps the number of an address until it has arrived or was cancelled.
func TestLateArrivals(t *testing.T) {
	for _, prefetcher := range prefetchers {
		for _, sized := range brief.Sample(2, false, true) {
			tr := blocks(5, 2000, sized)
			rapid.Check(t, func(rt *rapid.T) {
				c := prefetchingConfig(t, tr, prefetcher, int64(rapid.IntRange(1, 80).Draw(rt, "capacity")))
				c.Asynchronous = true
				driveLate(rt, c, rapid.Uint64().Draw(rt, "seed"), 20)
			})
		}
	}
	// More addresses outside the trace are on their way than have numbers at a time.
	scattered := &traces.Trace{Name: "scattered", NumObjects: 1200}
	for i := range scattered.NumObjects {
		scattered.Objects = append(scattered.Objects, uint32(i))
		scattered.Keys = append(scattered.Keys, stream.Key{Num: uint64(10 * i)})
	}
	for seed := range uint64(3) {
		c := prefetchingConfig(t, scattered, "next(n=6)", 50)
		c.Asynchronous = true
		driveLate(t, c, seed, 2000)
	}
}

// driveLate replays a trace in which what is fetched arrives after fewer than latest requests.
func driveLate(t rapid.TB, c Config, seed uint64, latest int) {
	built := must.Get(newExactCache(c))(t)
	served := built.(*prefetching)
	rng := rand.New(rand.NewPCG(seed, 0))
	coming := map[policies.Object]*inFlight{}
	var order []policies.Object // in which objects were asked for
	add := func(r policies.Request) {
		f := &inFlight{request: r, after: rng.IntN(latest)}
		if served.numbers != nil {
			f.key = served.numbers.Key(r.Object)
		}
		coming[r.Object] = f
		order = append(order, r.Object)
	}
	var fetches []requests.Fetch
	hits := 0
	for i := range c.Trace.Objects {
		r := requestOf(c, i)
		resident := served.Resident(r.Object)
		if hit := served.Ask(r, i); hit != resident {
			t.Fatalf("request %d hits: %v, resident: %v", i, hit, resident)
		}
		f := coming[r.Object]
		switch {
		case resident:
			hits++
		case f == nil:
			add(r)
		case f.request.Reason == policies.Prefetch:
			f.request = r
		default:
			f.waiting = append(f.waiting, r)
		}
		fetches = served.Proposals(fetches[:0])
		for _, p := range fetches {
			if coming[p.Object] != nil || served.Resident(p.Object) {
				t.Fatalf("request %d: object %d is proposed, but is here or on its way", i, p.Object)
			}
			r := policies.Request{Object: p.Object, Query: p.Object, Pos: i, Size: p.Size, Reason: policies.Prefetch}
			if add(r); rng.IntN(10) == 0 {
				delete(coming, p.Object)
				order = order[:len(order)-1]
				served.Cancelled(p.Object)
			}
		}
		order = slices.DeleteFunc(order, func(o policies.Object) bool {
			f := coming[o]
			if f.after--; f.after >= 0 {
				return false
			}
			delete(coming, o)
			f.request.Pos = i
			if served.numbers != nil && served.numbers.Key(o) != f.key {
				t.Fatalf("object %d has the address %d, and had %d when it was asked for", o, served.numbers.Key(o), f.key)
			}
			if got := served.Arrive(f.request); got != served.Resident(o) {
				t.Fatalf("object %d is resident after its arrival: %v, want %v", o, served.Resident(o), got)
			}
			for _, w := range f.waiting {
				w.Pos = i
				served.Waited(w)
			}
			return true
		})
		if served.Used() > served.Capacity() {
			t.Fatalf("%d of %d are used after request %d", served.Used(), served.Capacity(), i)
		}
	}
	for _, counter := range served.Counters() {
		if counter.Value < 0 {
			t.Fatalf("%s is %v", counter.Name(), counter.Value)
		}
	}
	if int64(served.Store.(*Pool).Len()) > served.loaded+int64(len(c.Trace.Objects)-hits) {
		t.Fatalf("%d objects are resident, more than arrived", served.Store.(*Pool).Len())
	}
}
