package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/memory"
	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/parallel"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/workload"
)

// Options say how Execute runs cells and who hears of them.
type Options struct {
	Jobs int      // replays at a time; 0 means one per core
	Dirs []string // folders in which traces are looked for, as Workload.Load does
	// Finished gets the result of each cell, one call at a time, in the order in which cells end. Of cells with the same
	// hash it gets the first only; Result.RecordOf gives the records of the others. An error stops the run.
	Finished func(Cell, Result) error
	// Failed, where it is set, gets the cells that cannot be replayed with the reason, and the others go on unless it
	// returns an error. Where it is nil the first failure stops the run.
	Failed   func([]Cell, error) error
	Progress Progress       // may be nil
	Memory   *memory.Budget // what all of it may take; nil: all that there is
	// Trace returns a trace that is in memory already, or nil where it is to be loaded; may be nil. Held is what the
	// caller keeps in memory besides, in bytes.
	Trace        func(workload.Workload) *traces.Trace
	Held         int64
	NeighbourDir string // that of sim.NeighbourOptions
	// Note hears what traces were read as, and what sim.NeighbourOptions and sim.ReplayerOptions have to say, the same
	// once; may be nil.
	Note func(text string)
}

// Interrupted reports whether err says that the user stopped the run.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// CellError says that a cell cannot be replayed.
type CellError struct {
	Cell Cell
	Err  error
}

func (e *CellError) Error() string { return e.Cell.String() + ": " + e.Err.Error() }
func (e *CellError) Unwrap() error { return e.Err }

// Progress hears what Execute is doing. Its methods, and those of its tasks, are called from several goroutines.
type Progress interface {
	Loading(trace string) Task
	Comparing(trace string) Task // the queries of a trace with each other
	// Planned is told how many requests the replays of a trace will serve, once it is loaded.
	Planned(requests int64)
	Replaying(cells []Cell) Task // several where they share one pass over the trace
}

// Task is something that takes a while.
type Task interface {
	Set(done, total int64) // in requests or bytes; total is 0 where it is not known
	End()
}

// Result is what the replay of a cell gave.
type Result struct {
	Record       records.Record `json:"record"`         // without what compares it with others, and without its time
	NsPerRequest *float64       `json:"ns_per_request"` // nil for a bound
	// PredictionNsPerRequest is the part of it that predictions took; nil where there are none.
	PredictionNsPerRequest *float64 `json:"prediction_ns_per_request,omitempty"`
	// that the replay took; an equal share of them where several cells shared a pass
	Seconds float64 `json:"seconds"`
	// over the time of the replay, where they are asked for; they do not name their cell
	Series []series.Row `json:"series,omitempty"`
}

// RecordOf returns the record as that of c, which must have the hash of the cell that was run: with the names that c
// gives to what was replayed.
func (r Result) RecordOf(c Cell) (records.Record, error) {
	rec := r.Record
	if c.Workload.Name != "" {
		rec.Trace = c.Workload.Name
	}
	if c.Label != "" {
		rec.Label = c.Label
	}
	rec.Axes, rec.Cell, rec.CapacityText, rec.Seed = c.Axes, c.Hash, c.Capacity.String(), c.Seed
	return rec, c.Workload.Describe(&rec)
}

// on returns the cell for a trace.
func (c Cell) on(t *traces.Trace) (sim.Cell, error) {
	if err := sim.CheckWarmup(t, c.Warmup); err != nil {
		return sim.Cell{}, err
	}
	resolved, err := capacity.Resolve([]capacity.Spec{c.Capacity}, c.Sizes, t)
	if err != nil {
		return sim.Cell{}, err
	}
	return sim.Cell{Parts: c.Parts.Parts, Capacity: resolved[0], Seed: c.Seed, Series: c.Series,
		OnePass: c.OnePass && !c.Series.Asked()}, nil
}

// ByWorkload groups cells by what they replay, both in order of first appearance.
func ByWorkload(cells []Cell) [][]Cell {
	return groupBy(cells, func(c Cell) string { return c.Workload.Key() })
}

// WithoutRepetitions returns the cells without those that have the hash of an earlier one.
func WithoutRepetitions(cells []Cell) (once []Cell) {
	seen := map[string]bool{}
	for _, c := range cells {
		if !seen[c.Hash] {
			once = append(once, c)
		}
		seen[c.Hash] = true
	}
	return once
}

