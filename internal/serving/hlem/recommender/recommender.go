package recommender

import (
	"context"
	"errors"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/route"
)

// ReportEvery is the time between two reports of the nodes to the router, at which refill rates are set, too.
const ReportEvery = 100 * time.Millisecond

// fewest is how many requests a node must have served in an epoch for a P99 of its own. With fewer, its allocator gets
// the P99 of all nodes. Windows of a series have the P99 of what was served in them, however few that is.
const fewest = 1000

// Requests are what users request.
type Requests struct {
	Users  []uint32
	Times  []time.Duration // since the first one, never decreasing
	Tokens []int32         // lengths of the sequences
	Hot    func(request int) bool
	Turned func(request int) bool // it is of the other turn of its population
}

// Config is the environment of a run.
type Config struct {
	Costs     hlem.Costs
	Objective hlem.Objective // Epoch is a multiple of ReportEvery
	Refill    hlem.Refill
	// Prefetch is the share of the shards of the next waiting request that a GPU loads while it computes, from a list of
	// the given accuracy; 0: nothing is prefetched.
	Prefetch, Accuracy float64
	Route              route.RecommenderConfig
	// Forecast predicts from a load, Best returns the best ratio for it; they may be nil.
	Forecast func(l hlem.Load) hlem.Forecast
	Best     func(l hlem.Load, least, most float64) float64
	// Warmup is the number of requests at the start that do not count. EndWarmup is called when they have arrived.
	Warmup    int
	EndWarmup func()
	Windows   event.Windows[Span]
}

// Span is what happened in a window: on all nodes, and on each of them. It is valid during the call only.
type Span struct {
	Arrived int           // requests since the start
	Ends    time.Duration // since the start
	All     Measured
	Nodes   []Measured
}

// Run serves all requests. It stops early with ctx's error, or an error of a series.
func Run(ctx context.Context, r Requests, cache Cache, c Config) (*Result, error) {
	m := newModel(r, cache, c)
	m.begin()
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	return m.finish()
}

type model struct {
	Config
	Requests
	cache  Cache
	router *route.Recommender
	gpus   int

	agenda event.Agenda[happening]
	nodes  []node
	jobs   []job
	free   []int32 // of jobs
	next   int     // the next request to arrive
	busy   int     // requests that run or wait
	events int64

	tick, lastTick time.Duration // the next report, and the previous one
	epochEnd       time.Duration
	active         bool      // something has arrived or ended in this epoch
	forecast       [2]bool   // the allocator needs a forecast of this epoch, of the next one
	least, most    float64   // bounds of ratios
	merged         []float64 // a buffer
	lengthsBuffer  []int32   // likewise
	told           []float64 // likewise

	counting   bool
	windowFrom time.Duration // epochs that begin before do not count
	counted    counts
	latencies  histogram

	series            []tally // per node, since the last end of a window of the series
	spanFrom, spanEnd time.Duration
	err               error
}

// happening is an event: a request on a GPU starts to compute, or ends.
type happening struct {
	job  int32
	ends bool
}

// job is a request that a GPU serves.
type job struct {
	node, request     int32
	transfer, compute float64 // seconds
}

func newModel(r Requests, cache Cache, c Config) *model {
	m := &model{Config: c, Requests: r, cache: cache, gpus: cache.GPUs()}
	cache.UseCosts(c.Costs)
	m.Route.Nodes = cache.Nodes()
	m.router = route.NewRecommender(m.Route, cache)
	m.nodes = make([]node, cache.Nodes())
	for i := range m.nodes {
		m.nodes[i].idle = m.gpus
	}
	m.forecast[0], m.forecast[1] = cache.Forecasts()
	if c.Windows.End != nil {
		m.series = make([]tally, len(m.nodes))
	}
	m.spanEnd = c.Windows.Span
	m.epochEnd = c.Objective.Epoch
	return m
}

func (m *model) begin() {
	next := m.nextLoad()
	for i := range m.nodes {
		w := hlem.Window{Objective: m.Objective}
		m.forecastFor(&w, hlem.Load{}, next)
		m.nodes[i].ratio = m.decide(i, &w)
		m.cache.Report(i)
		m.setRefill(i)
	}
	m.tick = m.nextTick(0)
	if m.Warmup == 0 {
		m.endWarmup()
	}
}

// contextEvery is the number of events between two checks of the context.
const contextEvery = 1 << 8

// run runs events until all requests are served. At equal times reports come first, then what happens on GPUs, then
// arrivals.
func (m *model) run(ctx context.Context) error {
	for ; m.busy > 0 || m.next < len(m.Times); m.events++ {
		if m.events%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		when, scheduled := m.agenda.Next()
		arrives := m.next < len(m.Times) && (!scheduled || m.Times[m.next] < when)
		if arrives {
			when = m.Times[m.next]
		}
		if when == endOfTime {
			return errors.New("the simulated time exceeds 292 years; use a trace with shorter times, or a higher rate")
		}
		if m.tick <= when {
			when = m.tick
			if err := m.endSpans(when, true); err != nil {
				return err
			}
			m.report(when)
			continue
		}
		if err := m.endSpans(when, false); err != nil {
			return err
		}
		if arrives {
			m.agenda.Advance(when)
			m.arrive()
		} else {
			m.happen(m.agenda.Pop())
		}
		if m.err != nil {
			return m.err
		}
	}
	return nil
}

