package nodemodels

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/pools"
	"github.com/cachesim/cachesim/internal/serving/hlem/recommender"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/traces"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
)

// Where the weights of the router come from.
const (
	weightsProfile = "profile"
	weightsKappa   = "kappa"
	weightsFixed   = "fixed"
)

// fixedWeights are the defaults of the weights that weightsFixed uses.
var fixedWeights = map[string]float64{"w_kv": 0.5, "w_emb": 0.3, "w_load": 0.2}

var recommenderEntry = models.Entry{
	Name: "recommender",
	Summary: "requests to nodes that serve recommendations from GPUs: a router, queues, transfers of embeddings beside " +
		"refill, reuse of keys and values; throughput counts requests",
	Source: "HLEM (arXiv 2605.04450), sections IV and V; constants in docs/models.md",
	Cache:  "pools",
	Drives: true,
	Params: append([]params.Param{
		{Name: "router", Default: string(route.Joint), Choices: route.Recommenders(),
			Doc: "how requests get a node; joint: by KV, embeddings and load; kv, embeddings: by one of them and load; " +
				"least-loaded: by load; hash: a fixed node for each user"},
		{Name: "weights", Default: weightsProfile, Choices: []string{weightsProfile, weightsKappa, weightsFixed},
			Doc: "of the router joint; profile: what misses and waiting cost; kappa: the ratio of computation to " +
				"bandwidth; fixed: w_kv, w_emb and w_load"},
		{Name: "w_kv", Default: fixedWeights["w_kv"], Min: 0, Max: 1e6, Doc: "weight of KV, with weights=fixed"},
		{Name: "w_emb", Default: fixedWeights["w_emb"], Min: 0, Max: 1e6, Doc: "weight of embeddings, with weights=fixed"},
		{Name: "w_load", Default: fixedWeights["w_load"], Min: 0, Max: 1e6, Doc: "weight of a low load, with weights=fixed"},
		scoreParams[0], scoreParams[1],
		{Name: "slots", Default: 3, Min: 1, Max: 1e6,
			Doc: "requests per GPU, running and waiting, at which the load of a node is 1"},
		{Name: "sent", Default: true,
			Doc: "the router adds what it has sent to the loads that the nodes report every 100 ms"},
		refillParam,
		{Name: "prefetch", Default: 0.0, Min: 0, Max: 1,
			Doc: "share of the shards of the next waiting request that a GPU loads while it computes"},
		accuracyParam,
		rateParam,
		{Name: "optimum", Default: true,
			Doc: "the best ratio of each epoch is computed, by the fluid model"},
	}, servingParams...),
	Metrics: append([]metric.Metric{EMBPrefetchBytes, RefillTime,
		metric.InBatches(models.LatencyMean), metric.InBatches(models.LatencyP99)}, servingMetrics...),
	Needs:    func(params.Values) traces.Needs { return traces.Needs{Times: true, Kind: true} },
	Reorders: func(params.Values) bool { return true },
	Check:    checkRecommender,
	Run:      runRecommender,
}

// scoreParams are the parameters of routers that score the nodes.
var scoreParams = []params.Param{
	{Name: "theta", Default: 0.85, Min: 0, Max: 1,
		Doc: "load above which the best node is passed over for the one with the least load"},
	{Name: "bonus", Default: 0.05, Min: 0, Max: 1, Doc: "added to the score of the node of a user's last request"},
}

var refillParam = params.Param{Name: "refill", Default: string(hlem.Throttled),
	Choices: []string{string(hlem.Throttled), string(hlem.Naive), string(hlem.Off)},
	Doc: "how fast embeddings are loaded for which the border has made room; throttled: as fast as misses leave room; " +
		"naive: half of the link; off: by misses only"}

var rateParam = params.Param{Name: "rate", Default: 1.0, Min: 1e-6, Max: 1e6,
	Doc: "requests arrive this many times as fast as in the trace"}

var accuracyParam = params.Param{Name: "accuracy", Default: 0.8, Min: 0, Max: 1,
	Doc: "share of the prefetched shards that are the right ones"}

