package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/interruptible"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/laru"    // registers its policy
	_ "github.com/cachesim/cachesim/internal/policies/learned" // registers its policies
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
)

// ReplayerOptions say how a Replayer replays.
type ReplayerOptions struct {
	Warmup   int // requests served before counting begins; 0 for a trace whose parts each start with an empty cache
	Version  string
	Progress func(n int64) // called from all replays with requests served since the last call; may be nil
}

// Replayer replays the cells of one trace. What they share (next uses, the trace without empty objects) is made once, when the
// first needs it. Its methods may be called from several goroutines.
type Replayer struct {
	trace     *traces.Trace
	options   ReplayerOptions
	asIs      func() *view // for capacities in objects
	sizedOnly func() *view // for capacities in bytes: without requests of size 0
}

// WithProgress returns r with another function that is called from the replays it does; what cells share stays shared.
func (r *Replayer) WithProgress(progress func(n int64)) *Replayer {
	other := *r
	other.options.Progress = progress
	return &other
}

// view is the trace as one unit of capacity sees it.
type view struct {
	trace     *traces.Trace
	warmup    int   // requests of trace that only warm up
	footprint int64 // bytes of all objects; 0 where they do not count
	largest   int64 // bytes of the largest object
	nextUse   func() []uint32
}

// NewReplayer prepares the replays of t.
func NewReplayer(t *traces.Trace, options ReplayerOptions) *Replayer {
	r := &Replayer{trace: t, options: options}
	r.asIs = sync.OnceValue(func() *view { return newView(t, options.Warmup) })
	r.sizedOnly = sync.OnceValue(func() *view {
		sized, zeros := t.WithoutZeroSizes()
		if zeros == 0 {
			v := *r.asIs()
			v.measure()
			return &v
		}
		v := newView(sized, sizedBefore(t, options.Warmup))
		v.measure()
		return v
	})
	return r
}

func newView(t *traces.Trace, warmup int) *view {
	return &view{trace: t, warmup: warmup, nextUse: sync.OnceValue(func() []uint32 {
		if len(t.Starts) == 0 {
			return oracle.NextUse(t.Objects, t.NumObjects)
		}
		all := make([]uint32, 0, len(t.Objects))
		for _, part := range t.Parts() {
			all = append(all, oracle.NextUse(part.Objects, t.NumObjects)...)
		}
		return all
	})}
}

func (v *view) measure() {
	v.footprint = v.trace.Footprint()
	if len(v.trace.ObjectSizes) > 0 {
		v.largest = slices.Max(v.trace.ObjectSizes)
	}
}

// sizedBefore returns how many of the first n requests have a size above 0.
func sizedBefore(t *traces.Trace, n int) (sized int) {
	for pos := range min(n, len(t.Objects)) {
		if t.Size(pos) > 0 {
			sized++
		}
	}
	return sized
}

func (r *Replayer) view(c Capacity) *view {
	if c.Bytes {
		return r.sizedOnly()
	}
	return r.asIs()
}

// Check refuses a cell that cannot be replayed on this trace.
func (r *Replayer) Check(c Cell) error {
	e := c.Policy.Entry
	if err := CheckUnits(e, c.Capacity.Bytes); err != nil {
		return err
	}
	if err := r.checkParts(c); err != nil {
		return err
	}
	switch {
	case c.Capacity.Bytes && len(r.sizedOnly().trace.Objects) <= r.sizedOnly().warmup:
		return fmt.Errorf("%s has no request of a size above 0 to count; capacities in objects ignore sizes", r.trace.Name)
	case e.NeedsTime && r.trace.Times == nil:
		return fmt.Errorf("policy %s needs a clock, but %s has no times", e.Name, r.trace.Name)
	case len(r.trace.Starts) > 0 && r.options.Warmup > 0:
		return fmt.Errorf("a warm-up of %d requests: each file of %s starts with an empty cache, so there is nothing to warm up", r.options.Warmup, r.trace.Name)
	}
	return nil
}

