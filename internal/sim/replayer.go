package sim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/neighbours"
	"github.com/cachesim/cachesim/internal/sim/onepass"
	"github.com/cachesim/cachesim/internal/sim/ontrace"
	"github.com/cachesim/cachesim/internal/sim/windows"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// ReplayerOptions are the options of a Replayer.
type ReplayerOptions struct {
	// Warmup is the number of requests served before counting starts; 0 for a trace whose parts each start with an empty
	// cache.
	Warmup int
	Jobs   int            // goroutines of a replay that can use several; 0 means one per core
	Memory *memory.Budget // of such a replay; nil: all memory
	// Progress is called with requests served since the last call, by several goroutines; it may be nil.
	Progress   func(n int64)
	Neighbours neighbours.Options
	// Blocks asks for the hits of each block of the trace, where the CPU replays it and no model of time drives the cache.
	Blocks bool
	// Device is the GPU that replays what it can, and compares queries; nil for the CPU. Results do not depend on it.
	Device *cuda.Shared
	// Note receives each note once: about omitted requests, split prompts, and the device; may be nil.
	Note func(text string)
}

// Replayer replays the cells of one trace. What they share (next uses, the trace without empty objects) is created
// once, when it is first needed. Its methods may be called from several goroutines.
type Replayer struct {
	trace     *traces.Trace
	options   ReplayerOptions
	asIs      func() *view // for capacities in objects
	sizedOnly func() *view // for capacities in bytes: without requests of size 0
	similar   *neighbours.Pairs
	topics    func() []int32 // labels of the objects
	remarked  *sync.Map      // the allocators of which caches have remarked something
	// joined replays the trace in blocks of more tokens, by their number; joining guards it.
	joined    map[int]*Replayer
	joining   *sync.Mutex
	divisions *sync.Map // of the trace among nodes; see divide
	whole     *sync.Map // per key of a cell: its hits; see hitsOnce
	// withoutAnswers replays the trace for caches that keep no answers.
	withoutAnswers func() *Replayer
}

// WithProgress returns r with another progress function; what cells share stays shared.
func (r *Replayer) WithProgress(progress func(n int64)) *Replayer {
	other := *r
	other.options.Progress = progress
	return &other
}

// view is the trace as seen with one unit of capacity.
type view struct {
	trace     *traces.Trace
	warmup    int   // requests of trace that only warm up
	footprint int64 // bytes of all objects; 0 if they do not count
	largest   int64 // bytes of the largest object
	nextUse   func() []uint32
	logged    func() ontrace.Logged
	firsts    func() *onepass.Firsts
	addresses func() (*prefetch.Addresses, error)
	layout    func() (*streams.Layout, error)
	running   *sync.Map // per number of prompts: the most blocks that they have; see mostRunning
}

func NewReplayer(t *traces.Trace, options ReplayerOptions) *Replayer {
	options.Neighbours.Device = options.Device
	r := &Replayer{trace: t, options: options, similar: neighbours.New(t, options.Neighbours),
		remarked: &sync.Map{}, joined: map[int]*Replayer{}, joining: &sync.Mutex{},
		divisions: &sync.Map{}, whole: &sync.Map{}}
	r.withoutAnswers = sync.OnceValue(func() *Replayer { return NewReplayer(t.Requested(), options) })
	r.topics = sync.OnceValue(func() []int32 { return ontrace.Topics(t) })
	r.asIs = sync.OnceValue(func() *view { return newView(t, options.Warmup) })
	r.sizedOnly = sync.OnceValue(func() *view {
		sized, zeros := t.WithoutZeroSizes()
		if zeros == 0 {
			v := *r.asIs()
			v.measure()
			return &v
		}
		if options.Note != nil {
			options.Note(fmt.Sprintf("%s: %d of %d requests have size 0 and are left out because capacities count bytes",
				t.Name, zeros, len(t.Objects)))
		}
		v := newView(sized, ontrace.SizedBefore(t, options.Warmup))
		v.measure()
		return v
	})
	return r
}

