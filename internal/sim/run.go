package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/interruptible"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
)

// RunOptions say what Run replays and how.
type RunOptions struct {
	Policies   []policies.Spec
	Capacities []Capacity
	// LRUCapacities are capacities at which lru is reported besides. Where its reuse distances tell, all of them together cost
	// one pass over the trace; ns_per_request is then that of the pass.
	LRUCapacities []Capacity
	Seed          uint64
	Warmup        int // requests served before counting begins
	Jobs          int // replays at a time; 0 means one per core
	Version       string
	Planned       func(n int64) // called once, before the first replay, with how many requests Progress will report; may be nil
	Progress      func(n int64) // called from all jobs with requests served since the last call; may be nil
}

// cell is one policy at one capacity: the unit of work.
type cell struct {
	spec     policies.Spec
	capacity Capacity
}

// key names a cell among those of one run.
func (c cell) key() string {
	return fmt.Sprintf("%s|%+v", c.spec, c.capacity)
}

// outcome is what a cell gave.
type outcome struct {
	counts   Counts
	bound    float64 // a Bound's least number of misses
	elapsed  time.Duration
	counters []policies.Counter
}

// runner replays the cells of one Run.
type runner struct {
	trace   *traces.Trace
	sized   *traces.Trace // the trace without zero-size requests, for capacities in bytes
	options RunOptions

	footprint    int64 // bytes; 0 where no capacity counts bytes
	warmup       int   // requests of trace served before counting begins
	warmupSized  int   // requests of sized among them
	nextUse      func() []uint32
	nextUseSized func() []uint32
}

// Run replays every policy at every capacity, and the optimum that each is held against, on several cores over the shared trace.
// The records come capacity by capacity, policies in the order given; they do not depend on the number of jobs except in
// ns_per_request. On cancellation it returns the records of the replays that had ended, with ctx's error.
func Run(ctx context.Context, t *traces.Trace, options RunOptions) ([]records.Record, error) {
	r := newRunner(t, options)
	jobs, err := r.plan()
	if err != nil {
		return nil, err
	}
	if options.Planned != nil {
		options.Planned(int64(len(jobs)) * int64(len(t.Objects)))
	}
	done, err := r.runAll(ctx, jobs)
	return r.records(done), err
}

