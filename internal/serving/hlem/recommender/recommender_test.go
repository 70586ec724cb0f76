package recommender

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/route"
	"pgregory.net/rapid"
)

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(math.Abs(a), math.Abs(b))
}

// TestByHand: two GPUs, requests of 3 s each. The first two run at once, the third waits from 2 to 3, the fourth, at 4,
// from 4 to 4: the second has ended at 4 and the GPU is free before it arrives.
func TestByHand(t *testing.T) {
	f := newFake(1, 2, func(int, int) Access { return missing(3) })
	r := mustRun(t, requestsAt(0, 1, 2, 4), f, settings(plain()))
	want := []started{{0, 0, 0}, {1, 0, 1e9}, {2, 0, 3e9}, {3, 0, 4e9}}
	for i, s := range f.starts { // computing takes less than a nanosecond
		if s.request != want[i].request || s.at != want[i].at {
			t.Errorf("start %d is %+v, want %+v", i, s, want[i])
		}
	}
	// Latencies 3, 3, 4 and 3 s; the run ends at 7 s.
	if r.Mean != 3.25 || r.Seconds != 7 || r.Requests != 4 || r.Satisfied != 0 {
		t.Errorf("%+v", r)
	}
	if !near(r.P50, 3, 1e-3) || !near(r.P99, 4, 1e-3) {
		t.Errorf("percentiles %v and %v, want 3 and 4 s", r.P50, r.P99)
	}
	if !near(r.Busy, 12, 1e-9) || r.GPUs != 2 || r.Rows != 12 || r.Missed != 12000 {
		t.Errorf("%+v", r)
	}
	if !near(r.Transfer, 12, 1e-9) || !near(r.Waiting, 1, 1e-9) || r.Compute > 1e-9 {
		t.Errorf("%v s of transfers, %v s of waiting and %v s of computation, want 12, 1 and 0", r.Transfer, r.Waiting,
			r.Compute)
	}
	// The run ends at 7 s, but the last request has arrived before the second half of the second epoch.
	if r.Windows != 1 || !near(r.WindowP99, 3, 1e-9) {
		t.Errorf("%d windows of the P99 %v, want 1 of 3 s", r.Windows, r.WindowP99)
	}
	w := f.windows[len(f.windows)-1]
	if w.Requests != 2 || w.Rate != 0.8 || w.HotShare != 0.5 || w.Violations != 1 || w.Mean != 3 || w.P99 != 3 ||
		w.EMBHit != 0 || w.KVHit != 0 || w.MeanTokens != 1 || w.Ratio != 0.4 || !near(w.SlowEMB, 1, 1e-9) {
		t.Errorf("window %+v", w)
	}
	if !near(w.SavedEMB, 3, 1e-9) {
		t.Errorf("embeddings save %v s, want 3", w.SavedEMB)
	}
}

// poisson returns requests with exponential gaps at a rate per second.
func poisson(n int, rate float64, seed uint64) Requests {
	rng := rand.New(rand.NewPCG(seed, 1))
	times := make([]float64, n)
	at := 0.0
	for i := range times {
		times[i] = at
		at += rng.ExpFloat64() / rate
	}
	return requestsAt(times...)
}

// erlangC returns the probability that a request waits in M/M/c.
func erlangC(c int, offered float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= offered / float64(k+1)
	}
	last := term / (1 - offered/float64(c))
	return last / (sum + last)
}

// TestQueuesAgainstClosedForms compares mean waiting times with M/M/c (Erlang C) and M/G/1 (Pollaczek and Khinchine),
// of which M/D/1 is a case. Rows are so small that times are as good as continuous.
func TestQueuesAgainstClosedForms(t *testing.T) {
	const n = 400000
	costs := plain()
	costs.RowBytes = 1
	costs.PCIe = 1e6 // a million rows take a second
	exponential := func(request int) float64 {
		return rand.New(rand.NewPCG(uint64(request), 2)).ExpFloat64()
	}
	for _, q := range []struct {
		name    string
		gpus    int
		rate    float64
		service func(request int) float64 // of mean 1
		wait    float64
	}{
		{"M/D/1", 1, 0.8, func(int) float64 { return 1 }, 0.8 / (2 * 0.2)},
		{"M/M/1", 1, 0.7, exponential, 0.7 / 0.3},
		{"M/M/8", 8, 6.8, exponential, erlangC(8, 6.8) / (8 - 6.8)},
		{"M/G/1", 1, 0.5, func(i int) float64 {
			return 0.5 + float64(rand.New(rand.NewPCG(uint64(i), 3)).IntN(2))
		}, 0.5 * 1.25 / (2 * 0.5)},
	}[:brief.Of(4, 2)] {
		f := newFake(1, q.gpus, func(_, request int) Access { return missing(int64(1e6 * q.service(request))) })
		c := settings(costs)
		c.Warmup = n / 10
		r := mustRun(t, poisson(n, q.rate, 7), f, c)
		service := r.Busy / float64(r.Requests)
		if got := r.Mean - service; !near(got, q.wait, 0.04) {
			t.Errorf("%s: requests wait %v s on average, want %v", q.name, got, q.wait)
		}
		if use := r.Busy / r.Seconds / float64(q.gpus); !near(use, q.rate/float64(q.gpus), 0.02) {
			t.Errorf("%s: GPUs are busy for %v of the time, want %v", q.name, use, q.rate/float64(q.gpus))
		}
	}
}