func newView(t *traces.Trace, warmup int) *view {
	addresses := sync.OnceValues(func() (*prefetch.Addresses, error) { return prefetch.NewAddresses(t) })
	layout := sync.OnceValues(func() (*streams.Layout, error) { return prefetch.NewLayout(t) })
	return &view{trace: t, warmup: warmup, addresses: addresses, layout: layout, nextUse: sync.OnceValue(t.NextUses),
		logged: sync.OnceValue(func() ontrace.Logged { return ontrace.LoggedIn(t, warmup) }),
		firsts: sync.OnceValue(func() *onepass.Firsts { return onepass.NewFirsts(t) }), running: &sync.Map{}}
}

// addressesFor returns the addresses of the trace's objects, if the cache or the prefetcher of a cell computes with
// them.
func (v *view) addressesFor(c Cell) (*prefetch.Addresses, error) {
	prefetches := c.Prefetcher != nil && c.Prefetcher.Entry.Addresses
	patterns := c.Allocator != nil && c.Allocator.Entry.Patterns
	if !cache.HasStreams(c.Cache) && !prefetches && !patterns {
		return nil, nil
	}
	a, err := v.addresses()
	switch {
	case err == nil:
		return a, nil
	case cache.HasStreams(c.Cache):
		return nil, fmt.Errorf("cache %s computes with the keys of the trace: %w; it needs numbers, or reads of files",
			c.Cache.Name(), err)
	case prefetches:
		return nil, fmt.Errorf("prefetcher %s computes with the keys of the trace: %w; prefetchers of objects work there "+
			"(see: cachesim prefetchers)", c.Prefetcher.Name(), err)
	}
	return nil, nil // an allocator does without
}

// layoutFor returns the directory tree of the trace, if the cache or the prefetcher of a cell needs it.
func (v *view) layoutFor(c Cell) (*streams.Layout, error) {
	var owner string
	switch {
	case cache.HasStreams(c.Cache):
		owner = "cache " + c.Cache.Name()
	case c.Prefetcher != nil && c.Prefetcher.Entry.Layout:
		owner = "prefetcher " + c.Prefetcher.Name()
	default:
		return nil, nil
	}
	l, err := v.layout()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", owner, err)
	}
	return l, nil
}

func (v *view) measure() {
	v.footprint = v.trace.Footprint()
	if len(v.trace.ObjectSizes) > 0 {
		v.largest = slices.Max(v.trace.ObjectSizes)
	}
}

func (r *Replayer) view(c capacity.Capacity) *view {
	if c.Bytes {
		return r.sizedOnly()
	}
	return r.asIs()
}

// Requests returns the number of requests that a replay at a capacity serves, including a warm-up. The other requests
// have size 0, and are left out if sizes count.
func (r *Replayer) Requests(c capacity.Capacity) int { return len(r.view(c).trace.Objects) }

// Job is one pass over the trace, which replays one cell or several.
type Job struct {
	cells  []Cell
	device *deviceReplay // nil: the CPU replays it
}

// Cells returns the cells of the job, in the order of its results.
func (j Job) Cells() []Cell { return j.cells }

// OnDevice reports whether the device, and not the CPU, replays the job.
func (j Job) OnDevice() bool { return j.device != nil }

