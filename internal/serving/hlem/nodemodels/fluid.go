package nodemodels

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"
	"weak"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/fluid"
	"github.com/cachesim/cachesim/internal/serving/hlem/pools"
	"github.com/cachesim/cachesim/internal/serving/hlem/recommender"
	"github.com/cachesim/cachesim/internal/traces"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
)

var fluidEntry = models.Entry{
	Name: "fluid",
	Summary: "nodes that serve recommendations, as recommender, but without simulating a request: hit ratios by Che's " +
		"approximation, queues by formulas; nodes share requests equally; throughput counts requests",
	Source: "Che, Tung and Wang, IEEE JSAC 2002; Allen-Cunneen approximation of M/G/c; docs/models.md",
	Cache:  "pools",
	Drives: true, Approximates: true,
	Params: append([]params.Param{
		refillParam, rateParam,
		{Name: "optimum", Default: true, Doc: "the best ratio of each epoch is computed"},
	}, servingParams...),
	Metrics: servingMetrics,
	Needs:   func(params.Values) traces.Needs { return traces.Needs{Times: true, Kind: true} },
	Check:   func(v params.Values, t *traces.Trace) error { return checkServing("fluid", v, t) },
	Run:     runFluid,
}

// nodeModel returns the fluid model of a node that serves its share of the requests. Its population is the one that
// they were drawn from or, for requests of a log, what they show.
func nodeModel(columns *recommended.Columns, costs hlem.Costs, c *pools.Cache) *fluid.Model {
	gpus := c.GPUs()
	memory := c.Memory() / int64(gpus)
	if columns.Population == nil {
		key := measuredKey{weak.Make(columns), costs, c.Nodes(), c.Hosts(), gpus, memory}
		return measured.Model(key, func() *fluid.Model { return measure(columns, key) })
	}
	p := *columns.Population
	p.Users = max(2, p.Users*p.Nodes/c.Nodes())
	p.Nodes = c.Hosts()
	p.Layers = 0 // the costs say for which model
	return fluid.NewCached(p, costs, gpus, memory)
}

// loadOf returns a load as the model of the trace's nodes needs it. In a population, users keep their lengths: the mean
// of an epoch tells which of the most frequent users came, who hit, and not how much work the others bring.
func loadOf(columns *recommended.Columns, l hlem.Load) hlem.Load {
	if columns.Population != nil {
		l.MeanTokens = 0
	}
	return l
}

// measured are the models of the last traces, since many cells replay the same one.
var measured = fluid.Kept[measuredKey]{Most: 8}

type measuredKey struct {
	of                 weak.Pointer[recommended.Columns] // weak, so that the trace can be freed
	costs              hlem.Costs
	nodes, hosts, gpus int
	memory             int64
}

// measure returns the model of the requests of a log.
func measure(columns *recommended.Columns, k measuredKey) *fluid.Model {
	var read []recommended.Lookup
	return fluid.Measure(fluid.Trace{
		Users: columns.Users, Tokens: columns.Tokens, Hot: columns.Hot, Shards: columns.Shards,
		ShardRows: columns.ShardRows, Nodes: k.nodes, Hosts: k.hosts,
		Read: func(request int, yield func(shard, rows uint32)) {
			read = columns.Lookups(request, read[:0])
			for _, l := range read {
				yield(l.Shard, l.Rows)
			}
		},
	}, k.costs, k.gpus, k.memory)
}