// TestFIFO: on each node requests start in the order of their arrival, and never more at once than there are GPUs.
func TestFIFO(t *testing.T) {
	f := newFake(3, 2, func(_, request int) Access { return missing(int64(request * 7919 % 900)) })
	costs := plain()
	costs.PCIe = 1e6
	r := poisson(5000, 12, 3)
	mustRun(t, r, f, settings(costs))
	if len(f.starts) != 5000 || f.most != 2 {
		t.Fatalf("%d requests started, %d at once", len(f.starts), f.most)
	}
	last := [3]int{-1, -1, -1}
	for _, s := range f.starts {
		if s.request <= last[s.node] || s.at < r.Times[s.request] {
			t.Fatalf("request %d starts on node %d at %v, after %d", s.request, s.node, s.at, last[s.node])
		}
		last[s.node] = s.request
	}
}

// TestRefillSlowsTransfers: after the first epoch 4 GB are missing on a node of 2 GPUs.
func TestRefillSlowsTransfers(t *testing.T) {
	costs := plain()
	costs.PCIe, costs.RowBytes = 25e9, 1e9 // a row takes 0.04 s on a link of its own
	for _, want := range []struct {
		refill hlem.Refill
		rates  [3]float64 // of refill, per GPU, when the requests at 5.05, 5.15 and 5.25 s start
		loaded [2]float64 // GB that are refilled by 5.1 s and by 5.2 s
		took   float64    // seconds, until the last report
	}{
		{hlem.Throttled, [3]float64{3.2, 3.2, 3.2}, [2]float64{0.64, 1.28}, 0.2},
		// What is left at 5.1 s takes less than half of the link.
		{hlem.Naive, [3]float64{12.5, 7.5, 0}, [2]float64{2.5, 4}, 0.2},
		{hlem.Off, [3]float64{}, [2]float64{}, 0},
	} {
		f := newFake(1, 2, func(int, int) Access { return missing(1) })
		c := settings(costs)
		c.Refill = want.refill
		f.ratio = func(_ int, w *hlem.Window) float64 {
			if w.Requests == 1 {
				f.missing[0] = 4e9
			}
			return 0.5
		}
		r := mustRun(t, requestsAt(0, 5.05, 5.15, 5.25), f, c)
		busy := 1. / 25
		for _, rate := range want.rates {
			busy += 1 / (25 - rate)
		}
		if !near(r.Busy, busy, 1e-9) {
			t.Errorf("%s: transfers take %v s, want %v", want.refill, r.Busy, busy)
		}
		if !near(r.Refilled, want.took, 1e-9) {
			t.Errorf("%s: the refill takes %v s, want %v", want.refill, r.Refilled, want.took)
		}
		f.refills = append(f.refills, 0, 0)
		if a, b := f.refills[0], f.refills[0]+f.refills[1]; !near(float64(a), want.loaded[0]*1e9, 1e-6) ||
			!near(float64(b), want.loaded[1]*1e9, 1e-6) {
			t.Errorf("%s: %d bytes, then %d are refilled, want %v GB", want.refill, a, b, want.loaded)
		}
	}
}

// TestThrottleLeavesRoomForMisses: 24 GB/s of misses for a second leave nothing to refill; later the rate returns.
func TestThrottleLeavesRoomForMisses(t *testing.T) {
	costs := plain()
	costs.PCIe, costs.RowBytes = 25e9, 1e6
	f := newFake(1, 1, func(int, int) Access { return missing(240) }) // 0.24 GB every 10 ms
	f.ratio = func(int, *hlem.Window) float64 { f.missing[0] = 100e9; return 0.5 }
	var times []float64
	for i := range 100 {
		times = append(times, float64(i)*0.01+0.005)
	}
	c := settings(costs)
	var rates []float64
	c.Windows = event.Windows[Span]{Span: ReportEvery, End: func(s Span) error {
		rates = append(rates, s.All.Refill)
		return nil
	}}
	r := mustRun(t, requestsAt(append(times, 1.6, 1.7)...), f, c)
	if rates[0] != hlem.MostRefill || rates[8] != 0 || rates[len(rates)-2] != hlem.MostRefill {
		t.Errorf("rates %v", rates)
	}
	if !near(r.Peak, 24e9, 0.2) {
		t.Errorf("a peak of %v", r.Peak)
	}
	if !near(r.Refilled, 1.7, 1e-9) {
		t.Errorf("the refill takes %v s: the time without room counts, too", r.Refilled)
	}
}

// TestRefillFitsTheLink: what refill takes and what the mean of the misses takes fit into hlem.LinkShare of the link.
func TestRefillFitsTheLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{Config: settings(plain()), gpus: 8, cache: newFake(1, 8, nil), nodes: make([]node, 1)}
		m.Costs.PCIe = rapid.Float64Range(1e6, 1e11).Draw(t, "link")
		m.Refill = rapid.SampledFrom([]hlem.Refill{hlem.Throttled, hlem.Naive, hlem.Off}).Draw(t, "refill")
		n := &m.nodes[0]
		n.missMean = rapid.Float64Range(0, 2*m.Costs.PCIe).Draw(t, "misses")
		left := rapid.Int64Range(0, 1e11).Draw(t, "missing")
		m.cache.(*fake).missing[0] = left
		m.setRefill(0)
		switch room := hlem.LinkShare*m.Costs.PCIe - n.missMean; {
		case n.refill < 0 || n.refill > m.Costs.PCIe/2 && m.Refill == hlem.Naive || m.Refill == hlem.Off && n.refill > 0:
			t.Fatalf("refill %v", n.refill)
		case m.Refill == hlem.Throttled && (n.refill > max(0, room) || n.refill > hlem.MostRefill):
			t.Fatalf("refill %v, room %v", n.refill, room)
		case n.refill*8*ReportEvery.Seconds() > float64(left)+1:
			t.Fatalf("refill %v, but only %d bytes are missing", n.refill, left)
		}
	})
}