// Jobs groups the cells into jobs for ReplayJob, which create shared data once. A job is the cells of the device, those
// of one pass over reuse distances, or a single cell.
func (r *Replayer) Jobs(cells []Cell) (jobs []Job) {
	type group struct {
		device *deviceReplay
		key    string
	}
	sites := make([]site, len(cells))
	at := map[group]int{}
	for i, c := range cells {
		s := r.siteOf(c)
		sites[i] = s
		k, known := at[group{s.device, s.key}]
		if !known || s.key == "" {
			k = len(jobs)
			at[group{s.device, s.key}] = k
			jobs = append(jobs, Job{device: s.device})
		}
		jobs[k].cells = append(jobs[k].cells, c)
	}
	for _, j := range jobs {
		if j.device == nil { // as a stack needs them
			slices.SortStableFunc(j.cells, func(a, b Cell) int {
				return cmp.Compare(a.Capacity.Simulated, b.Capacity.Simulated)
			})
		}
	}
	r.noteSites(cells, sites)
	r.noteSample(cells)
	r.expect(cells)
	return jobs
}

func (r *Replayer) Replay(ctx context.Context, c Cell) (Result, error) {
	all, err := r.ReplayJob(ctx, Job{[]Cell{c}, r.siteOf(c).device})
	if err != nil {
		return Result{}, err
	}
	return all[0], nil
}

// ReplayJob replays a job and returns the result of each of its cells. When ctx ends it does not wait for a request or
// a bound that takes long.
func (r *Replayer) ReplayJob(ctx context.Context, job Job) (results []Result, err error) {
	if r.differs(job.cells[0]) {
		other, joined, err := r.joinedJob(job)
		if err != nil {
			return nil, err
		}
		if results, err = other.ReplayJob(ctx, joined); err == nil && results[0].BlockBytes == 0 {
			for _, result := range results {
				result.Blocks.OfSize(prompts.Of(other.trace.Kind).BlockTokens / prompts.Of(r.trace.Kind).BlockTokens)
			}
		}
		return results, err
	}
	outcomes, err := policies.Await(ctx, func(ctx context.Context) ([]outcome, error) {
		switch {
		case job.device != nil:
			return r.replayOnDevice(ctx, job)
		case cache.ServesHeads(job.cells[0].Cache):
			return r.replayHeads(ctx, job.cells, nil)
		case len(job.cells) > 1:
			return r.replayStack(ctx, job.cells, func(t *traces.Trace) (onepass.Stack, error) {
				c := job.cells[0]
				return onepass.New(t, c.Cache, c.Capacity.Bytes, simulated(job.cells), feed.LongestWindow)
			})
		}
		return r.replayOne(ctx, job.cells[0])
	})
	if err != nil {
		return nil, err
	}
	for k, c := range job.cells {
		results = append(results, r.result(c, outcomes[k]))
	}
	return results, nil
}

// replayOne replays one cell, part by part.
func (r *Replayer) replayOne(ctx context.Context, c Cell) ([]outcome, error) {
	c.Parts = c.Replayed()
	v := r.view(c.Capacity)
	var sum outcome
	first := 0
	sampler, marked := windows.New(c.Series, len(v.trace.Starts), approximates(c.Model), c.Capacity.Bytes), r.newMarks(c)
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
		out, err := replay(ctx, c, part, warmup(c, part, v.warmup), func() []uint32 { return v.nextUse()[first:next] },
			sampler, marked)
		if err != nil {
			return nil, err
		}
		sum.add(out)
		first = next
	}
	if sampler != nil {
		sum.series = sampler.Rows()
		sampler.SetOrigin(&sum.values)
		if c.Model == nil { // a model has a clock of its own
			sampler.SetBegin(&sum.values)
		}
	}
	sum.blocks = blocksOf(marked, v, c)
	return []outcome{sum}, nil
}

// partSeed returns the seed for the random choices in part i of a trace. Parts choose independently: with the same
// choices in each part, sums would vary as those of one part. The first part has the seed of the cell.
func partSeed(seed uint64, i int) uint64 { return seed ^ uint64(i)*0x9e3779b97f4a7c15 }

// warmup returns the number of requests in the warm-up, which n counts in prompts if the cache serves prompts.
func warmup(c Cell, t *traces.Trace, n int) int {
	if !c.Cache.Entry.ServesPrompts(t) || n == 0 {
		return n
	}
	return t.Groups[n]
}