func runFluid(ctx context.Context, c models.Config) (metric.Values, error) {
	cache, ok := c.Cache.(*pools.Cache)
	if !ok {
		return metric.Values{}, fmt.Errorf("model fluid: a cache of type %T has no nodes", c.Cache)
	}
	now, next := cache.Forecasts()
	columns, v := recommended.Of(c.Trace.Kind), c.Params
	costs := costsOf(v, columns)
	cache.UseCosts(costs)
	r := &fluidRun{Config: c, cache: cache, objective: objectiveOf(v), now: now, next: next,
		optimum: v.Bool("optimum"), nodes: make([]*fluid.Node, cache.Nodes()),
		windows: make([]hlem.Window, cache.Nodes()), rows: make([]float64, cache.Nodes()),
		ratios: make([]float64, cache.Nodes()), spans: make([]fluidSums, cache.Nodes()),
		counted: make([]counted, cache.Nodes())}
	r.model = nodeModel(columns, costs, cache).With(r.objective)
	r.epochs = epochsOf(columns, arrivalsOf(c.Trace, v.Float("rate")), r.objective.Epoch, cache.Nodes())
	for i := range r.nodes {
		r.nodes[i] = r.model.NewNode()
		r.nodes[i].Refill = hlem.Refill(v.Text("refill"))
	}
	if err := r.run(ctx); err != nil {
		return metric.Values{}, err
	}
	return r.values(), nil
}

type fluidEpoch struct {
	begins, ends time.Duration
	passes       time.Duration // until the next epoch, or the last request
	window       bool          // counts as a window
	from, to     int           // requests
	load         hlem.Load     // of a node
}

// epochsOf divides requests into epochs; empty epochs are left out. The last one ends with the last request.
// If less than half of it has passed then, it continues the previous load, and is no window.
func epochsOf(columns *recommended.Columns, times []time.Duration, length time.Duration, nodes int) (all []fluidEpoch) {
	for from := 0; from < len(times); {
		e := fluidEpoch{from: from, to: from}
		e.begins = times[from] - times[from]%length
		e.ends = e.begins + min(length, math.MaxInt64-e.begins)
		hot, tokens, turned := 0, 0, 0
		for ; e.to < len(times) && times[e.to] < e.ends; e.to++ {
			tokens += int(columns.Tokens[e.to])
			if columns.Hot(e.to) {
				hot++
			}
			if columns.Turned(e.to) {
				turned++
			}
		}
		if e.to == from { // the end of the clock
			e.to = len(times)
		}
		n := float64(e.to - e.from)
		e.passes, e.window = length, true
		if e.to == len(times) {
			e.passes = max(1, times[e.to-1]-e.begins)
			e.window = e.passes >= length/2 || len(all) == 0
		}
		if e.passes == 1 && len(all) == 0 { // all at once
			e.passes = length
		}
		e.load = loadOf(columns, hlem.Load{Rate: n / e.passes.Seconds() / float64(nodes), HotShare: float64(hot) / n,
			MeanTokens: float64(tokens) / n, Turned: 2*turned > e.to-e.from})
		if !e.window {
			e.load = all[len(all)-1].load
		}
		all = append(all, e)
		from = e.to
	}
	return all
}

type fluidRun struct {
	models.Config
	cache     *pools.Cache
	model     *fluid.Model
	objective hlem.Objective
	now, next bool // forecasts that the allocator needs
	optimum   bool
	epochs    []fluidEpoch
	nodes     []*fluid.Node
	windows   []hlem.Window // of the last epoch of each node
	rows      []float64     // that a request read in it
	ratios    []float64     // of each node
	counted   []counted     // of each node

	latencies fluid.Latencies
	counting  bool
	begins    time.Duration // when counting starts
	behind    float64       // seconds of work that the last node still had at the end
	total     fluidSums
	inOrder   recommender.InOrder // without latencies
	satisfied []float64           // of each window, the share of the requests within the objective
	moved     float64
	decisions int64
	deciding  time.Duration

	spans  []fluidSums   // of each node since the last window of the series
	idle   time.Duration // since then, between epochs
	passed int64         // windows of requests that have ended
}

// fluidSums are sums over epochs of nodes. What concerns requests is weighted by their number, ratio and busy by
// seconds.
type fluidSums struct {
	seconds, ratio, busy                            float64
	requests, hot, kvHits, rows, rowHits, satisfied float64
	weightedP99, refill, missed, peak               float64
	transfer, compute, waiting                      float64
	windows, p99, maxP99                            float64
	bests                                           hlem.Bests
	unstable                                        int64
}