// servingParams are the constants of the time of a request, for every model of such nodes.
var servingParams = []params.Param{
	{Name: "layers", Default: 0, Min: 0, Max: 1000, Doc: "of the transformer: 3 for ranking, 6 for retrieval; 0: as " +
		"many as a generated trace is meant for, 6 for others"},
	{Name: "scale", Default: 0.8, Min: 1e-6, Max: 1e6, Doc: "factor of all service times"},
	{Name: "pcie_gbs", Default: 25.0, Min: 1e-3, Max: 1e6, Doc: "from the host to a GPU, in 10^9 bytes per second"},
	{Name: "tflops", Default: 312.0, Min: 1e-3, Max: 1e9, Doc: "peak of a GPU, in 10^12 operations per second"},
	{Name: "efficiency", Default: 0.35, Min: 1e-6, Max: 1, Doc: "share of the peak that a GPU reaches"},
	{Name: "hit_share", Default: 0.1, Min: 0, Max: 1, Doc: "share of the computation that is left after a KV hit"},
	{Name: "base_ms", Default: 1.0, Min: 0, Max: 1e6, Doc: "milliseconds of each request in addition"},
	{Name: "remote", Default: 1.2, Min: 1, Max: 1e6,
		Doc: "time of a row from the host of another node, as a multiple of one from its own"},
	{Name: "slo_ms", Default: 30.0, Min: 1e-3, Max: 1e9, Doc: "objective for the P99 latency, in milliseconds"},
	{Name: "epoch_s", Default: 5.0, Min: 0.1, Max: 1e6, Doc: "seconds between two decisions on the ratio of a node"},
}

// costsOf returns the constants of the time of a request of a trace.
func costsOf(v params.Values, columns *recommended.Columns) hlem.Costs {
	c := hlem.DefaultCosts()
	if p := columns.Population; p != nil && p.Layers > 0 {
		c.Layers = p.Layers
	}
	if layers := v.Int("layers"); layers > 0 {
		c.Layers = layers
	}
	c.Scale, c.PCIe = v.Float("scale"), 1e9*v.Float("pcie_gbs")
	c.FLOPS = 1e12 * v.Float("tflops") * v.Float("efficiency")
	c.HitShare, c.Base, c.Remote = v.Float("hit_share"), 1e-3*v.Float("base_ms"), v.Float("remote")
	return c
}

func objectiveOf(v params.Values) hlem.Objective {
	return hlem.Objective{Latency: event.Span(1e6 * v.Float("slo_ms")),
		Epoch: time.Duration(float64(1e9*v.Float("epoch_s")) + 0.5)}
}

// checkServing rejects parameters and traces that no model of serving nodes can use.
func checkServing(model string, v params.Values, t *traces.Trace) error {
	switch {
	case recommended.Of(t.Kind) == nil:
		return fmt.Errorf("model %s: %s has no recommender requests; use cachesim gen recommender, or a log with "+
			"--input-format interactions", model, t.Name)
	case t.Times == nil:
		return fmt.Errorf("model %s: %s has no times, at which its requests arrive; use a trace with times", model, t.Name)
	case t.SampleRate > 0 && t.SampleRate < 1:
		return fmt.Errorf("model %s: a sample of %v of %s loads the nodes with only that part of its requests; use --limit "+
			"instead of --sample", model, t.SampleRate, t.Name)
	}
	return costsOf(v, recommended.Of(t.Kind)).Check()
}

func checkRecommender(v params.Values, t *traces.Trace) error {
	if err := checkServing("recommender", v, t); err != nil {
		return err
	}
	if epoch := objectiveOf(v).Epoch; epoch%recommender.ReportEvery != 0 {
		return fmt.Errorf("model recommender: epoch_s=%v: want a multiple of the 0.1 s between two reports",
			v.Float("epoch_s"))
	}
	for _, name := range []string{"w_kv", "w_emb", "w_load"} {
		if v.Text("weights") != weightsFixed && v.Float(name) != fixedWeights[name] {
			return fmt.Errorf("model recommender: %s=%v has no effect with weights=%s; add weights=fixed, or remove it", name,
				v.Float(name), v.Text("weights"))
		}
	}
	if v.Text("weights") == weightsFixed && v.Float("w_kv")+v.Float("w_emb")+v.Float("w_load") == 0 {
		return errors.New("model recommender: weights=fixed with w_kv, w_emb and w_load of 0; give one of them a value " +
			"above 0")
	}
	if err := checkUsed(v); err != nil {
		return fmt.Errorf("model recommender: %w", err)
	}
	return nil
}