func newRunner(t *traces.Trace, options RunOptions) *runner {
	r := &runner{trace: t, sized: t, options: options, warmup: options.Warmup, warmupSized: options.Warmup}
	if slices.ContainsFunc(slices.Concat(options.Capacities, options.LRUCapacities), func(c Capacity) bool { return c.Bytes }) {
		r.sized, _ = t.WithoutZeroSizes()
		r.footprint = r.sized.Footprint()
	}
	r.nextUse = sync.OnceValue(func() []uint32 { return oracle.NextUse(t.Objects, t.NumObjects) })
	r.nextUseSized = r.nextUse
	if r.sized != t {
		r.warmupSized = sizedBefore(t, options.Warmup)
		r.nextUseSized = sync.OnceValue(func() []uint32 { return oracle.NextUse(r.sized.Objects, r.sized.NumObjects) })
	}
	return r
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

// plan lists the cells to replay: those asked for, and the optima they are held against, each once. A job is a single cell, or
// several of lru that share one pass.
func (r *runner) plan() (jobs [][]cell, err error) {
	seen := map[string]bool{}
	add := func(job ...cell) {
		job = slices.DeleteFunc(job, func(c cell) bool {
			again := seen[c.key()]
			seen[c.key()] = true
			return again
		})
		if len(job) > 0 {
			jobs = append(jobs, job)
		}
	}
	shared, single := r.lruCells()
	for _, job := range shared {
		add(job...)
	}
	for _, c := range single {
		add(c)
	}
	for _, capacity := range r.options.Capacities {
		for _, spec := range r.options.Policies {
			c := cell{spec, capacity}
			if err := r.check(c); err != nil {
				return nil, err
			}
			add(c)
			for _, reference := range references(c) {
				add(reference)
			}
		}
	}
	return jobs, nil
}

// check refuses a cell that cannot be replayed on this trace.
func (r *runner) check(c cell) error {
	e := c.spec.Entry
	switch {
	case c.capacity.Bytes && e.Units == policies.UnitsObjects:
		return fmt.Errorf("policy %s works with capacities in objects only, not in bytes", e.Name)
	case !c.capacity.Bytes && e.Units == policies.UnitsBytes:
		return fmt.Errorf("policy %s works with capacities in bytes only (write 64MiB, or 1%% with --bytes)", e.Name)
	case c.capacity.Bytes && len(r.sized.Objects) <= r.warmupSized:
		return fmt.Errorf("%s has no request of a size above 0 to count; capacities in objects ignore sizes", r.trace.Name)
	case e.NeedsTime && r.trace.Times == nil:
		return fmt.Errorf("policy %s needs a clock, but %s has no times", e.Name, r.trace.Name)
	}
	return nil
}

// optimum returns the cell that c's misses are divided by: the offline optimum under the same rules, at the same capacity.
func optimum(c cell) cell {
	name := "opt"
	switch {
	case c.capacity.Bytes:
		name = "belady-size"
	case c.spec.Entry.Bypass:
		name = "opt-bypass"
	}
	return cell{mustSpec(name), c.capacity}
}

// lowerBound returns the cell that bounds c's misses from below where sizes count.
func lowerBound(c cell) cell { return cell{mustSpec("pfoo-l"), c.capacity} }

// references returns the cells that c is held against. A policy that ignores its capacity is held against the compulsory
// misses, which need no replay.
func references(c cell) []cell {
	switch {
	case c.spec.Entry.Unbounded:
		return nil
	case c.capacity.Bytes:
		return []cell{optimum(c), lowerBound(c)}
	}
	return []cell{optimum(c)}
}

// mustSpec returns a policy of the registry with its defaults.
func mustSpec(name string) policies.Spec {
	spec, err := policies.ParseSpec(name)
	if err != nil {
		panic(err)
	}
	return spec
}

// runAll does the jobs on options.Jobs goroutines and returns what has ended.
func (r *runner) runAll(ctx context.Context, jobs [][]cell) (map[string]outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	atOnce := r.options.Jobs
	if atOnce <= 0 {
		atOnce = runtime.GOMAXPROCS(0)
	}
	done := map[string]outcome{}
	queue := make(chan []cell)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range min(atOnce, len(jobs)) {
		workers.Go(func() {
			for job := range queue {
				outcomes, err := r.runJob(ctx, job)
				if err != nil {
					cancel(err)
					continue
				}
				mu.Lock()
				for k, c := range job {
					done[c.key()] = outcomes[k]
				}
				mu.Unlock()
			}
		})
	}
feed:
	for _, job := range jobs {
		select {
		case queue <- job:
		case <-ctx.Done():
			break feed
		}
	}
	close(queue)
	workers.Wait()
	return done, context.Cause(ctx)
}

func (r *runner) runJob(ctx context.Context, job []cell) ([]outcome, error) {
	if len(job) > 1 {
		return r.runLRU(ctx, job)
	}
	out, err := r.runCell(ctx, job[0])
	return []outcome{out}, err
}

// traceFor returns the requests that a cell sees, how many of them warm the cache up, and their next uses.
func (r *runner) traceFor(c cell) (t *traces.Trace, warmup int, nextUse func() []uint32) {
	if c.capacity.Bytes {
		return r.sized, r.warmupSized, r.nextUseSized
	}
	return r.trace, r.warmup, r.nextUse
}

func (r *runner) runCell(ctx context.Context, c cell) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	t, warmup, nextUse := r.traceFor(c)
	if c.spec.Entry.Kind == policies.Bound {
		return r.runBound(ctx, c, t, warmup, nextUse)
	}
	config := policies.Config{
		Capacity: c.capacity.Simulated, Unit: !c.capacity.Bytes, Objects: t.NumObjects, Requests: len(t.Objects),
		Seed: r.options.Seed, Params: c.spec.Params,
	}
	if c.spec.Entry.Unbounded {
		config.Capacity = unbounded(t, c.capacity.Bytes)
	}
	p, err := interruptible.Call(ctx, func() (policies.Policy, error) {
		if c.spec.Entry.Kind == policies.Offline {
			config.NextUse = nextUse()
		}
		return c.spec.Entry.New(config)
	})
	if err != nil {
		return outcome{}, fmt.Errorf("policy %s: %w", c.spec, err)
	}
	start := time.Now()
	counts, err := Replay(ctx, t, newCache(p, config), ReplayOptions{
		Bytes: c.capacity.Bytes, Warmup: warmup, Progress: r.progress(),
	})
	out := outcome{counts: counts, elapsed: time.Since(start)}
	if reporter, ok := p.(policies.Reporter); ok {
		out.counters = reporter.Counters()
	}
	return out, err
}

