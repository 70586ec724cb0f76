package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/neighbours"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Options say how Execute runs cells and who is notified of them.
type Options struct {
	Jobs int      // replays that run at the same time; 0 means one per core
	Dirs []string // folders to search for traces, as in Workload.Load
	// Finished receives the result of each cell, one call at a time, in the order in which cells end. For cells with the
	// same hash it receives only the first; Result.RecordOf gives the records of the others. An error stops the run.
	Finished func(Cell, Result) error
	// Failed, if set, receives the cells that cannot be replayed, with the reason. The others continue unless it returns
	// an error. If it is nil, the first failure stops the run.
	Failed   func([]Cell, error) error
	Progress Progress       // may be nil
	Memory   *memory.Budget // memory limit for everything; nil means all there is
	// Trace returns a trace that is already in memory, or nil if it must be loaded; may be nil. Held is the caller's other
	// memory, in bytes.
	Trace func(workload.Workload) *traces.Trace
	Held  int64
	// Kept keeps what replays of a trace share for further calls with the same trace; may be nil.
	Kept         *Kept
	Blocks       bool   // as in sim.ReplayerOptions
	NeighbourDir string // as in neighbours.Options
	// Device is the GPU that does what it can; nil for the CPU alone. Results do not depend on it, only times do.
	Device *cuda.Shared
	// Note receives how traces were interpreted, and the notes of neighbours.Options and sim.ReplayerOptions, each only
	// once; may be nil.
	Note func(text string)
	// prepared receives each trace before its replays start. It is for tests; may be nil.
	prepared func(*traces.Trace)
}

func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

type cellError struct {
	cell Cell
	err  error
}

func (e *cellError) Error() string { return e.cell.String() + ": " + e.err.Error() }
func (e *cellError) Unwrap() error { return e.err }

// Cause returns an error of Execute without the cell that failed, for callers whose users know which one it was.
func Cause(err error) error {
	var failed *cellError
	if errors.As(err, &failed) {
		return failed.err
	}
	return err
}

// Progress is notified of Execute's progress. Its methods, and those of its tasks, are called from several goroutines.
type Progress interface {
	Loading(trace string) Task
	Comparing(trace string) Task // compares the queries of a trace with each other
	// Planned receives the number of requests that the replays of a trace will serve, once the trace is loaded.
	Planned(requests int64)
	Replaying(cells []Cell) Task // several if they share one pass over the trace
}

// Task is an operation that takes a while.
type Task interface {
	Set(done, total int64) // in requests or bytes; total is 0 if unknown
	End()
}

type Result struct {
	Record  records.Record `json:"record"` // of the cell that ran, without times, and without comparison to others
	Times   sim.Times      `json:"times,omitempty"`
	Seconds float64        `json:"seconds"` // of the replay; if several cells shared a pass, each has an equal share
	// Device is the model of the GPU that replayed the cell, and so made the times; "" for the CPU.
	Device string         `json:"device,omitempty"`
	Series []series.Row   `json:"series,omitempty"` // the series, if requested; they do not name their cell
	Blocks *blocks.Blocks `json:"-"`                // if requested
}

// RecordOf returns the record for c, which must have the hash of the cell that ran. The record has c's names.
func (r Result) RecordOf(c Cell) (records.Record, error) {
	rec := r.Record
	if c.Workload.Name != "" {
		rec.Trace = c.Workload.Name
	}
	rec.Label = cmp.Or(c.Label, c.Parts.Policy.String())
	rec.Axes, rec.Cell, rec.CapacityText, rec.Seed, rec.Version = c.Axes, c.Hash, c.Capacity.String(), c.Seed, c.Version
	c.Parts.NameFiles(&rec)
	return rec, c.Workload.Describe(&rec)
}

func (c Cell) on(t *traces.Trace) (on sim.Cell, err error) {
	if err := sim.CheckWarmup(t, c.Warmup); err != nil {
		return on, err
	}
	on = sim.Cell{Parts: c.Parts.Parts, Capacity: c.Capacity, Seed: c.Seed, Series: c.Series,
		OnePass: c.OnePass && !c.Series.IsSet()}
	if own, ok := sim.OwnCapacity(c.Parts.Cache); ok {
		on.Capacity, err = sim.OwnCapacityOn(t, own, c.Parts.Cache, c.Sizes)
	} else if c.Capacity.Amount == 0 {
		on.Capacity, err = c.Capacity.On(t, c.Sizes)
	}
	return on, err
}

// ByWorkload groups cells by workload, both in order of first appearance.
func ByWorkload(cells []Cell) [][]Cell {
	return records.GroupBy(cells, func(c Cell) string { return c.Workload.Key() })
}

// WithoutRepetitions returns the cells without those whose hash an earlier cell has.
func WithoutRepetitions(cells []Cell) []Cell {
	return records.Firsts(cells, func(c Cell) string { return c.Hash })
}

// Rows returns how many records the cells have.
func Rows(cells []Cell) int { return records.Count(cells, func(c Cell) bool { return !c.Auxiliary }) }

// Execute replays cells on several cores, trace by trace in the order of the cells. A trace is loaded once, when the
// first of its cells can start, and released when its last cell has ended. On cancellation or after a failure it
// returns the error; options.Finished has then received the cells that ended before.
func Execute(ctx context.Context, cells []Cell, options Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if options.Progress == nil {
		options.Progress = silent{}
	}
	e := &executor{options: options, cancel: cancel, costs: map[string]float64{}}
	e.changed.L = &e.mu
	if slices.ContainsFunc(cells, func(c Cell) bool { return c.Series.IsSet() }) {
		options.Memory.Advise("longer windows of the series")
	}
	if err := e.plan(ctx, cells); err != nil {
		return err
	}
	var workers sync.WaitGroup
	for range min(parallel.Jobs(options.Jobs), len(cells)) {
		workers.Go(func() { e.work(ctx) })
	}
	workers.Wait()
	return context.Cause(ctx)
}

type executor struct {
	options Options
	cancel  context.CancelCauseFunc

	noted     sync.Map   // the notes that options.Note has received
	reporting sync.Mutex // allows one call of options.Finished or Failed at a time

	mu      sync.Mutex // guards all that follows
	changed sync.Cond  // signals that a trace is loaded or a worker is done
	waiting []*group   // whose trace is not loaded, in order
	open    []*group   // whose trace is in memory or being loaded
	largest int        // requests of the largest trace so far
	taken   int64      // estimated memory of the running jobs
	busy    bool       // whether a job runs on the device
	costs   map[string]float64
}

type group struct {
	cells   []Cell
	bytes   int64 // for the trace and what its replays share
	need    int64 // estimated memory of its largest job
	loading bool
	queues  []queue // without empty queues
	running int
}

// queue is the jobs of one policy, or of the device, that have not started.
type queue struct {
	policy   string
	onDevice bool
	jobs     []job
}

type job struct {
	sim.Job
	serves   [][]Cell // for each of its cells, the experiment's cells that it serves
	replayer *sim.Replayer
	need     int64 // estimated memory
	requests int
}

// plan groups the cells by trace, and reports those that cannot be replayed.
func (e *executor) plan(ctx context.Context, cells []Cell) error {
	sums := workload.Checksums{}
	for _, same := range ByWorkload(WithoutRepetitions(cells)) {
		g := &group{}
		for _, c := range same {
			// What cannot be recorded is not worth replaying.
			err := c.Workload.Describe(&records.Record{})
			if err == nil {
				err = sums.Check(ctx, c.Parts.Files(), c.Parts.Checksum)
			}
			if err == nil {
				g.cells = append(g.cells, c)
			} else if err := e.report([]Cell{c}, &cellError{c, err}); err != nil {
				return err
			}
		}
		if len(g.cells) > 0 {
			e.waiting = append(e.waiting, g)
		}
	}
	return nil
}

// report passes a failure on; its result stops the run. A lack of memory and a failure of the device are not the cell's
// fault and always stop it.
func (e *executor) report(cells []Cell, err error) error {
	if e.options.Failed == nil || errors.As(err, new(*memory.Error)) || cuda.Failed(err) {
		return err
	}
	e.reporting.Lock()
	defer e.reporting.Unlock()
	return e.options.Failed(cells, err)
}

func (e *executor) work(ctx context.Context) {
	for {
		g, j := e.next(ctx)
		var err error
		switch {
		case g == nil:
			return
		case j == nil:
			err = e.load(ctx, g)
		default:
			err = e.replay(ctx, *j)
		}
		if err != nil {
			e.cancel(err)
		}
		e.ended(g, j)
	}
}

// next waits for a job of a loaded trace, the first trace first, or for room to load another trace; a nil job means
// that the group's trace must be loaded. A nil group means that nothing is left to start.
func (e *executor) next(ctx context.Context) (*group, *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ctx.Err() == nil {
		for _, g := range e.open {
			if e.startable(g) && e.fits(g) {
				j := e.takeLongest(g)
				e.busy = e.busy || j.OnDevice()
				g.running++
				e.taken += j.need
				return g, &j
			}
		}
		// Jobs that cannot start wait for memory or for the device; another trace would only take more of it.
		held := slices.ContainsFunc(e.open, func(g *group) bool { return len(g.queues) > 0 })
		if len(e.waiting) > 0 && !held && e.roomForAnother() {
			g := e.waiting[0]
			e.waiting = e.waiting[1:]
			e.open = append(e.open, g)
			g.loading = true
			return g, nil
		}
		if len(e.waiting) == 0 && !held && !slices.ContainsFunc(e.open, func(g *group) bool { return g.loading }) {
			return nil, nil
		}
		e.changed.Wait()
	}
	return nil, nil
}

// ownBytes is roughly the memory of the program itself.
const ownBytes = 64 << 20

// fits reports whether a job of g may run next to those that are running: always if none is.
func (e *executor) fits(g *group) bool {
	left := e.room() - e.taken
	for _, other := range e.open {
		left -= other.bytes
	}
	if e.taken > 0 && g.need > left {
		e.sayFewer()
		return false
	}
	return true
}

func (e *executor) room() int64 { return e.options.Memory.Total() - ownBytes - e.options.Held }

// together reports whether as many replays of a trace as --jobs allows fit into memory next to it; one always does. It
// depends on the plan alone: the first replays may have ended before the others would start.
func (e *executor) together(bytes int64, jobs []job) bool {
	n := min(parallel.Jobs(e.options.Jobs), len(jobs))
	needs := make([]int64, len(jobs))
	for i, j := range jobs {
		needs[i] = j.need
	}
	slices.Sort(needs)
	left := e.room() - bytes
	for _, need := range needs[len(needs)-n:] {
		left -= need
	}
	return n < 2 || left >= 0
}

func (e *executor) sayFewer() {
	e.note(fmt.Sprintf("fewer replays run at the same time than --jobs allows, because more do not fit into %s of memory "+
		"(--memory)", memory.Bytes(e.options.Memory.Total())))
}

// fewRequests is a number of requests, over all traces, that needs little memory on any machine: some 100 MB.
const fewRequests = 1 << 24

// manyRequests is the length of a trace from which its garbage is worth a collection of its own.
const manyRequests = 1 << 20

// largeNeed is the need of a job, in bytes, whose garbage is worth a collection of its own.
const largeNeed = 256 << 20

// roomForAnother reports whether another trace may be loaded: always if none is being loaded; otherwise if all of them
// are known to be small. Many small traces thus load on all cores, and large ones one after another.
func (e *executor) roomForAnother() bool {
	loading := slices.ContainsFunc(e.open, func(g *group) bool { return g.loading })
	return !loading || e.largest > 0 && (len(e.open)+1)*e.largest <= fewRequests
}

// startable reports whether a job of g may start: one on the device only if no other runs there.
func (e *executor) startable(g *group) bool {
	return slices.ContainsFunc(g.queues, func(q queue) bool { return !q.onDevice || !e.busy })
}

// takeLongest takes the job of g with the longest expected time, so that no core is idle at the end. A policy that has
// not been timed counts as long, and comes first if it has not started, so that it will be timed. Jobs of the device
// are before all others. The group must be startable.
func (e *executor) takeLongest(g *group) job {
	best, longest := 0, -1.0
	for i, q := range g.queues {
		cost := e.cost(q.policy)
		switch {
		case q.onDevice && e.busy:
			continue
		case q.onDevice:
			cost = math.Inf(1)
		}
		if cost > longest {
			best, longest = i, cost
		}
	}
	q := &g.queues[best]
	if _, started := e.costs[q.policy]; !started {
		e.costs[q.policy] = startedCost
	}
	j := q.jobs[0]
	if q.jobs = q.jobs[1:]; len(q.jobs) == 0 {
		g.queues = slices.Delete(g.queues, best, best+1)
	}
	return j
}

// Costs of a job whose policy has not been timed, larger than those of any request in ns.
const (
	startedCost = 1e12
	unknownCost = 2e12
)

func (e *executor) cost(policy string) float64 {
	if cost, ok := e.costs[policy]; ok {
		return cost
	}
	return unknownCost
}

func (j job) policy() string {
	if j.OnDevice() {
		return "" // no policy has this name
	}
	return j.Cells()[0].Policy.String()
}

// inQueues returns jobs grouped by policy, both in order of first appearance.
func inQueues(jobs []job) (queues []queue) {
	for _, same := range records.GroupBy(jobs, job.policy) {
		queues = append(queues, queue{policy: same[0].policy(), onDevice: same[0].OnDevice(), jobs: same})
	}
	return queues
}

// ended updates the accounts for a job that next returned.
func (e *executor) ended(g *group, j *job) {
	// What the job needed is garbage now, and counted as free for the next one.
	if j != nil && j.need > largeNeed {
		debug.FreeOSMemory()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if j == nil {
		g.loading = false
	} else {
		g.running--
		e.busy = e.busy && !j.OnDevice()
		e.taken -= j.need
	}
	if !g.loading && g.running == 0 && len(g.queues) == 0 {
		e.open = slices.DeleteFunc(e.open, func(other *group) bool { return other == g })
	}
	e.changed.Broadcast()
}

// load loads the trace of g, if it is not in memory, and lists its jobs.
func (e *executor) load(ctx context.Context, g *group) error {
	first := g.cells[0]
	if e.options.Trace != nil {
		if t := e.options.Trace(first.Workload); t != nil {
			return e.prepare(g, t)
		}
	}
	loading := traces.LoadOptions{
		Needs: needs(g.cells), Memory: e.options.Memory, RequestBytes: sim.NextUseBytes, NextUse: true,
		BadLines: traces.UsualBadLines,
	}
	task := e.options.Progress.Loading(first.TraceName())
	defer task.End()
	loading.Progress = task.Set
	t, err := first.Workload.Load(ctx, e.options.Dirs, loading)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return e.report(g.cells, fmt.Errorf("trace %s: %w", first.TraceName(), err))
	}
	// The tables that numbered the keys are now garbage. Returning them at once makes room for the replays' tables, which
	// are about as large. For a short trace this is little, and an experiment may have thousands of short traces.
	if len(t.Objects) > manyRequests {
		debug.FreeOSMemory()
	}
	e.sayReadings(t, loading.Sizes)
	return e.prepare(g, t)
}

// prepare lists the jobs of a group, whose trace is in memory.
func (e *executor) prepare(g *group, t *traces.Trace) error {
	if e.options.prepared != nil {
		e.options.prepared(t)
	}
	jobs, err := e.jobs(t, g.cells)
	if err != nil {
		return err
	}
	e.sayDuration(t, jobs)
	var need, requests int64
	for _, j := range jobs {
		need, requests = max(need, j.need), requests+int64(j.requests)
	}
	e.options.Progress.Planned(requests)
	bytes := t.Bytes() + sim.NextUseBytes*int64(len(t.Objects))
	if !e.together(bytes, jobs) {
		e.sayFewer()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	g.bytes, g.need = bytes, need
	g.queues = inQueues(jobs)
	e.largest = max(e.largest, len(t.Objects))
	return nil
}

// sayReadings notes how the files of a trace were interpreted. A generator is named.
func (e *executor) sayReadings(t *traces.Trace, sizesCount bool) {
	if t.ReadAs() == "" {
		return
	}
	remark := ""
	if !sizesCount {
		remark = " (not used)"
	}
	e.reporting.Lock()
	defer e.reporting.Unlock()
	for _, line := range slices.Concat(t.Lines(remark), t.Warnings) {
		e.note(line)
	}
}

// sayDuration notes the expected time of a trace's replays on the CPU if it is long.
func (e *executor) sayDuration(t *traces.Trace, jobs []job) {
	var passes []sim.Cell
	for _, j := range jobs {
		if !j.OnDevice() {
			passes = append(passes, j.Cells()[0])
		}
	}
	if len(passes) == 0 {
		return
	}
	note := sim.LongNote(passes, parallel.Jobs(e.options.Jobs), jobs[0].replayer.Duration, len(t.Objects))
	if note != "" {
		e.note(t.Name + ": " + note)
	}
}

func needs(cells []Cell) (needed traces.Needs) {
	for _, c := range cells {
		needed = needed.Union(sim.Needs([]sim.Parts{c.Parts.Parts}, c.Capacity.CountsBytes(c.Sizes)))
		needed.Times = needed.Times || c.Series.Span > 0
	}
	needed.Lengths = !slices.ContainsFunc(cells, func(c Cell) bool { return c.Parts.NeedsContents() })
	return needed
}

// jobs returns the passes over t that cells need. Cells that are the same for this trace, such as 1% and 100, share a
// pass, and so do those of lru-stack.
func (e *executor) jobs(t *traces.Trace, cells []Cell) (jobs []job, err error) {
	for _, same := range records.GroupBy(cells, func(c Cell) int { return c.Warmup }) {
		warmup := same[0].Warmup
		r := e.options.Kept.replayer(t, warmup, func() *sim.Replayer {
			return sim.NewReplayer(t, sim.ReplayerOptions{Warmup: warmup, Jobs: e.options.Jobs, Memory: e.options.Memory,
				Blocks: e.options.Blocks, Neighbours: e.neighbours(same[0]), Device: e.options.Device, Note: e.note})
		})
		var once []sim.Cell
		served := map[string][]Cell{}
		for _, c := range same {
			s, err := c.on(t)
			if err == nil {
				err = r.Check(s)
			}
			if err != nil {
				if err := e.report([]Cell{c}, &cellError{c, err}); err != nil {
					return nil, err
				}
				continue
			}
			key := s.Key()
			if served[key] == nil {
				once = append(once, s)
			}
			served[key] = append(served[key], c)
		}
		for _, pass := range r.Jobs(once) {
			j := job{Job: pass, replayer: r, requests: r.Requests(pass.Cells()[0].Capacity)}
			if j.need, err = r.Fits(pass, e.options.Memory); err != nil {
				return nil, err
			}
			for _, s := range pass.Cells() {
				j.serves = append(j.serves, served[s.Key()])
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// Kept keeps what the replays of traces in memory share, such as the next uses of their requests. Its options are those
// of the first call of Execute with a trace.
type Kept struct{ replayers sync.Map }

type keptKey struct {
	trace  *traces.Trace
	warmup int
}

// replayer returns what is kept for a trace, or what create makes.
func (k *Kept) replayer(t *traces.Trace, warmup int, create func() *sim.Replayer) *sim.Replayer {
	if k == nil {
		return create()
	}
	r, _ := k.replayers.LoadOrStore(keptKey{t, warmup}, create())
	return r.(*sim.Replayer)
}

// On returns what replays a cell of a trace, and the cell there.
func (k *Kept) On(t *traces.Trace, c Cell) (*sim.Replayer, sim.Cell, error) {
	on, err := c.on(t)
	return k.replayer(t, c.Warmup, func() *sim.Replayer {
		return sim.NewReplayer(t, sim.ReplayerOptions{Warmup: c.Warmup})
	}), on, err
}

// replay runs a job and delivers its results.
func (e *executor) replay(ctx context.Context, j job) error {
	all := slices.Concat(j.serves...)
	task := e.options.Progress.Replaying(all)
	defer task.End()
	var done int64
	var moving sync.Mutex // some caches are replayed on several goroutines
	replayer := j.replayer.WithProgress(func(n int64) {
		moving.Lock()
		defer moving.Unlock()
		done += n
		task.Set(done, int64(j.requests))
	})
	start := time.Now()
	replayed, err := replayer.ReplayJob(ctx, j.Job)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return e.report(all, &cellError{all[0], err})
	}
	elapsed := time.Since(start).Seconds()
	e.learn(j, elapsed)
	e.reporting.Lock()
	defer e.reporting.Unlock()
	for k, r := range replayed {
		for _, c := range j.serves[k] {
			result := Result{Record: r.Record, Times: r.Times, Series: r.Series, Blocks: r.Blocks,
				Seconds: elapsed / float64(len(all))}
			if j.OnDevice() {
				result.Device = e.options.Device.Name()
			}
			if result.Record, err = result.RecordOf(c); err != nil {
				return err
			}
			if err := e.options.Finished(c, result); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *executor) learn(j job, seconds float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.costs[j.policy()] = 1e9 * seconds / float64(j.requests)
}

// neighbours says where the similar queries of a cell's trace are stored: nowhere for a generator, whose queries may
// never come again.
func (e *executor) neighbours(c Cell) neighbours.Options {
	options := neighbours.Options{Dir: e.options.NeighbourDir, Jobs: e.options.Jobs, Note: e.note,
		Comparing: func() (func(done, total int64), func()) {
			task := e.options.Progress.Comparing(c.TraceName())
			return task.Set, task.End
		}}
	if c.Workload.Generator != "" {
		options.Dir = ""
	}
	return options
}

func (e *executor) note(text string) {
	if _, said := e.noted.LoadOrStore(text, true); !said && e.options.Note != nil {
		e.options.Note(text)
	}
}

type silent struct{}

func (silent) Loading(string) Task   { return silentTask{} }
func (silent) Comparing(string) Task { return silentTask{} }
func (silent) Planned(int64)         {}
func (silent) Replaying([]Cell) Task { return silentTask{} }

type silentTask struct{}

func (silentTask) Set(int64, int64) {}
func (silentTask) End()             {}