// checkParts refuses policies, predictors, caches and models that do not fit together, or not this trace.
func (r *Replayer) checkParts(c Cell) error {
	if err := CheckParts(c); err != nil {
		return err
	}
	cache := c.Cache.Entry
	switch {
	case cache.Prompts && r.trace.Prompts != nil && r.options.Warmup >= len(r.trace.Groups):
		return fmt.Errorf("a warm-up of %d prompts: want a number from 0 to below the %d of the trace", r.options.Warmup, len(r.trace.Groups))
	case cache.Prompts && r.trace.Prompts == nil:
		return fmt.Errorf("cache %s serves prompts, but %s has none; the formats that hold prompts are listed by: cachesim formats", cache.Name, r.trace.Name)
	case c.Model != nil && len(r.trace.Starts) > 0:
		return fmt.Errorf("model %s: %s is replayed file by file, each from time 0 on; leave out --per-file", c.Model.Name(), r.trace.Name)
	}
	if c.Model != nil && c.Model.Entry.Check != nil {
		return c.Model.Entry.Check(c.Model.Params, c.Cache.Params, r.trace)
	}
	return nil
}

// CheckParts refuses policies, predictors, caches and models that do not fit together, whatever the trace.
func CheckParts(c Cell) error {
	e, cache := c.Policy.Entry, c.Cache.Entry
	switch {
	case e.Predicts && c.Predictor == nil:
		return fmt.Errorf("policy %s needs a predictor; write --predictor with one of: %s", e.Name, strings.Join(predict.Names(), ", "))
	case cache.ObjectsOnly && c.Capacity.Bytes:
		return fmt.Errorf("cache %s works with capacities in objects only, not in bytes", cache.Name)
	case e.Kind == policies.Bound && cache.Name != exactEntry.Name:
		return fmt.Errorf("%s is a bound for the exact cache, not for %s", e.Name, cache.Name)
	case c.Model != nil && c.Model.Entry.Cache != cache.Name:
		return fmt.Errorf("model %s works on the cache %s, not on %s; write --cache %s", c.Model.Name(), c.Model.Entry.Cache, cache.Name, c.Model.Entry.Cache)
	}
	if c.Model != nil && cache.Name == prefixEntry.Name && c.Cache.Params.Int("concurrency") != 1 {
		return fmt.Errorf("cache prefix: the model %s says how many prompts run at a time; leave out the concurrency of the cache", c.Model.Name())
	}
	if cache.Check != nil {
		return cache.Check(c.Cache.Params, e)
	}
	return nil
}

// CheckWarmup refuses a warm-up that leaves nothing to count: n is a number of requests or, in caches that serve prompts, of prompts.
func CheckWarmup(t *traces.Trace, n int) error {
	if n < 0 || n >= len(t.Objects) {
		return fmt.Errorf("a warm-up of %d requests: want a number from 0 to below the %d of the trace", n, len(t.Objects))
	}
	return nil
}

// CheckUnits refuses a policy that cannot work in the unit of a capacity.
func CheckUnits(e policies.Entry, bytes bool) error {
	switch {
	case bytes && e.Units == policies.UnitsObjects:
		return fmt.Errorf("policy %s works with capacities in objects only, not in bytes", e.Name)
	case !bytes && e.Units == policies.UnitsBytes:
		return fmt.Errorf("policy %s works with capacities in bytes only (write 64MiB, or 1%% with --bytes)", e.Name)
	}
	return nil
}

// outcome is what a replay gave.
type outcome struct {
	counts   Counts
	served   int64   // requests, those of the warm-up too
	bound    float64 // a Bound's least number of misses
	elapsed  time.Duration
	counters []policies.Counter
	cost     predict.Cost
	latency  Latency // with a model
}

// add adds the outcome of the next part of a trace.
func (o *outcome) add(part outcome) {
	o.counts = o.counts.plus(part.counts)
	o.served += part.served
	o.bound += part.bound
	o.elapsed += part.elapsed
	o.cost = o.cost.Plus(part.cost)
	o.latency = part.latency // a model replays a trace in one part
	for _, c := range part.counters {
		at := slices.IndexFunc(o.counters, func(have policies.Counter) bool { return have.Name == c.Name })
		if at < 0 {
			o.counters = append(o.counters, c)
		} else {
			o.counters[at].Value += c.Value
		}
	}
}

// Jobs groups cells into jobs for Replay: lru-stack at several capacities of one unit is one pass over the trace, every other cell a
// replay of its own. The order of the cells stays.
func (r *Replayer) Jobs(cells []Cell) (jobs [][]Cell) {
	var stack []Cell
	for _, c := range cells {
		if c.Policy.Entry.ReuseDistances && c.Cache.Name() == exactEntry.Name && c.Model == nil {
			stack = append(stack, c)
		}
	}
	shared, _ := r.byPass(stack)
	taken := map[string]bool{}
	for _, job := range shared {
		for _, c := range job {
			taken[c.Key()] = true
		}
	}
	jobs = shared
	for _, c := range cells {
		if !taken[c.Key()] {
			jobs = append(jobs, []Cell{c})
		}
	}
	return jobs
}

// Replay replays a job and returns the record of each of its cells. The fields that compare cells with each other are left out: HoldAgainst and
// MarkBest fill them in.
func (r *Replayer) Replay(ctx context.Context, job []Cell) ([]records.Record, error) {
	var outcomes []outcome
	var err error
	if len(job) > 1 {
		outcomes, err = r.replayStack(ctx, job)
	} else {
		outcomes, err = r.replayOne(ctx, job[0])
	}
	if err != nil {
		return nil, err
	}
	recs := make([]records.Record, len(job))
	for k, c := range job {
		recs[k] = r.record(c, outcomes[k])
	}
	return recs, nil
}

// replayOne replays one cell, part by part.
func (r *Replayer) replayOne(ctx context.Context, c Cell) ([]outcome, error) {
	v := r.view(c.Capacity)
	var sum outcome
	first := 0
	for i, part := range v.trace.Parts() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := c
		c.Seed = partSeed(c.Seed, i)
		replay := r.replayPart
		if c.Policy.Entry.Kind == policies.Bound {
			replay = r.boundPart
		}
		next := first + len(part.Objects)
		out, err := replay(ctx, c, part, warmup(c, part, v.warmup), func() []uint32 { return v.nextUse()[first:next] })
		if err != nil {
			return nil, err
		}
		sum.add(out)
		first = next
	}
	return []outcome{sum}, nil
}

// partSeed returns the seed of the random choices in part i of a trace, so that the parts choose independently of each other: with the same choices
// in each, sums over them would spread as if there were one part only. The first has the seed of the cell.
func partSeed(seed uint64, i int) uint64 { return seed ^ uint64(i)*0x9e3779b97f4a7c15 }

// warmup returns how many requests only warm up: those of the first prompts where the cache serves prompts.
func warmup(c Cell, t *traces.Trace, n int) int {
	if !c.Cache.Entry.Prompts || n == 0 {
		return n
	}
	return t.Groups[n]
}

func (r *Replayer) replayPart(ctx context.Context, c Cell, t *traces.Trace, warmup int, nextUse func() []uint32) (outcome, error) {
	config := CacheConfig{
		Trace: t, Capacity: c.Capacity.Simulated, Unit: !c.Capacity.Bytes, Params: c.Cache.Params, Policy: c.Policy, Seed: c.Seed, NextUse: nextUse,
	}
	if c.Policy.Entry.Unbounded {
		config.Capacity = unbounded(t, c.Capacity.Bytes)
	}
	var counted *predict.Counted
	cache, err := interruptible.Call(ctx, func() (cache Cache, err error) {
		if c.Predictor != nil {
			if counted, err = r.predictor(c, t, nextUse); err != nil {
				return nil, err
			}
			config.Predictor = counted
		}
		return c.Cache.Entry.New(config)
	})
	if err != nil {
		return outcome{}, fmt.Errorf("policy %s: %w", c.Policy, err)
	}
	out := outcome{served: int64(len(t.Objects))}
	options := ReplayOptions{Bytes: c.Capacity.Bytes, Warmup: warmup, Progress: r.progress()}
	start := time.Now()
	if c.Model == nil {
		out.counts, err = Replay(ctx, t, cache, options)
	} else {
		cost := func() predict.Cost { return predict.Cost{} }
		if counted != nil {
			cost = counted.Cost
		}
		out.counts, out.latency, err = c.Model.Entry.Run(ctx, ModelConfig{options, t, cache, c.Model.Params, cost})
	}
	out.elapsed = time.Since(start)
	if reporting, ok := cache.(Reporting); ok {
		out.counters = reporting.Counters()
	}
	if counted != nil {
		out.cost = counted.Cost()
		out.counters = append(out.counters, trainingCounters(out.cost.Training)...)
	}
	return out, err
}

// trainingCounters are what a record says of models that were trained during the replay.
func trainingCounters(t predict.Training) []policies.Counter {
	if t.Models == 0 {
		return nil
	}
	return []policies.Counter{{Name: "trainings", Value: float64(t.Models)}, {Name: "training_work", Value: float64(t.Work)}}
}

// predictor builds the predictor of a cell for a part of the trace.
func (r *Replayer) predictor(c Cell, t *traces.Trace, nextUse func() []uint32) (*predict.Counted, error) {
	var evicts func() []bool
	if c.Cache.Name() == exactEntry.Name && !c.Capacity.Bytes {
		evicts = func() []bool { return OptEvicts(t, nextUse(), c.Capacity.Simulated) }
	}
	return NewPredictor(*c.Predictor, t, c.Seed, nextUse, evicts)
}

// NewPredictor builds a predictor for a replay of t. Only one that knows the future gets to see nextUse and optEvicts (see predict.Config), of which
// the latter may be nil.
func NewPredictor(spec predict.Spec, t *traces.Trace, seed uint64, nextUse func() []uint32, optEvicts func() []bool) (*predict.Counted, error) {
	config := predict.Config{
		Objects: t.Objects, Count: t.NumObjects, Groups: t.Groups, Times: t.Times, Depth: t.Prompts.Depths(), Seed: seed, Params: spec.Params,
	}
	if spec.Entry.Future {
		config.NextUse, config.OptEvicts = nextUse(), optEvicts
	}
	p, err := spec.Entry.New(config)
	if err != nil {
		return nil, fmt.Errorf("predictor %s: %w", spec, err)
	}
	return &predict.Counted{Predictor: p}, nil
}

// OptEvicts returns for each position whether the requested object is gone when it is requested next, or is not requested again, under opt on the
// exact cache.
func OptEvicts(t *traces.Trace, nextUse []uint32, capacity int64) []bool {
	entry := mustSpec("opt").Entry
	opt, err := entry.New(policies.Config{Capacity: capacity, Unit: true, Objects: t.NumObjects, Requests: len(t.Objects), NextUse: nextUse})
	if err != nil {
		panic(err) // opt takes no parameters that could be wrong
	}
	hit := make([]bool, len(t.Objects))
	for pos := range t.Objects {
		hits, _ := opt.(policies.UnitReplayer).ReplayUnit(t.Objects[pos:pos+1], pos)
		hit[pos] = hits > 0
	}
	evicts := make([]bool, len(t.Objects))
	for pos, next := range nextUse {
		evicts[pos] = next == policies.Never || !hit[next]
	}
	return evicts
}

// unbounded returns a capacity that holds every object of the trace, whatever its size at the time.
func unbounded(t *traces.Trace, bytes bool) int64 {
	switch {
	case !bytes:
		return int64(t.NumObjects)
	case t.RequestSizes == nil:
		return t.Footprint()
	}
	var sum int64
	for _, s := range t.RequestSizes {
		sum += s
	}
	return sum
}

func (r *Replayer) progress() func(int) {
	if r.options.Progress == nil {
		return nil
	}
	return func(n int) { r.options.Progress(int64(n)) }
}

func (r *Replayer) boundPart(ctx context.Context, c Cell, t *traces.Trace, warmup int, nextUse func() []uint32) (outcome, error) {
	in := policies.BoundInput{
		Objects: t.Objects, NumObjects: t.NumObjects, Capacity: c.Capacity.Simulated, From: warmup,
	}
	if c.Capacity.Bytes {
		in.ObjectSizes, in.RequestSizes = t.ObjectSizes, t.RequestSizes
	}
	var start time.Time
	bound, err := interruptible.Call(ctx, func() (float64, error) {
		in.NextUse = nextUse()
		start = time.Now()
		return c.Policy.Entry.LowerBound(in)
	})
	if err != nil {
		return outcome{}, fmt.Errorf("bound %s: %w", c.Policy, err)
	}
	if r.options.Progress != nil {
		r.options.Progress(int64(len(t.Objects)))
	}
	requests := int64(len(t.Objects) - warmup)
	counts := Counts{Requests: requests, Hits: requests - ceil(bound)}
	return outcome{counts: counts, bound: bound, elapsed: time.Since(start)}, nil
}

// ceil returns the least whole number of misses that is not below a bound.
func ceil(bound float64) int64 {
	n := int64(bound)
	if float64(n) < bound {
		n++
	}
	return n
}

func (r *Replayer) record(c Cell, out outcome) records.Record {
	n := out.counts
	rec := records.Record{
		Trace: r.trace.Name, Policy: c.Policy.Entry.Name, Params: c.Policy.ParamString(), Label: c.Policy.String(),
		Kind: c.Policy.Entry.Kind.String(), Cache: c.Cache.String(),
		Capacity: c.Capacity.Amount, CapacityUnit: c.Capacity.Unit(), CapacityText: c.Capacity.Text, SimulatedCapacity: c.Capacity.Simulated,
		Seed: c.Seed, SampleRate: r.trace.SampleRate, Warmup: int64(r.options.Warmup),
		Requests: n.Requests, Hits: n.Hits, Misses: n.Misses(), HitRatio: r.hitRatio(n),
		Evictions: n.Evictions, Oversized: n.Oversized, Version: r.options.Version, Counters: formatCounters(out.counters),
	}
	if c.Policy.Entry.Kind == policies.Bound {
		rec.LowerBoundMisses = new(out.bound)
	} else {
		rec.NsPerRequest = new(perRequest(out.elapsed, out.served))
		if c.Capacity.Bytes {
			rec.Bytes, rec.HitBytes = new(n.Bytes), new(n.HitBytes)
			rec.ByteHitRatio = new(ratio(n.HitBytes, n.Bytes))
		}
	}
	if c.Policy.Entry.Unbounded {
		rec.Optimum, rec.OptMisses, rec.CompetitiveRatio = "compulsory", new(rec.Misses), over(rec.Misses, float64(rec.Misses))
	}
	rec.CapacityShare = new(r.share(c.Capacity))
	if c.Predictor != nil {
		rec.Predictor = c.Predictor.String()
		rec.PredictorCalls, rec.Predictions = new(out.cost.Calls), new(out.cost.Predictions)
		rec.PredictionNsPerRequest = new(perRequest(out.cost.Elapsed, out.served))
	}
	if c.Cache.Entry.Prompts {
		rec.Prompts, rec.Tokens, rec.HitTokens = new(n.Prompts), new(n.Tokens), new(n.HitTokens)
		rec.TokenHitRatio, rec.BlockHitRatio = new(ratio(n.HitTokens, n.Tokens)), new(ratio(n.Hits, n.Requests))
	}
	if c.Model != nil {
		rec.Model = c.Model.String()
		rec.LatencyMean, rec.LatencyP50, rec.LatencyP95, rec.LatencyP99 = new(out.latency.Mean), new(out.latency.P50), new(out.latency.P95), new(out.latency.P99)
		rec.Throughput = new(out.latency.Throughput)
	}
	return rec
}

// perRequest spreads a time over the requests that were served, in nanoseconds.
func perRequest(elapsed time.Duration, served int64) float64 {
	return float64(elapsed.Nanoseconds()) / float64(max(1, served))
}

// hitRatio returns hits/requests, and on a sample what that estimates of the whole trace: a sample may miss the hottest objects, whose
// requests are nearly all hits, or hold too many of them, but it has its share of the misses (the adjustment of Waldspurger et al.,
// FAST 2015). Requests that do not count, of a warm-up or of size 0, are taken to be the same share of the whole.
func (r *Replayer) hitRatio(n Counts) float64 {
	if r.trace.SampledFrom == 0 {
		return ratio(n.Hits, n.Requests)
	}
	counted := float64(n.Requests) / float64(len(r.trace.Objects))
	expected := r.trace.SampleRate * float64(r.trace.SampledFrom) * counted
	if expected == 0 {
		return 0
	}
	return max(0, 1-float64(n.Misses())/expected)
}

// share returns a capacity as a share of the distinct objects, or of the sum of their sizes.
func (r *Replayer) share(c Capacity) float64 {
	if c.Bytes {
		return float64(c.Simulated) / float64(max(1, r.sizedOnly().footprint))
	}
	return float64(c.Simulated) / float64(r.trace.NumObjects)
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func formatCounters(counters []policies.Counter) string {
	parts := make([]string, len(counters))
	for i, c := range counters {
		parts[i] = c.Name + "=" + strconv.FormatFloat(c.Value, 'g', -1, 64)
	}
	return strings.Join(parts, ",")
}