// replayPart replays a part of the trace, whose first requests may be a warm-up.
func (r *Replayer) replayPart(ctx context.Context, c Cell, t *traces.Trace, warmup int, nextUse func() []uint32,
	sampler *windows.Sampler, marked *windows.Marks) (outcome, error) {
	served, counted, err := r.nodes(ctx, c, t, warmup, nextUse)
	if err != nil {
		return outcome{}, fmt.Errorf("policy %s: %w", c.Policy, err)
	}
	sampler.Part(t, served, capacityOf(c, t)*nodesOf(c), warmup)
	out := outcome{served: int64(len(t.Objects))}
	options := ReplayOptions{Bytes: sizesCount(c, t), Warmup: warmup, Progress: r.progress(), sampler: sampler,
		marks: marked}
	start := time.Now()
	var counts Tally
	var timed metric.Values
	if c.Model == nil {
		counts, err = Replay(ctx, t, served, options)
	} else {
		counts.Counts, timed, err = replayModelled(ctx, c, t, served, counted.cost, options)
	}
	out.elapsed = time.Since(start)
	sized := isAsynchronous(c.Model) || sizesCount(c, t)
	out.values = counts.Values(c.Cache.Entry, sized)
	if c.Model != nil {
		out.values = out.values.Merge(timed)
	} else {
		counts.AddTo(&out.values, t)
	}
	if reporting, ok := served.(cache.Reporting); ok {
		setCounters(&out.values, reporting.Counters())
	}
	if remarking, ok := served.(cache.Remarking); ok {
		r.remark(c, remarking.Remark())
	}
	if c.Predictor != nil {
		cost := counted.cost()
		out.predicting = cost.Elapsed
		out.values = out.values.Merge(cost.Values())
		for _, one := range counted.all { // how long each was the chosen one, where a predictor picks among several
			out.values = out.values.Merge(predict.Report(one))
		}
	}
	if err == nil && needsBound(c, t) {
		if err = r.addLower(c, t, warmup, nextUse, &out.values); err != nil {
			return outcome{}, err
		}
	}
	if err == nil {
		err = r.onOneCache(ctx, c, &out)
	}
	return out, err
}

// addLower adds a lower bound on the misses of a cell.
func (r *Replayer) addLower(c Cell, t *traces.Trace, warmup int, nextUse func() []uint32, v *metric.Values) error {
	if c.Router != nil {
		d, err := r.divide(c)
		if err != nil {
			return err
		}
		return d.eachLife(c, func(_ int, of Cell, seen *view, own *Replayer) error {
			var part metric.Values
			err := own.addLower(of, seen.trace, seen.warmup, seen.nextUse, &part)
			*v = v.Merge(part)
			return err
		})
	}
	in, err := boundInput(c, t, warmup, nextUse)
	if err == nil {
		in.Groups = nil
		v.Set(metric.LowerBoundMisses, float64(oracle.GroupedLower(in)))
	}
	return err
}

// needsBound reports whether a cell is an optimum for objects that is none on a trace with requests that only look, so
// that its record also says which misses no schedule can go below.
func needsBound(c Cell, t *traces.Trace) bool {
	e := c.Policy.Entry
	return t.Written.Lookups > 0 && e.Kind == policies.Offline && e.Reference != nil && !c.Capacity.Bytes &&
		c.Prefetcher == nil && (cache.IsExact(c.Cache) || c.Cache.Entry.Whole != nil)
}

// remark notes what the cache of a cell has to say after a replay, once for each allocator.
func (r *Replayer) remark(c Cell, text string) {
	if text == "" || r.options.Note == nil {
		return
	}
	allocator := ""
	if c.Allocator != nil {
		allocator = c.Allocator.String()
	}
	if _, known := r.remarked.LoadOrStore(allocator, true); !known {
		r.options.Note(r.trace.Name + ": " + text)
	}
}