const endOfTime time.Duration = 1<<63 - 1

// arrive routes the next request to a node.
func (m *model) arrive() {
	if m.next == m.Warmup && !m.counting {
		m.endWarmup()
	}
	request := int32(m.next)
	m.next++
	user := m.Users[request]
	i, score := m.router.Route(user)
	hot, turned := m.Hot(int(request)), m.Turned(int(request))
	n := &m.nodes[i]
	n.epoch.arrive(m.Tokens[request], hot, turned)
	m.active = true
	m.busy++
	if m.series != nil {
		m.series[i].arrive(m.Tokens[request], hot, turned)
	}
	if m.counts(request) {
		m.counted.Requests++
		m.counted.Score += score
	}
	if n.idle > 0 {
		n.idle--
		m.start(i, request)
	} else {
		n.waiting.push(request)
	}
	if m.Windows.EndWith(int64(m.next)) {
		m.err = m.endSpan(m.agenda.Now())
	}
}

// counts reports whether a request came after the warm-up.
func (m *model) counts(request int32) bool { return int(request) >= m.Warmup }

// start serves a request on a GPU of a node. Rows are transferred at the rate that refill leaves now.
func (m *model) start(i int, request int32) {
	n, now := &m.nodes[i], m.agenda.Now()
	access := m.cache.Start(i, int(request), now)
	c, tokens := m.Costs, float64(m.Tokens[request])
	slot := m.slot()
	m.jobs[slot] = job{node: int32(i), request: request,
		transfer: c.Transfer(float64(access.MissedRows), float64(access.RemoteRows), c.PCIe-n.refill),
		compute:  c.Compute(tokens, access.KVHit)}
	j := &m.jobs[slot]
	bytes := access.MissedRows * int64(c.RowBytes)
	n.missed += bytes
	n.epoch.start(access, bytes)
	if m.series != nil {
		m.series[i].start(access, bytes)
	}
	if m.counts(request) {
		m.counted.add(access, bytes)
		m.counted.Busy += c.Overhead() + j.transfer + j.compute
		m.counted.Transfer += j.transfer
		m.counted.Compute += j.compute
		m.counted.Waiting += (now - m.Times[request]).Seconds()
	}
	loaded := event.Sum(now, event.Span(1e9*(c.Overhead()+j.transfer)))
	ends := event.Sum(loaded, event.Span(1e9*j.compute))
	if m.Prefetch > 0 {
		m.agenda.At(loaded, happening{job: slot})
	}
	m.agenda.At(ends, happening{job: slot, ends: true})
}

func (m *model) slot() int32 {
	if k := len(m.free); k > 0 {
		slot := m.free[k-1]
		m.free = m.free[:k-1]
		return slot
	}
	m.jobs = append(m.jobs, job{})
	return int32(len(m.jobs) - 1)
}

// happen runs an event of a GPU.
func (m *model) happen(e happening) {
	if !e.ends {
		m.prefetch(&m.jobs[e.job])
		return
	}
	j := m.jobs[e.job]
	m.free = append(m.free, e.job)
	m.cache.Finish(int(j.node), int(j.request))
	took := m.agenda.Now() - m.Times[j.request]
	n := &m.nodes[j.node]
	n.epoch.end(took, m.Objective.Latency)
	n.slow = append(n.slow, served{took.Seconds(), j.transfer, j.compute})
	if m.series != nil {
		s := &m.series[j.node]
		s.end(took, m.Objective.Latency)
		s.latencies = append(s.latencies, took.Seconds())
	}
	if m.counts(j.request) {
		m.latencies.add(took)
		m.counted.inOrder.Latencies = append(m.counted.inOrder.Latencies, took.Seconds())
		m.counted.end(took, m.Objective.Latency)
		m.counted.ended = m.agenda.Now()
	}
	m.active = true
	m.busy--
	if request, ok := n.waiting.pop(); ok {
		m.start(int(j.node), request)
	} else {
		n.idle++
	}
}

func (m *model) endWarmup() {
	m.counting = true
	m.counted.begins = m.agenda.Now()
	m.windowFrom = m.agenda.Now()
	m.counted.inOrder.Latencies = make([]float64, 0, len(m.Times)-m.next)
	if m.EndWarmup != nil {
		m.EndWarmup()
	}
}

func (m *model) finish() (*Result, error) {
	if !m.counting {
		m.endWarmup()
	}
	m.lastWindow()
	if m.Windows.Open(int64(m.next)) {
		if err := m.endSpan(max(m.spanEnd, m.agenda.Now())); err != nil {
			return nil, err
		}
	}
	return m.result(), nil
}