// Execute replays cells on several cores, trace by trace in the order of the cells. A trace is loaded once, when the
// first of its cells can start, and dropped when its last cell has ended. On cancellation, and after a failure, it
// returns the error; cells that ended before have been handed to options.Finished.
func Execute(ctx context.Context, cells []Cell, options Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := &executor{options: options, cancel: cancel, costs: map[string]float64{}}
	e.changed.L = &e.mu
	if err := e.plan(cells); err != nil {
		return err
	}
	var workers sync.WaitGroup
	for range min(parallel.Jobs(options.Jobs), len(cells)) {
		workers.Go(func() { e.work(ctx) })
	}
	workers.Wait()
	return context.Cause(ctx)
}

// executor is one Execute.
type executor struct {
	options Options
	cancel  context.CancelCauseFunc

	noted     sync.Map   // the notes that options.Note has heard
	reporting sync.Mutex // one call of options.Finished or Failed at a time

	mu      sync.Mutex // of all that follows
	changed sync.Cond  // a trace has been loaded, or a worker is done
	waiting []*group   // whose trace is not loaded, in order
	open    []*group   // whose trace is in memory or on its way there
	largest int        // requests of the largest trace so far
	taken   int64      // estimate of the memory of the jobs that are running
	bounded bool       // it was said that memory bounds them
	costs   map[string]float64
}

// group is the cells of one trace.
type group struct {
	cells   []Cell
	bytes   int64 // of the trace and what its replays share
	need    int64 // estimate of what the largest of its jobs takes
	loading bool
	queues  []queue // none that is empty
	running int
}

// queue is the jobs of one policy that have not started.
type queue struct {
	policy string
	jobs   []job
}

// job is one pass over a trace.
type job struct {
	need     int64    // estimate of the memory that it takes
	cells    [][]Cell // for each cell of the replay the cells of the experiment that it serves
	replayed []sim.Cell
	replayer *sim.Replayer
	requests int
}

// plan brings the cells of each trace together.
func (e *executor) plan(cells []Cell) error {
	for _, same := range ByWorkload(WithoutRepetitions(cells)) {
		g := &group{}
		for _, c := range same {
			// What cannot be recorded is not worth replaying.
			if err := c.Workload.Describe(&records.Record{}); err == nil {
				g.cells = append(g.cells, c)
			} else if err := e.report([]Cell{c}, &CellError{c, err}); err != nil {
				return err
			}
		}
		if len(g.cells) > 0 {
			e.waiting = append(e.waiting, g)
		}
	}
	return nil
}

// report hands a failure on; what it returns stops the run. What is short of memory says nothing about the cells, and
// always does.
func (e *executor) report(cells []Cell, err error) error {
	if e.options.Failed == nil || errors.As(err, new(*memory.Error)) {
		return err
	}
	e.reporting.Lock()
	defer e.reporting.Unlock()
	return e.options.Failed(cells, err)
}

// work starts what can be started until nothing is left to start.
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

// next waits for a job of a trace in memory, the first trace first, or for room to load another trace, which is then
// meant by a nil job. A nil group means that there is nothing left to start.
func (e *executor) next(ctx context.Context) (*group, *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ctx.Err() == nil {
		for _, g := range e.open {
			if len(g.queues) > 0 && e.fits(g) {
				j := e.takeLongest(g)
				g.running++
				e.taken += j.need
				return g, &j
			}
		}
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

// largestNeed returns the estimated memory of the largest job; that it does not fit beside its trace is an error.
func (e *executor) largestNeed(jobs []job) (need int64, err error) {
	for _, j := range jobs {
		if err := j.replayer.Fits(j.replayed, e.options.Memory); err != nil {
			return 0, err
		}
		need = max(need, j.need)
	}
	return need, nil
}

// ownBytes is the memory of the program itself, about.
const ownBytes = 64 << 20

// fits reports whether a job of g may run beside those that do: always where none does.
func (e *executor) fits(g *group) bool {
	left := e.options.Memory.Total() - ownBytes - e.options.Held - e.taken
	for _, other := range e.open {
		left -= other.bytes
	}
	fits := e.taken == 0 || g.need <= left
	if !fits && !e.bounded && e.options.Note != nil {
		e.bounded = true
		e.options.Note(fmt.Sprintf("fewer replays run at a time than --jobs allows, as more do not fit into %s of memory "+
			"(--memory)",
			memory.Bytes(e.options.Memory.Total())))
	}
	return fits
}

// fewRequests is how many requests, of all traces together, are little beside the memory of any machine: some 100 MB.
const fewRequests = 1 << 24

// manyRequests is how many requests a trace has whose garbage is worth a collection of its own.
const manyRequests = 1 << 20

// roomForAnother reports whether another trace may be loaded: always while none is being loaded; beside others if they
// are known to be small, so that many small traces load on all cores, and large ones one after another.
func (e *executor) roomForAnother() bool {
	loading := slices.ContainsFunc(e.open, func(g *group) bool { return g.loading })
	return !loading || e.largest > 0 && (len(e.open)+1)*e.largest <= fewRequests
}

// takeLongest takes the job of g that is expected to take longest, so that cores do not stand idle at the end beside
// one that is late. Until a policy has been timed it counts as long; one that has not even started comes first of all,
// so that it will be.
func (e *executor) takeLongest(g *group) job {
	best, longest := 0, -1.0
	for i, q := range g.queues {
		if cost := e.cost(q.policy); cost > longest {
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

// Costs of a job before its policy has been timed, above those of any request in ns.
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

func (j job) policy() string { return j.replayed[0].Policy.String() }

// inQueues returns jobs policy by policy, both in order of first appearance.
func inQueues(jobs []job) (queues []queue) {
	for _, same := range groupBy(jobs, job.policy) {
		queues = append(queues, queue{policy: same[0].policy(), jobs: same})
	}
	return queues
}

// ended keeps account of what next has given.
func (e *executor) ended(g *group, j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j == nil {
		g.loading = false
	} else {
		g.running--
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
		Needs: needs(g.cells), Memory: e.options.Memory, RequestBytes: sim.NextUseBytes,
	}
	task := e.loadingTask(first.TraceName())
	defer task.End()
	loading.Progress = task.Set
	t, err := first.Workload.Load(ctx, e.options.Dirs, loading)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return e.report(g.cells, fmt.Errorf("trace %s: %w", first.TraceName(), err))
	}
	// What numbered the keys is garbage now. Returned at once, it leaves room for the tables of the replays, which are
	// of like size. Of a short trace it is little, and an experiment may have thousands of those.
	if len(t.Objects) > manyRequests {
		debug.FreeOSMemory()
	}
	e.sayReadings(t, loading.Sizes)
	return e.prepare(g, t)
}

// prepare lists the jobs of a group, whose trace is in memory.
func (e *executor) prepare(g *group, t *traces.Trace) error {
	jobs, err := e.jobs(t, g.cells)
	if err != nil {
		return err
	}
	e.sayDuration(t, jobs)
	need, err := e.largestNeed(jobs)
	if err != nil {
		return err
	}
	if e.options.Progress != nil {
		var requests int64
		for _, j := range jobs {
			requests += int64(j.requests)
		}
		e.options.Progress.Planned(requests)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	g.bytes, g.need = t.Bytes()+sim.NextUseBytes*int64(len(t.Objects)), need
	g.queues = inQueues(jobs)
	e.largest = max(e.largest, len(t.Objects))
	return nil
}

// sayReadings tells what the files of a trace were read as. What a generator makes is said by its name.
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
	for _, line := range slices.Concat(traces.Lines(t.Readings, remark), t.Warnings) {
		e.note(line)
	}
}

// sayDuration tells what the replays of a trace are expected to take where that is long.
func (e *executor) sayDuration(t *traces.Trace, jobs []job) {
	if len(jobs) == 0 {
		return
	}
	passes := make([][]sim.Cell, len(jobs))
	for i, j := range jobs {
		passes[i] = j.replayed
	}
	note := sim.LongNote(passes, parallel.Jobs(e.options.Jobs), jobs[0].replayer.Duration, len(t.Objects))
	if note != "" {
		e.note(t.Name + ": " + note)
	}
}

// needs says what cells need of their trace.
func needs(cells []Cell) (needed traces.Needs) {
	for _, c := range cells {
		needed = needed.Union(sim.Needs([]sim.Parts{c.Parts.Parts}, c.Capacity.CountsBytes(c.Sizes)))
		needed.Times = needed.Times || c.Series.Span > 0
	}
	return needed
}

// jobs returns the passes over t that cells need. Cells that are the same for this trace, 1% and 100 say, share one,
// and so do those of lru-stack.
func (e *executor) jobs(t *traces.Trace, cells []Cell) (jobs []job, err error) {
	replayers := map[int]*sim.Replayer{}
	once := map[int][]sim.Cell{}
	served := map[string][]Cell{}
	key := func(warmup int, c sim.Cell) string { return fmt.Sprint(warmup, "|", c.Key()) }
	var warmups []int
	for _, c := range cells {
		if replayers[c.Warmup] == nil {
			replayers[c.Warmup] = sim.NewReplayer(t, sim.ReplayerOptions{Warmup: c.Warmup,
				Neighbours: e.neighbours(c), Note: e.note})
			warmups = append(warmups, c.Warmup)
		}
		s, err := c.on(t)
		if err == nil {
			err = replayers[c.Warmup].Check(s)
		}
		if err != nil {
			if err := e.report([]Cell{c}, &CellError{c, err}); err != nil {
				return nil, err
			}
			continue
		}
		k := key(c.Warmup, s)
		if served[k] == nil {
			once[c.Warmup] = append(once[c.Warmup], s)
		}
		served[k] = append(served[k], c)
	}
	for _, warmup := range warmups {
		replayers[warmup].Expect(once[warmup])
		for _, replayed := range replayers[warmup].Jobs(once[warmup]) {
			j := job{replayed: replayed, replayer: replayers[warmup],
				requests: replayers[warmup].Requests(replayed[0].Capacity)}
			j.need = replayers[warmup].Need(replayed)
			for _, s := range replayed {
				j.cells = append(j.cells, served[key(warmup, s)])
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// replay does a job and hands out its results.
func (e *executor) replay(ctx context.Context, j job) error {
	all := slices.Concat(j.cells...)
	task := e.replayingTask(all)
	defer task.End()
	var done int64
	replayer := j.replayer.WithProgress(func(n int64) {
		done += n
		task.Set(done, int64(j.requests))
	})
	start := time.Now()
	recs, rows, err := replayer.ReplaySeries(ctx, j.replayed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return e.report(all, &CellError{all[0], err})
	}
	elapsed := time.Since(start).Seconds()
	e.learn(j, elapsed)
	e.reporting.Lock()
	defer e.reporting.Unlock()
	for k, rec := range recs {
		for _, c := range j.cells[k] {
			if err := e.finish(c, rec, rows[k], elapsed/float64(len(all))); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn remembers what a request costs under a policy.
func (e *executor) learn(j job, seconds float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.costs[j.policy()] = 1e9 * seconds / float64(j.requests)
}

func (e *executor) finish(c Cell, rec records.Record, rows []series.Row, seconds float64) error {
	result := Result{NsPerRequest: takeTime(&rec, metric.NsPerRequest),
		PredictionNsPerRequest: takeTime(&rec, predict.NsMetric), Seconds: seconds, Series: rows}
	rec.Version = c.Version
	result.Record = rec
	var err error
	if result.Record, err = result.RecordOf(c); err != nil {
		return err
	}
	return e.options.Finished(c, result)
}

func (e *executor) loadingTask(trace string) Task {
	if e.options.Progress == nil {
		return silentTask{}
	}
	return e.options.Progress.Loading(trace)
}

func (e *executor) replayingTask(cells []Cell) Task {
	if e.options.Progress == nil {
		return silentTask{}
	}
	return e.options.Progress.Replaying(cells)
}

// neighbours says where the similar queries of the trace of a cell are kept: nowhere those of a generator, which may
// never come again.
func (e *executor) neighbours(c Cell) sim.NeighbourOptions {
	options := sim.NeighbourOptions{Dir: e.options.NeighbourDir, Jobs: e.options.Jobs, Note: e.note}
	if c.Workload.Generator != "" {
		options.Dir = ""
	}
	if e.options.Progress != nil {
		options.Comparing = func() (func(done, total int64), func()) {
			task := e.options.Progress.Comparing(c.TraceName())
			return task.Set, task.End
		}
	}
	return options
}

// note passes on what was not said before.
func (e *executor) note(text string) {
	if _, said := e.noted.LoadOrStore(text, true); !said && e.options.Note != nil {
		e.options.Note(text)
	}
}

// silentTask is a task that nobody watches.
type silentTask struct{}

func (silentTask) Set(int64, int64) {}
func (silentTask) End()             {}