// build returns the empty cache of a cell for a part of the trace, and the predictors of its policy. An observer, if
// any, is notified of changes in the pool of a cache that serves requests one by one.
func (r *Replayer) build(ctx context.Context, c Cell, t *traces.Trace, warmup int, nextUse func() []uint32,
	observer cache.Observer) (served cache.Cache, counted *predictors, err error) {
	shares := cache.HasOwnShares(c.Cache, c.Allocator, c.Policy)
	config, counted, err := r.config(ctx, c, t, warmup, nextUse, observer, c.Router != nil || shares)
	switch {
	case err != nil:
	case shares:
		served, err = replicas.NewShares(c.Cache.Entry, config)
	case c.Router != nil:
		served, err = onNodes(c, config)
	default:
		served, err = c.Cache.Entry.New(config)
	}
	return served, counted, err
}

// config returns what build builds the cache of a cell from, or that of each of several nodes.
func (r *Replayer) config(ctx context.Context, c Cell, t *traces.Trace, warmup int, nextUse func() []uint32,
	observer cache.Observer, ofNode bool) (config cache.Config, counted *predictors, err error) {
	addresses, err := r.view(c.Capacity).addressesFor(c)
	if err != nil {
		return config, nil, err
	}
	counted = &predictors{}
	config = cacheConfig(c, t, nextUse)
	if config.Neighbours, config.Relations, err = r.relate(ctx, c, t); err != nil {
		return config, nil, err
	}
	switch {
	case c.Predictor == nil:
	case ofNode:
		config.NodePredictor = func(groups []int, seed uint64) (predict.Predictor, error) {
			of, own := c, *t // of the requests that come to the node, whose prompts begin at groups
			of.Seed, own.Groups = seed, groups
			return counted.ofCell(of, &own, nil, nil, nil)
		}
	case c.Cache.Entry.Pools != nil:
		config.NewPredictor = func(objects, requests int, seed uint64) (predict.Predictor, error) {
			return counted.ofPool(c, objects, requests, seed)
		}
	default:
		if config.Predictor, err = counted.ofCell(c, t, nextUse, addresses, config.Neighbours); err != nil {
			return config, nil, err
		}
		config.FurtherPredictor = func(seed uint64) (predict.Predictor, error) {
			further := c
			further.Seed = seed
			return counted.ofCell(further, t, nextUse, addresses, config.Neighbours)
		}
	}
	config.Observer, config.Warmup, config.Served = observer, warmup, r.progress()
	config.Life = policies.LifeOf(ctx)
	config.Addresses = addresses
	config.Key = cache.KeysFor(c.Policy, t)
	if config.Layout, err = r.view(c.Capacity).layoutFor(c); err != nil {
		return config, nil, err
	}
	addPrefetcher(c, addresses, &config)
	return config, counted, nil
}

// nodes returns the empty cache of a cell for a part of the trace, or that of each of its nodes, and all predictors.
func (r *Replayer) nodes(ctx context.Context, c Cell, t *traces.Trace, warmup int,
	nextUse func() []uint32) (cache.Cache, *predictors, error) {
	if r.routesObjects(c) {
		return r.onShards(ctx, c)
	}
	return r.build(ctx, c, t, warmup, nextUse, nil)
}

func addPrefetcher(c Cell, addresses *prefetch.Addresses, config *cache.Config) {
	if c.Prefetcher == nil {
		return
	}
	config.Prefetcher = c.Prefetcher
	if c.Policy.Entry.Unbounded {
		config.Capacity = math.MaxInt64 / 2 // addresses that the trace never requests need room, too
	}
	if config.Relations != nil && config.Relations.Topics != nil && addresses != nil {
		strangers := slices.Repeat([]int32{-1}, addresses.Strangers()) // addresses outside the trace that may be proposed
		config.Relations.Topics = slices.Concat(config.Relations.Topics, strangers)
	}
}