func TestContextAndSeriesEndARun(t *testing.T) {
	f := newFake(1, 1, func(int, int) Access { return missing(1) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, requestsAt(0, 1, 2), f, settings(plain())); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	c := settings(plain())
	failure := errors.New("enough")
	c.Windows = event.Windows[Span]{Requests: 2, End: func(Span) error { return failure }}
	if _, err := Run(t.Context(), requestsAt(0, 1, 2), f, c); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
}

// TestSeries adds up what the windows of a series say.
func TestSeries(t *testing.T) {
	for _, by := range []event.Windows[Span]{{Span: 7 * time.Second}, {Requests: 30}} {
		f := newFake(2, 2, func(_, request int) Access {
			return Access{Rows: 4, MissedRows: int64(request % 3), KVHit: request%2 == 0}
		})
		f.ratio = func(node int, w *hlem.Window) float64 { return 0.4 + 0.1*float64(node) }
		c := settings(plain())
		c.Best = func(l hlem.Load, least, most float64) float64 { return 0.7 }
		arrived, ended, started := 0, 0, 0
		last := Span{}
		by.End = func(s Span) error {
			if s.Ends <= last.Ends && by.Span > 0 || s.Arrived < last.Arrived {
				t.Errorf("a window ends at %v after %v", s.Ends, last.Ends)
			}
			if s.All.Requests != s.Nodes[0].Requests+s.Nodes[1].Requests {
				t.Errorf("%d requests on all nodes, %d and %d on each", s.All.Requests, s.Nodes[0].Requests,
					s.Nodes[1].Requests)
			}
			if !near(s.All.Ratio, 0.45, 1e-9) || !near(s.Nodes[1].Ratio, 0.5, 1e-9) {
				t.Errorf("ratios %v and %v, want 0.45 and 0.5", s.All.Ratio, s.Nodes[1].Ratio)
			}
			if s.All.Best >= 0 && !near(s.All.Best, 0.7, 1e-9) {
				t.Errorf("best ratio %v", s.All.Best)
			}
			arrived, ended, started = arrived+s.All.Requests, ended+s.All.Ended, started+s.All.Started
			last = Span{Arrived: s.Arrived, Ends: s.Ends}
			return nil
		}
		c.Windows = by
		mustRun(t, poisson(500, 2.5, 5), f, c)
		if arrived != 500 || ended != 500 || started != 500 || last.Arrived != 500 {
			t.Errorf("%+v: %d arrived, %d started, %d ended, want 500", by.Requests, arrived, started, ended)
		}
	}
}

// TestIdleTimeCostsNothing: a request a year. Reports and epochs in which nothing happens are skipped.
func TestIdleTimeCostsNothing(t *testing.T) {
	f := newFake(2, 1, func(int, int) Access { return missing(1) })
	year := 365 * 24 * time.Hour.Seconds()
	r := mustRun(t, requestsAt(0, year, 2*year, 2*year+1, 20*year), f, settings(plain()))
	if r.Events > 200 {
		t.Errorf("%d events for 5 requests", r.Events)
	}
	if want := 2 * (1 + 3); len(f.windows) != want { // before the first request, and after each epoch but the last
		t.Errorf("%d windows, want %d", len(f.windows), want)
	}
	if r.Windows != 6 {
		t.Errorf("%d windows count, want 6", r.Windows)
	}
}

// TestOverloadEnds: twice as many requests as can be served all end, and every window is one in which the nodes fall
// behind.
func TestOverloadEnds(t *testing.T) {
	f := newFake(1, 2, func(int, int) Access { return missing(1) })
	r := mustRun(t, poisson(2000, 4, 9), f, settings(plain()))
	if r.Requests != 2000 || r.Unstable != r.Windows || r.Windows < 50 {
		t.Errorf("%d requests, %d of %d windows unstable", r.Requests, r.Unstable, r.Windows)
	}
	if !near(r.Seconds, 1000, 0.01) {
		t.Errorf("%v s, want 1000", r.Seconds)
	}
}

func TestEndOfTime(t *testing.T) {
	costs := plain()
	costs.PCIe = 1e-9
	f := newFake(1, 1, func(int, int) Access { return missing(1) })
	if _, err := Run(t.Context(), requestsAt(0, 1), f, settings(costs)); err == nil {
		t.Error("a transfer of 30 000 years has an end")
	}
}

// TestFewRequestsShareTheirP99: nodes with fewer than 1000 requests in a window get the P99 of all nodes.
func TestFewRequestsShareTheirP99(t *testing.T) {
	f := newFake(2, 4, func(node, _ int) Access { return missing(1 + int64(node)) })
	c := settings(plain())
	c.Route.Kind = route.Hash
	mustRun(t, poisson(40, 4, 9), f, c)
	for i, w := range f.windows[2:] {
		if w.P99 < 2 {
			t.Errorf("window %d of node %d has the P99 %v, want that of all nodes", i, f.windowNode[i+2], w.P99)
		}
	}
}

func TestPrefetchIsForTheNextRequest(t *testing.T) {
	f := newFake(1, 1, func(int, int) Access { return missing(1) })
	c := settings(plain())
	c.Prefetch, c.Accuracy = 0.2, 0.8
	r := mustRun(t, requestsAt(0, 0.1, 0.2, 5, 9), f, c)
	if want := []int{1, 2}; !slices.Equal(f.prefetched, want) {
		t.Errorf("prefetched for %v, want %v: the others do not wait", f.prefetched, want)
	}
	if r.Prefetched != 0 { // computing takes no time, so nothing fits
		t.Errorf("%d bytes", r.Prefetched)
	}
}

// TestPrefetchTakesWhatMissesLeave: the first request transfers 1000 bytes in a second and then computes for a second,
// in which 0.8 of the 1000 bytes per second are free, less the mean of the misses: 10 000 bytes per second in the first
// tenth, and 9 tenths of decay since.
func TestPrefetchTakesWhatMissesLeave(t *testing.T) {
	f := newFake(1, 1, func(int, int) Access { return missing(1) })
	c := settings(plain())
	c.Costs.FLOPS = 12 // one token is 12 operations
	c.Prefetch, c.Accuracy = 0.2, 0.8
	r := mustRun(t, requestsAt(0, 0.1), f, c)
	free := 800 - 10000*(1-math.Exp(-1))*math.Exp(-9)
	if want := int64(free) / 2; r.Prefetched != want { // the cache loads half of what it may
		t.Errorf("%d bytes are prefetched, want %d", r.Prefetched, want)
	}
	if r.Refill != 0 || r.Missed != 2000 {
		t.Errorf("%d bytes of refill and %d of misses, want 0 and 2000", r.Refill, r.Missed)
	}
}

// TestEpochsInWhichNothingEnds: requests of 6 s that arrive at 0, 4, 11 and 14 end at 6, 12, 18 and 24. In the first
// epoch nothing ends, so that it has no P99, which is not 0.
func TestEpochsInWhichNothingEnds(t *testing.T) {
	f := newFake(1, 1, func(int, int) Access { return missing(6) })
	r := mustRun(t, requestsAt(0, 4, 11, 14), f, settings(plain()))
	if r.Windows != 3 || r.Ended != 2 || !near(r.WindowP99, 6+8, 1e-9) {
		t.Errorf("%d windows, %d of them with a P99, in sum %v; want 3, 2 and 14 s", r.Windows, r.Ended, r.WindowP99)
	}
}

func TestForecasts(t *testing.T) {
	f := newFake(2, 1, func(int, int) Access { return missing(0) })
	f.now, f.next = true, true
	c := settings(plain())
	c.Forecast = func(l hlem.Load) hlem.Forecast { return known{l} }
	mustRun(t, requestsAt(0, 1, 2, 6, 7, 30, 31), f, c)
	load := func(f hlem.Forecast) hlem.Load {
		if f == nil {
			return hlem.Load{}
		}
		return f.(known).l
	}
	// Per epoch, the rate of the next one on a node: 3 requests in 5 s on 2 nodes, then 2, then the 2 after the pause.
	for i, want := range []float64{0.3, 0.3, 0.2, 0.2, 0.2, 0.2} {
		if got := load(f.windows[i].Next).Rate; !near(got, want, 1e-9) {
			t.Errorf("window %d: the next rate is %v, want %v", i, got, want)
		}
	}
	if now := load(f.windows[2].Forecast); now.Rate*5 != float64(int(now.Rate*5+0.5)) || now.MeanTokens != 1 {
		t.Errorf("load %+v", now)
	}
}

// known is a forecast that says which load it is of.
type known struct{ l hlem.Load }

func (known) P99(float64) float64              { return 0 }
func (known) Hits(float64) (emb, kv float64)   { return 0, 0 }
func (known) Best(least, _, _ float64) float64 { return least }

// TestBestWithinBounds: the best ratio is one within the bounds of the cache, also in the epoch that the end of the run
// cuts off.
func TestBestWithinBounds(t *testing.T) {
	f := newFake(1, 1, func(int, int) Access { return missing(1) })
	f.ratio = func(_ int, w *hlem.Window) float64 {
		w.Least, w.Most = 0.3, 0.5
		return 0.4
	}
	c := settings(plain())
	asked := 0
	c.Best = func(_ hlem.Load, least, most float64) float64 {
		if asked++; least != 0.3 || most != 0.5 {
			t.Errorf("call %d: the best ratio from %v to %v is searched, want 0.3 to 0.5", asked, least, most)
		}
		return most
	}
	if r := mustRun(t, requestsAt(0, 1, 6, 9), f, c); asked != 2 || r.Bests.Most != 0.5 {
		t.Errorf("%d searches, the largest best ratio is %v; want 2 and 0.5", asked, r.Bests.Most)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	rng := rand.New(rand.NewPCG(1, 1))
	var all []float64
	for range 20000 {
		v := time.Duration(math.Exp(rng.Float64() * 40))
		h.add(v)
		all = append(all, v.Seconds())
	}
	slices.Sort(all)
	for _, p := range []int64{1, 50, 95, 99, 100} {
		exact := all[(len(all)*int(p)+99)/100-1]
		if got := h.rank(p); got < exact || got > exact*(1+1e-3) {
			t.Errorf("the %dth percentile is %v, want %v", p, got, exact)
		}
	}
	for _, v := range []uint64{0, 1, 2047, 2048, 2049, 1 << 40, math.MaxInt64} {
		if b := bucket(v); largest(b) < v || b > 0 && largest(b-1) >= v {
			t.Errorf("%d is in bucket %d, up to %d", v, b, largest(b))
		}
	}
}

// BenchmarkRun is the model by itself, without the work of a cache: four nodes of 8 GPUs at 80%.
func BenchmarkRun(b *testing.B) {
	costs := plain()
	costs.PCIe = 1e6
	r := poisson(100000, 1600, 1)
	c := settings(costs)
	c.Route.Kind = route.Joint
	events := int64(0)
	for b.Loop() {
		f := newFake(4, 8, func(int, int) Access { return missing(16) })
		f.quiet = true
		result := must.Get(Run(b.Context(), r, f, c))(b)
		events += result.Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