// checkUsed rejects parameters that others make meaningless. The weights always have a meaning: every router's choices
// are reported by the score of joint.
func checkUsed(v params.Values) error {
	switch router := v.Text("router"); route.Recommended(router) {
	case route.LeastLoaded, route.Hash:
		if err := params.NoEffect(scoreParams, v, "router="+router, "router=joint"); err != nil {
			return err
		}
	}
	if v.Float("prefetch") == 0 {
		return params.NoEffect([]params.Param{accuracyParam}, v, "prefetch=0", "prefetch=0.2")
	}
	return nil
}

func runRecommender(ctx context.Context, c models.Config) (metric.Values, error) {
	cache, ok := c.Cache.(*pools.Cache)
	if !ok {
		return metric.Values{}, fmt.Errorf("model recommender: a cache of type %T has no nodes", c.Cache)
	}
	columns, v := recommended.Of(c.Trace.Kind), c.Params
	run := &recommenderRun{Config: c}
	config := recommender.Config{
		Costs: costsOf(v, columns), Objective: objectiveOf(v), Refill: hlem.Refill(v.Text("refill")),
		Prefetch: v.Float("prefetch"), Accuracy: v.Float("accuracy"),
		Warmup: c.Warmup, EndWarmup: c.EndWarmup,
	}
	config.Route = routeOf(v, config.Costs, columns, c.Trace.NumObjects, cache)
	predictFor(&config, columns, cache, v)
	config.Windows = event.Into(c.Windows, run.endWindow)
	arrivals := recommender.Requests{Users: columns.Users, Times: arrivalsOf(c.Trace, v.Float("rate")),
		Tokens: columns.Tokens, Hot: columns.Hot, Turned: columns.Turned}
	result, err := recommender.Run(ctx, arrivals, cache, config)
	if err != nil {
		return metric.Values{}, fmt.Errorf("model recommender: %w", err)
	}
	values := recommenderValues(result, config.Objective)
	if config.Prefetch > 0 {
		values.SetInt(EMBPrefetchBytes, result.Prefetched)
	}
	return values, nil
}

// arrivalsOf returns the arrival times of a trace, sped up by a factor. A time that goes back counts as the previous
// one.
func arrivalsOf(t *traces.Trace, rate float64) []time.Duration {
	times := make([]time.Duration, len(t.Times))
	latest := time.Duration(0)
	for i, at := range t.Times {
		since := time.Duration(at - t.Times[0])
		if rate != 1 {
			since = event.Span(max(0, float64(since)/rate))
		}
		latest = max(latest, since)
		times[i] = latest
	}
	return times
}

// predictFor adds the fluid model to a config, if the optimum or the allocator needs it.
func predictFor(config *recommender.Config, columns *recommended.Columns, cache *pools.Cache, v params.Values) {
	now, next := cache.Forecasts()
	optimum := v.Bool("optimum")
	if !now && !next && !optimum || len(columns.Users) == 0 {
		return
	}
	model := nodeModel(columns, config.Costs, cache)
	if now || next {
		config.Forecast = func(l hlem.Load) hlem.Forecast { return model.Forecast(loadOf(columns, l)) }
	}
	if optimum {
		config.Best = func(l hlem.Load, least, most float64) float64 {
			return model.Search(loadOf(columns, l), least, most, ratioStep)
		}
	}
}

// ratioStep is the step of the grid on which the best ratio is searched.
const ratioStep = 0.01

// profiled is the number of requests from which the weights of a router are profiled.
const profiled = 1000

func routeOf(v params.Values, costs hlem.Costs, columns *recommended.Columns, users int,
	cache *pools.Cache) route.RecommenderConfig {
	c := route.RecommenderConfig{
		Kind: route.Recommended(v.Text("router")), Nodes: cache.Nodes(), Users: users,
		Bonus: v.Float("bonus"), Overload: v.Float("theta"),
		Capacity: v.Int("slots") * cache.GPUs(), Sent: v.Bool("sent"),
	}
	switch v.Text("weights") {
	case weightsFixed:
		c.Weights = route.Weights{KV: v.Float("w_kv"), Embeddings: v.Float("w_emb"), Load: v.Float("w_load")}
	case weightsKappa:
		c.Weights = route.KappaWeights(v.Float("tflops") / v.Float("pcie_gbs"))
	default:
		c.Weights = route.ProfiledWeights(profileOf(columns, cache), costs, c)
	}
	return c
}