// cacheConfig returns the config of a cell's cache for a part of the trace, without predictors.
func cacheConfig(c Cell, t *traces.Trace, nextUse func() []uint32) cache.Config {
	return cache.Config{
		Trace:      t,
		Capacity:   capacityOf(c, t),
		Unit:       !c.Capacity.Bytes || c.Cache.Entry.ServesPrompts(t),
		BlockBytes: blockBytes(t),
		Params:     c.Cache.Params,
		Policy:     c.Policy,
		Seed:       c.Seed,
		NextUse:    nextUse,
		Occupancy:  c.Series.IsSet(),
		Allocator:  c.Allocator,
		Admission:  c.Admission,

		Asynchronous: isAsynchronous(c.Model),
		Predicted:    approximates(c.Model),
	}
}

// blockBytes returns the bytes of the keys and values of a block; 0 if they are unknown.
func blockBytes(t *traces.Trace) int64 {
	if p := prompts.Of(t.Kind); p != nil {
		return p.Memory.BlockBytes
	}
	return 0
}

// sizesCount reports whether the sizes of requests count: not if pages do, nor for prompts, whose blocks have one size.
func sizesCount(c Cell, t *traces.Trace) bool {
	return c.Capacity.Bytes && !cache.HasPools(c.Cache) && !c.Cache.Entry.ServesPrompts(t)
}

func capacityOf(c Cell, t *traces.Trace) int64 {
	if c.Policy.Entry.Unbounded {
		return t.Everything(c.Capacity.Bytes)
	}
	return c.Capacity.Simulated
}

func (r *Replayer) progress() func(int) {
	if r.options.Progress == nil {
		return nil
	}
	return func(n int) { r.options.Progress(int64(n)) }
}

// boundInput describes a part of the trace, and the whole room of the cache of a cell.
func boundInput(c Cell, t *traces.Trace, warmup int, nextUse func() []uint32) (oracle.BoundInput, error) {
	in := oracle.BoundInput{Objects: t.Objects, NumObjects: t.NumObjects, Capacity: c.Capacity.Simulated,
		Groups: t.Groups, From: warmup, Writes: t.IsWrite, NextUse: nextUse()}
	if t.Fills() {
		in.Uncounted = t.IsWrite
	}
	if c.Capacity.Bytes {
		in.ObjectSizes, in.RequestSizes = t.ObjectSizes, t.RequestSizes
	}
	of := c.Cache.Entry.Whole
	if of == nil {
		return in, nil
	}
	var err error
	in.Capacity, err = of(cacheConfig(c, t, nextUse))
	return in, err
}

func (r *Replayer) boundPart(ctx context.Context, c Cell, t *traces.Trace, warmup int, nextUse func() []uint32,
	_ *windows.Sampler, _ *windows.Marks) (outcome, error) {
	if c.Router != nil {
		return r.boundOfNodes(ctx, c)
	}
	of, err := boundInput(c, t, warmup, nextUse)
	if err != nil {
		return outcome{}, err
	}
	in := policies.BoundInput{BoundInput: of}
	if _, in.Relations, err = r.relate(ctx, c, t); err != nil {
		return outcome{}, fmt.Errorf("bound %s: %w", c.Policy, err)
	}
	start := time.Now()
	bound, err := c.Policy.Entry.LowerBound(in)
	if err != nil {
		return outcome{}, fmt.Errorf("bound %s: %w", c.Policy, err)
	}
	if r.options.Progress != nil {
		r.options.Progress(int64(len(t.Objects)))
	}
	requests := int64(t.Counted(warmup, len(t.Objects)))
	counts := cache.Counts{Requests: requests, Hits: requests - int64(math.Ceil(bound))}
	out := outcome{values: counts.Values(cache.Entry{}, false), elapsed: time.Since(start)}
	out.values.Set(metric.LowerBoundMisses, bound)
	return out, nil
}