// newCache returns the exact-match cache for a policy: its batch path where it has one.
func newCache(p policies.Policy, config policies.Config) Cache {
	if batch, ok := p.(policies.UnitReplayer); ok && config.Unit {
		return batchExact{batch}
	}
	return NewExact(p, config.Capacity, config.Objects)
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

func (r *runner) progress() func(int) {
	if r.options.Progress == nil {
		return nil
	}
	return func(n int) { r.options.Progress(int64(n)) }
}

func (r *runner) runBound(ctx context.Context, c cell, t *traces.Trace, warmup int, nextUse func() []uint32) (outcome, error) {
	in := policies.BoundInput{
		Objects: t.Objects, NumObjects: t.NumObjects, Capacity: c.capacity.Simulated, From: warmup,
	}
	if c.capacity.Bytes {
		in.ObjectSizes, in.RequestSizes = t.ObjectSizes, t.RequestSizes
	}
	var start time.Time
	bound, err := interruptible.Call(ctx, func() (float64, error) {
		in.NextUse = nextUse()
		start = time.Now()
		return c.spec.Entry.LowerBound(in)
	})
	if err != nil {
		return outcome{}, fmt.Errorf("bound %s: %w", c.spec, err)
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

// records turns the outcomes into records, capacity by capacity, and marks the best online policy of each.
func (r *runner) records(done map[string]outcome) []records.Record {
	var all []records.Record
	lru := mustSpec("lru")
	for _, capacity := range r.options.Capacities {
		specs := r.options.Policies
		if slices.Contains(r.options.LRUCapacities, capacity) && !slices.ContainsFunc(specs, isLRU) {
			specs = append([]policies.Spec{lru}, specs...)
		}
		recs := r.recordsAt(capacity, specs, done)
		markBest(recs)
		all = append(all, recs...)
	}
	for _, capacity := range r.options.LRUCapacities {
		if !slices.Contains(r.options.Capacities, capacity) {
			all = append(all, r.recordsAt(capacity, []policies.Spec{lru}, done)...)
		}
	}
	return all
}

// recordsAt returns the records of the policies that have ended at one capacity.
func (r *runner) recordsAt(capacity Capacity, specs []policies.Spec, done map[string]outcome) (recs []records.Record) {
	for _, spec := range specs {
		c := cell{spec, capacity}
		if out, ok := done[c.key()]; ok {
			recs = append(recs, r.record(c, out, done))
		}
	}
	return recs
}

func (r *runner) record(c cell, out outcome, done map[string]outcome) records.Record {
	n := out.counts
	rec := records.Record{
		Trace: r.trace.Name, Policy: c.spec.Entry.Name, Params: c.spec.ParamString(), Label: c.spec.String(),
		Kind: c.spec.Entry.Kind.String(), Cache: "exact",
		Capacity: c.capacity.Amount, CapacityUnit: c.capacity.Unit(), SimulatedCapacity: c.capacity.Simulated,
		Seed: r.options.Seed, SampleRate: r.trace.SampleRate, Warmup: int64(r.options.Warmup),
		Requests: n.Requests, Hits: n.Hits, Misses: n.Misses(), HitRatio: r.hitRatio(n),
		Evictions: n.Evictions, Oversized: n.Oversized, Version: r.options.Version, Counters: formatCounters(out.counters),
	}
	if c.spec.Entry.Kind != policies.Bound {
		rec.NsPerRequest = float64(out.elapsed.Nanoseconds()) / float64(max(1, n.Requests+int64(r.options.Warmup)))
		if c.capacity.Bytes {
			rec.Bytes, rec.HitBytes = new(n.Bytes), new(n.HitBytes)
			rec.ByteHitRatio = new(ratio(n.HitBytes, n.Bytes))
		}
	}
	rec.CapacityShare = new(r.share(c.capacity))
	r.compare(&rec, c, done)
	return rec
}

// hitRatio returns hits/requests, and on a sample what that estimates of the whole trace: a sample may miss the hottest objects, whose
// requests are nearly all hits, or hold too many of them, but it has its share of the misses (the adjustment of Waldspurger et al.,
// FAST 2015). Requests that do not count, of a warm-up or of size 0, are taken to be the same share of the whole.
func (r *runner) hitRatio(n Counts) float64 {
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
func (r *runner) share(c Capacity) float64 {
	if c.Bytes {
		return float64(c.Simulated) / float64(max(1, r.footprint))
	}
	return float64(c.Simulated) / float64(r.trace.NumObjects)
}

// compare fills in the competitive ratio. Under a warm-up both sides count the requests after it.
func (r *runner) compare(rec *records.Record, c cell, done map[string]outcome) {
	if c.spec.Entry.Unbounded {
		rec.Optimum, rec.OptMisses, rec.CompetitiveRatio = "compulsory", new(rec.Misses), over(rec.Misses, float64(rec.Misses))
		return
	}
	best := optimum(c)
	if out, ok := done[best.key()]; ok {
		rec.Optimum, rec.OptMisses = best.spec.Entry.Name, new(out.counts.Misses())
		rec.CompetitiveRatio = over(rec.Misses, float64(out.counts.Misses()))
	}
	if !c.capacity.Bytes {
		return
	}
	if out, ok := done[lowerBound(c).key()]; ok {
		rec.LowerBoundMisses = new(out.bound)
		rec.CompetitiveRatioMax = over(rec.Misses, out.bound)
	}
}

// over returns misses/reference, or nil where the reference is 0 and the ratio does not exist.
func over(misses int64, reference float64) *float64 {
	if reference == 0 {
		return nil
	}
	return new(float64(misses) / reference)
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// markBest marks the online policies with the highest hit ratio among the records of one capacity. An unbounded cache is no
// competitor.
func markBest(recs []records.Record) {
	best := -1.0
	competes := func(rec records.Record) bool {
		e, _ := policies.Find(rec.Policy)
		return e.Kind == policies.Online && !e.Unbounded
	}
	for _, rec := range recs {
		if competes(rec) {
			best = max(best, rec.HitRatio)
		}
	}
	for i := range recs {
		recs[i].Best = competes(recs[i]) && recs[i].HitRatio == best
	}
}

func formatCounters(counters []policies.Counter) string {
	parts := make([]string, len(counters))
	for i, c := range counters {
		parts[i] = c.Name + "=" + strconv.FormatFloat(c.Value, 'g', -1, 64)
	}
	return strings.Join(parts, ",")
}

// Interrupted reports whether err says that the user stopped the run.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }
