package recommender

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/route"
	"pgregory.net/rapid"
)

// twin is the model without any cleverness: everything is in lists that are searched, and time goes from one report to
// the next.
type twin struct {
	Config
	r        Requests
	f        *fake
	router   *route.Recommender
	nodes    []twinNode
	now      time.Duration
	next     int
	since    time.Duration   // the last report
	eventful bool            // something has happened since then
	done     []time.Duration // per request: when it ended
	starts   []started
	window   []twinWindow
}

type twinNode struct {
	waiting            []int
	running            []twinJob
	ratio              float64
	refill, owed, mean float64
	missed             int64
}

type twinJob struct {
	request int
	ends    time.Duration
	order   int
}

// twinWindow is what an epoch of a node is to measure.
type twinWindow struct {
	node             int
	requests         int
	rate, hot, ratio float64
	mean, kv, emb    float64
}

// epochCounts are those of the requests in an epoch.
type epochCounts struct {
	arrived, hot, started, hits, ended int
	rows, missed                       int64
	sum                                float64
}

func (w *twin) run() {
	w.nodes = make([]twinNode, w.f.nodes)
	w.Route.Nodes = w.f.nodes
	w.router = route.NewRecommender(w.Route, w.f)
	w.done = make([]time.Duration, len(w.r.Times))
	for i := range w.nodes {
		w.nodes[i].ratio = w.f.Epoch(i, &hlem.Window{})
		w.setRefill(i)
	}
	counts := make([]epochCounts, len(w.nodes))
	order := 0
	start := func(i, request int) {
		n := &w.nodes[i]
		a := w.f.Start(i, request, w.now)
		w.starts = append(w.starts, started{request, i, w.now})
		c := w.Costs
		transfer := c.Transfer(float64(a.MissedRows), float64(a.RemoteRows), c.PCIe-n.refill)
		compute := c.Compute(float64(w.r.Tokens[request]), a.KVHit)
		ends := w.now + time.Duration(1e9*(c.Overhead()+transfer)) + time.Duration(1e9*compute)
		n.running = append(n.running, twinJob{request, ends, order})
		order++
		n.missed += a.MissedRows * int64(c.RowBytes)
		k := &counts[i]
		k.started++
		if a.KVHit {
			k.hits++
		}
		k.rows, k.missed = k.rows+a.Rows, k.missed+a.MissedRows
	}
	for tick := ReportEvery; ; tick += ReportEvery {
		for { // what happens before the report
			node, at := -1, -1
			when := time.Duration(math.MaxInt64)
			first := 0
			for i := range w.nodes {
				for j, job := range w.nodes[i].running {
					if job.ends < when || job.ends == when && job.order < first {
						node, at, when, first = i, j, job.ends, job.order
					}
				}
			}
			arrives := w.next < len(w.r.Times) && w.r.Times[w.next] < when
			if arrives {
				when = w.r.Times[w.next]
			}
			if when >= tick {
				break
			}
			w.now, w.eventful = when, true
			if arrives {
				request := w.next
				w.next++
				i, _ := w.router.Route(w.r.Users[request])
				counts[i].arrived++
				if w.r.Hot(int(request)) {
					counts[i].hot++
				}
				if len(w.nodes[i].running) < w.f.gpus {
					start(i, request)
				} else {
					w.nodes[i].waiting = append(w.nodes[i].waiting, request)
				}
				continue
			}
			n := &w.nodes[node]
			request := n.running[at].request
			n.running = slices.Delete(n.running, at, at+1)
			w.f.Finish(node, request)
			w.done[request] = w.now
			counts[node].ended++
			counts[node].sum += (w.now - w.r.Times[request]).Seconds()
			if len(n.waiting) > 0 {
				request, n.waiting = n.waiting[0], n.waiting[1:]
				start(node, request)
			}
		}
		if w.over() {
			return
		}
		w.now = tick
		if w.skips(tick, counts) {
			continue
		}
		w.report(tick, counts)
	}
}

func (w *twin) over() bool {
	for i := range w.nodes {
		if len(w.nodes[i].running) > 0 {
			return false
		}
	}
	return w.next == len(w.r.Times)
}

// skips reports whether a report is skipped: nothing has happened since the previous one, or nothing since the one
// before until the next event, and no epoch ends in which something has happened.
func (w *twin) skips(tick time.Duration, counts []epochCounts) bool {
	soon := w.eventful
	for i := range w.nodes {
		for _, job := range w.nodes[i].running {
			soon = soon || job.ends < tick+ReportEvery
		}
	}
	if w.next < len(w.r.Times) {
		soon = soon || w.r.Times[w.next] < tick+ReportEvery
	}
	for _, c := range counts {
		if tick%w.Objective.Epoch == 0 && (c.arrived > 0 || c.ended > 0) {
			soon = true
		}
	}
	return !soon
}

func (w *twin) report(tick time.Duration, counts []epochCounts) {
	seconds := (tick - w.since).Seconds()
	active := false
	for i := range w.nodes {
		n := &w.nodes[i]
		active = active || counts[i].arrived > 0 || counts[i].ended > 0
		if n.refill > 0 {
			n.owed += n.refill * float64(w.f.gpus) * seconds
			bytes := w.f.Refill(i, int64(n.owed))
			if n.owed = max(0, n.owed-float64(bytes)); w.f.missing[i] == 0 {
				n.owed = 0
			}
		}
		rate := float64(n.missed) / seconds / float64(w.f.gpus)
		n.mean = rate + math.Exp(-math.Round(seconds/0.1))*(n.mean-rate)
		n.missed = 0
	}
	if tick%w.Objective.Epoch == 0 {
		for i := range w.nodes {
			c, n, length := &counts[i], &w.nodes[i], w.Objective.Epoch.Seconds()
			if active {
				share := func(a, b int) float64 { return float64(a) / float64(max(1, b)) }
				w.window = append(w.window, twinWindow{i, c.ended, float64(c.arrived) / length, share(c.hot, c.arrived),
					n.ratio, c.sum / float64(max(1, c.ended)), share(c.hits, c.started),
					share(int(c.rows-c.missed), int(c.rows))})
				n.ratio = w.f.Epoch(i, &hlem.Window{Requests: c.ended})
			}
			*c = epochCounts{}
		}
	}
	for i := range w.nodes {
		w.setRefill(i)
		w.f.Report(i)
		w.router.Report(i, len(w.nodes[i].running)+len(w.nodes[i].waiting))
	}
	w.since, w.eventful = tick, false
}

func (w *twin) setRefill(i int) {
	n := &w.nodes[i]
	n.refill = 0
	if missing := float64(w.f.missing[i]); missing > 0 && w.Refill != hlem.Off {
		n.refill = w.Costs.PCIe / 2
		if w.Refill == hlem.Throttled {
			n.refill = max(0, min(3.2e9, 0.8*w.Costs.PCIe-n.mean))
		}
		n.refill = min(n.refill, missing/0.1/float64(w.f.gpus))
	}
}

// TestAgainstNaive compares starts, ends, windows and refills with the naive twin.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		costs := plain()
		costs.PCIe, costs.RowBytes, costs.Base = 25e9, 1e6, 1e-3
		c := settings(costs)
		c.Objective.Epoch = time.Duration(rapid.IntRange(1, 12).Draw(t, "epoch")) * ReportEvery
		c.Refill = rapid.SampledFrom([]hlem.Refill{hlem.Throttled, hlem.Naive, hlem.Off}).Draw(t, "refill")
		c.Route.Kind = route.Recommended(rapid.SampledFrom(route.Recommenders()).Draw(t, "router"))
		c.Route.Sent = rapid.Bool().Draw(t, "sent")
		c.Route.Capacity = rapid.IntRange(1, 8).Draw(t, "capacity")
		c.Route.Users = 5
		nodes, gpus := rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.IntRange(1, 3).Draw(t, "gpus")
		r := requestsAt()
		r.Hot = func(request int) bool { return r.Users[request] < 2 }
		at := time.Duration(0)
		n := rapid.IntRange(1, 60).Draw(t, "requests")
		// Odd numbers of nanoseconds: nothing happens at the time of a report.
		for range n {
			gap := rapid.SampledFrom([]int{1, 2_000_001, 30_000_003, 250_000_001, 3_000_000_001}).Draw(t, "gap")
			at += time.Duration(gap)
			r.Times = append(r.Times, at)
			r.Users = append(r.Users, uint32(rapid.IntRange(0, 4).Draw(t, "user")))
			r.Tokens = append(r.Tokens, 1)
		}
		rows := rapid.SliceOfN(rapid.Int64Range(0, 5000), n, n).Draw(t, "rows")
		build := func() *fake {
			f := newFake(nodes, gpus, func(_, request int) Access {
				return Access{Rows: 5000, MissedRows: rows[request], RemoteRows: rows[request] / 2,
					KVHit: rows[request]%2 == 0}
			})
			f.user = func(request int) uint32 { return r.Users[request] }
			f.shard, f.grown = 1<<20, 3e9
			f.ratio = func(node int, w *hlem.Window) float64 { return 0.1 + float64(w.Requests%7)/10 }
			return f
		}
		f, g := build(), build()
		must.Get(Run(t.Context(), r, f, c))(t)
		w := &twin{Config: c, r: r, f: g}
		w.run()
		if !slices.Equal(f.starts, w.starts) {
			t.Fatalf("starts\n%v, want\n%v", f.starts, w.starts)
		}
		if !slices.Equal(f.refills, g.refills) {
			t.Fatalf("refills\n%v, want\n%v", f.refills, g.refills)
		}
		got := f.windows[nodes:]
		if len(got) != len(w.window) {
			t.Fatalf("%d windows, want %d", len(got), len(w.window))
		}
		for i, want := range w.window {
			g := got[i]
			if f.windowNode[nodes+i] != want.node || g.Requests != want.requests || !near(g.Rate, want.rate, 1e-9) ||
				!near(g.HotShare, want.hot, 1e-9) || g.Ratio != want.ratio || !near(g.Mean, want.mean, 1e-9) ||
				!near(g.KVHit, want.kv, 1e-9) || !near(g.EMBHit, want.emb, 1e-9) {
				t.Fatalf("window %d of node %d is %+v, want %+v", i, f.windowNode[nodes+i], g, want)
			}
		}
	})
}

// TestSameTwice: two runs of the same requests measure the same, bit by bit.
func TestSameTwice(t *testing.T) {
	run := func() *Result {
		f := newFake(3, 2, func(_, request int) Access { return missing(int64(request * 7919 % 900)) })
		f.grown = 1e9
		costs := plain()
		costs.PCIe = 1e6
		c := settings(costs)
		c.Warmup = 100
		return mustRun(t, poisson(5000, 12, 3), f, c)
	}
	if a, b := run(), run(); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v, then %+v", a, b)
	}
}