// profileOf returns some of the requests, spread evenly over all.
func profileOf(columns *recommended.Columns, cache *pools.Cache) route.Profile {
	p := route.Profile{GPUs: cache.GPUs(), Remote: 1 - 1/float64(cache.Hosts())}
	n := min(profiled, len(columns.Tokens))
	var read []recommended.Lookup
	for i := range n {
		request := int(int64(i) * int64(len(columns.Tokens)) / int64(n))
		p.Tokens = append(p.Tokens, columns.Tokens[request])
		read = columns.Lookups(request, read[:0])
		for _, l := range read {
			p.Rows += float64(l.Rows) / float64(n)
		}
	}
	return p
}

// recommenderRun reports the windows of a series.
type recommenderRun struct{ models.Config }

func (r *recommenderRun) endWindow(s recommender.Span) error {
	w := models.Window{Asked: int64(s.Arrived), Ends: s.Ends}
	addMeasured(&w, "", s.All)
	for i, node := range s.Nodes {
		addMeasured(&w, "node "+strconv.Itoa(i), node)
	}
	return r.Windows.End(w)
}

// addMeasured adds what was measured on some nodes to a window. Without requests there are no ratios of them.
func addMeasured(w *models.Window, label string, m recommender.Measured) {
	w.Add(ArrivalRate, label, m.Rate)
	w.Add(EMBRatio, label, m.Ratio)
	if m.Best >= 0 {
		w.Add(BestRatio, label, m.Best)
	}
	if m.Requests > 0 {
		w.Add(HotShare, label, m.HotShare)
	}
	if m.Started > 0 {
		w.Add(KVHitRatio, label, m.KVHit)
		w.Add(EMBHitRatio, label, m.EMBHit)
	}
	if m.Ended > 0 {
		w.Add(P99, label, 1e3*m.P99)
		w.Add(SLOSatisfied, label, m.Satisfied)
	}
	w.Add(RefillRate, label, 1e-9*m.Refill)
	w.Add(MissRate, label, 1e-9*m.Missed)
}

func recommenderValues(r *recommender.Result, objective hlem.Objective) (v metric.Values) {
	if r.Requests > 0 {
		l := models.Latency{Mean: 1e3 * r.Mean, P50: 1e3 * r.P50, P95: 1e3 * r.P95, P99: 1e3 * r.P99}
		if r.Seconds > 0 {
			l.Throughput = float64(r.Requests) / r.Seconds
		}
		v = l.Values()
	}
	all, windows := float64(r.Requests), float64(r.Windows)
	v.SetQuotient(SLOSatisfied, float64(r.Satisfied), all)
	v.SetQuotient(LatencyEMB, 1e3*r.Transfer, all)
	v.SetQuotient(LatencyKV, 1e3*r.Compute, all)
	v.SetQuotient(LatencyQueue, 1e3*r.Waiting, all)
	v.SetQuotient(EMBShare, r.Transfer, r.Mean*all)
	v.SetQuotient(KVHitRatio, float64(r.KVHits), all)
	v.SetQuotient(EMBHitRatio, float64(r.Rows-r.MissedRows), float64(r.Rows))
	v.SetQuotient(RoutingScore, r.Score, all)
	v.SetQuotient(WindowP99, 1e3*r.WindowP99, float64(r.Ended))
	v.SetQuotient(EMBRatio, r.Ratio, windows)
	setBests(&v, r.Bests)
	setBatches(&v, r.InOrder)
	setLatencyBatches(&v, r.InOrder.Latencies, objective.Latency.Seconds())
	if r.Windows > 0 {
		v.Set(WindowP99Max, 1e3*r.MaxP99)
		v.Set(RatioMoved, r.Moved/float64(r.Nodes))
		v.SetInt(UnstableWindows, r.Unstable)
	}
	v.SetInt(RefillBytes, r.Refill)
	if r.Refilled > 0 {
		v.Set(RefillTime, r.Refilled)
	}
	v.SetInt(MissBytes, r.Missed)
	v.Set(LinkPeak, 1e-9*r.Peak)
	v.SetQuotient(NodeUtilisation, r.Busy, float64(r.Nodes*r.GPUs)*r.Seconds)
	v.SetQuotient(DecisionTime, float64(r.Deciding), float64(r.Decisions))
	return v
}