func (s *fluidSums) add(e *fluid.Epoch, seconds, requests, share float64) {
	seconds, requests = float64(seconds*share), float64(requests*share)
	s.seconds += seconds
	s.requests += requests
	s.hot += float64(requests * e.HotShare)
	s.kvHits += float64(requests * e.KVHit)
	s.rows += float64(requests * e.Rows)
	s.rowHits += float64(requests * e.Rows * e.EMBHit)
	s.satisfied += float64(requests * (1 - e.Violations))
	s.transfer += float64(requests * e.Transfer)
	s.compute += float64(requests * e.Compute)
	s.waiting += float64(requests * e.Waiting)
	s.weightedP99 += float64(requests * e.P99)
	s.refill += float64(share * e.RefillBytes)
	s.missed += float64(share * e.MissBytes)
	s.peak = max(s.peak, e.Link)
	s.ratio += float64(seconds * e.Ratio)
	s.busy += float64(seconds * e.Utilisation)
}

// window counts an epoch as a window, whose best ratio is known unless it is negative.
func (s *fluidSums) window(e *fluid.Epoch, best float64) {
	s.windows++
	s.p99 += e.P99
	s.maxP99 = max(s.maxP99, e.P99)
	if e.Unstable {
		s.unstable++
	}
	if best >= 0 {
		s.bests.Add(e.Ratio, best)
	}
}

// keep keeps what was measured in a window, for batches.
func (r *fluidRun) keep(e *fluid.Epoch, best float64) {
	r.inOrder.P99s = append(r.inOrder.P99s, e.P99)
	r.satisfied = append(r.satisfied, 1-e.Violations)
	if best >= 0 {
		r.inOrder.Gaps = append(r.inOrder.Gaps, math.Abs(e.Ratio-best))
	}
}

// run serves all epochs.
func (r *fluidRun) run(ctx context.Context) error {
	r.decide(0)
	for i := range r.epochs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e := &r.epochs[i]
		r.pass(i)
		r.serve(e)
		if err := r.endWindow(i); err != nil {
			return err
		}
		r.decide(i + 1)
	}
	return nil
}

// count starts to count in the epoch in which the warm-up ends, and says which share of each epoch counts.
func (r *fluidRun) count(e *fluidEpoch) (share float64) {
	share = float64(e.to-max(e.from, min(r.Warmup, e.to))) / float64(e.to-e.from)
	if share > 0 && !r.counting {
		r.counting, r.begins = true, e.begins+time.Duration(float64((1-share)*float64(e.passes)))
	}
	for _, n := range r.nodes {
		if n.Warm = 1 - share; share > 0 {
			n.Latencies = &r.latencies
		}
	}
	return share
}

// pass lets the time pass in which nothing arrives before an epoch.
func (r *fluidRun) pass(epoch int) {
	if epoch == 0 {
		return
	}
	from, to := r.epochs[epoch-1].ends, r.epochs[epoch].begins
	seconds := (to - from).Seconds()
	if span := r.Windows.Span; span > 0 {
		from = max(from, to-to%span)
	}
	r.idle += to - from
	for i, n := range r.nodes {
		bytes := n.Idle(r.ratios[i], seconds)
		r.spans[i].refill += bytes
		if r.counting {
			r.total.refill += bytes
		}
	}
}

// serve serves an epoch on all nodes. Of the one in which the warm-up ends, the requests after it count; it is a window
// only if there would be none otherwise.
func (r *fluidRun) serve(e *fluidEpoch) {
	share := r.count(e)
	last := e.to == len(r.Trace.Objects) && r.total.windows == 0
	window := e.window || last
	best := -1.0
	if r.optimum && window {
		least, most := r.windows[0].Bounds()
		best = r.model.Search(e.load, least, most, ratioStep)
	}
	seconds := e.passes.Seconds()
	r.behind = 0
	for i, n := range r.nodes {
		did := n.RunFor(e.load, r.ratios[i], seconds)
		requests := float64(r.ofNode(i, e.to-e.from))
		r.spans[i].add(&did, seconds, requests, 1)
		if window {
			r.spans[i].window(&did, best)
		}
		if share > 0 {
			r.total.add(&did, seconds, requests, share)
		}
		if share == 1 && window || last {
			r.total.window(&did, best)
			r.keep(&did, best)
		}
		r.behind = max(r.behind, did.Behind)
		r.windows[i], r.rows[i] = did.Window, did.Rows
	}
	if e.from < r.Warmup {
		r.tell(e, min(r.Warmup, e.to)-e.from)
	}
	if e.from <= r.Warmup && r.Warmup < e.to {
		r.EndWarmup()
	}
	if e.to > r.Warmup {
		r.tell(e, e.to-max(e.from, r.Warmup))
	}
}

// ofNode returns how many of some requests a node serves: as evenly as whole numbers allow.
func (r *fluidRun) ofNode(i, requests int) int {
	return requests*(i+1)/len(r.nodes) - requests*i/len(r.nodes)
}

// tell reports some of the requests of an epoch to the cache.
func (r *fluidRun) tell(e *fluidEpoch, requests int) {
	for i := range r.nodes {
		w, so, n := &r.windows[i], &r.counted[i], r.ofNode(i, requests)
		lookups := float64(n) * r.rows[i]
		r.cache.Predict(i, int64(n), so.hits.add(float64(n)*w.KVHit), so.lookups.add(lookups),
			so.lookupHits.add(lookups*w.EMBHit), int64(e.ends))
	}
}

// counted has the whole numbers that the epochs of a node so far count as.
type counted struct{ hits, lookups, lookupHits wholes }

// wholes adds up numbers and counts their sum in whole numbers: rounding each would lose all hits of epochs with few
// requests, or make hits of all of them.
type wholes struct {
	sum  float64
	told int64
}

// add adds a number, and returns by how much the rounded sum grows.
func (w *wholes) add(x float64) int64 {
	w.sum += float64(x)
	before := w.told
	w.told = rounded(w.sum)
	return w.told - before
}

func rounded(x float64) int64 { return int64(math.Round(x)) }

// decide lets the allocator of each node decide after an epoch; before the first one, it has measured nothing.
func (r *fluidRun) decide(next int) {
	for i := range r.nodes {
		w := &r.windows[i]
		w.Objective = r.objective
		if r.now && next > 0 {
			w.Forecast = r.model.Forecast(r.epochs[next-1].load)
		}
		if r.next && next < len(r.epochs) {
			w.Next = r.model.Forecast(r.epochs[next].load)
		}
		was := r.ratios[i]
		r.ratios[i] = r.cache.Epoch(i, w)
		if r.counting {
			r.moved += math.Abs(r.ratios[i] - was)
			r.decisions++
			r.deciding += r.cache.Decision()
		}
	}
}

// endWindow ends a window of the series, if one ends with an epoch. Windows consist of whole epochs: each epoch belongs
// to the window in which it begins, and windows in which none begins have no rows.
func (r *fluidRun) endWindow(epoch int) error {
	if r.Windows.End == nil {
		return nil
	}
	e, last := &r.epochs[epoch], epoch+1 == len(r.epochs)
	w := models.Window{Asked: int64(e.to), Ends: e.ends}
	if span := r.Windows.Span; span > 0 {
		if w.Ends = e.begins - e.begins%span + span; !last && r.epochs[epoch+1].begins < w.Ends {
			return nil
		}
		if !last {
			r.idle += max(0, w.Ends-e.ends)
		}
	} else {
		passed := w.Asked / r.Windows.Requests
		if !last && passed == r.passed {
			return nil
		}
		r.passed = passed
	}
	var all fluidSums
	for i := range r.spans {
		all.merge(&r.spans[i])
	}
	seconds := all.seconds/float64(len(r.nodes)) + r.idle.Seconds()
	r.idle = 0
	addMeasured(&w, "", all.measured(seconds, len(r.nodes)*r.cache.GPUs()))
	for i := range r.spans {
		addMeasured(&w, "node "+strconv.Itoa(i), r.spans[i].measured(seconds, r.cache.GPUs()))
		r.spans[i] = fluidSums{}
	}
	return r.Windows.End(w)
}

// merge adds the sums of another node.
func (s *fluidSums) merge(o *fluidSums) {
	s.seconds += o.seconds
	s.requests += o.requests
	s.hot += o.hot
	s.kvHits += o.kvHits
	s.rows += o.rows
	s.rowHits += o.rowHits
	s.satisfied += o.satisfied
	s.weightedP99 += o.weightedP99
	s.ratio += o.ratio
	s.refill += o.refill
	s.missed += o.missed
	s.bests.Epochs += o.bests.Epochs
	s.bests.Sum += o.bests.Sum
}

// measured returns the sums over some seconds on some GPUs as what was measured. The P99 is the mean of the epochs.
func (s *fluidSums) measured(seconds float64, gpus int) recommender.Measured {
	n := int(math.Round(s.requests))
	m := recommender.Measured{Requests: n, Started: n, Ended: n, Rate: s.requests / seconds,
		Ratio: s.ratio / s.seconds, Best: -1, Refill: s.refill / seconds / float64(gpus),
		Missed: s.missed / seconds / float64(gpus)}
	if s.bests.Epochs > 0 {
		m.Best = s.bests.Sum / float64(s.bests.Epochs)
	}
	if n > 0 {
		m.HotShare, m.KVHit, m.EMBHit = s.hot/s.requests, s.kvHits/s.requests, s.rowHits/s.rows
		m.Satisfied, m.P99 = s.satisfied/s.requests, s.weightedP99/s.requests
	}
	return m
}

func (r *fluidRun) values() (v metric.Values) {
	s, nodes := &r.total, float64(len(r.nodes))
	last := &r.epochs[len(r.epochs)-1]
	seconds := (last.begins + last.passes - r.begins).Seconds()
	if s.requests > 0 {
		percentile := func(share float64) float64 { return 1e3 * r.latencies.Above(1-share) }
		v = models.Latency{Mean: 1e3 * r.latencies.Mean(), P50: percentile(0.50), P95: percentile(0.95),
			P99:        percentile(0.99),
			Throughput: s.requests / (seconds + r.behind)}.Values()
		v.SetQuotient(SLOSatisfied, s.satisfied, s.requests)
		v.SetQuotient(LatencyEMB, 1e3*s.transfer, s.requests)
		v.SetQuotient(LatencyKV, 1e3*s.compute, s.requests)
		v.SetQuotient(LatencyQueue, 1e3*s.waiting, s.requests)
		v.SetQuotient(EMBShare, s.transfer, r.latencies.Mean()*s.requests)
		v.SetQuotient(KVHitRatio, s.kvHits, s.requests)
		v.SetQuotient(EMBHitRatio, s.rowHits, s.rows)
		v.SetQuotient(WindowP99, 1e3*s.p99, s.windows)
		v.SetQuotient(EMBRatio, s.ratio, s.seconds)
		setBests(&v, s.bests)
		v.SetQuotient(NodeUtilisation, s.busy, nodes*seconds)
	}
	setBatches(&v, r.inOrder)
	v.SetBatches(SLOSatisfied, statistics.Batches(r.satisfied, metric.Batches, statistics.Mean))
	if s.windows > 0 {
		v.Set(WindowP99Max, 1e3*s.maxP99)
		v.Set(RatioMoved, r.moved/nodes)
		v.SetInt(UnstableWindows, s.unstable)
	}
	v.SetInt(RefillBytes, rounded(s.refill))
	v.SetInt(MissBytes, rounded(s.missed))
	v.Set(LinkPeak, 1e-9*s.peak)
	v.SetQuotient(DecisionTime, float64(r.deciding), float64(r.decisions))
	return v
}
