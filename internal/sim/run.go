package sim

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/memory"
	"github.com/cachesim/cachesim/internal/parallel"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
)

// RunOptions say what Run replays and how.
type RunOptions struct {
	Policies   []policies.Spec
	Parts      map[*Kind][]Part // what they are combined with
	Capacities []capacity.Capacity
	// LRUCapacities are capacities at which lru is reported besides. Where its reuse distances tell, all of them together
	// cost one pass over the trace; ns_per_request is then that of the pass.
	LRUCapacities []capacity.Capacity
	Seed          uint64
	Warmup        int // requests served before counting begins
	Jobs          int // replays at a time; 0 means one per core
	Version       string
	// called once, before the first replay, with how many requests Progress will report; may be nil
	Planned    func(n int64)
	Progress   func(n int64) // called from all jobs with requests served since the last call; may be nil
	Neighbours NeighbourOptions
	Memory     *memory.Budget    // nil: all that there is
	Note       func(text string) // as of ReplayerOptions
}

// Rows returns how many records Capacities give.
func (o RunOptions) Rows() int {
	r := runner{options: o}
	rows := 0
	for _, group := range r.groupsAt(capacity.Capacity{}) {
		rows += len(group)
	}
	return rows * len(o.Capacities)
}

// Run replays every policy at every capacity, and the optimum that each is held against, on several cores over the
// shared trace. The records come capacity by capacity, policies in the order given; they do not depend on the number of
// jobs except in ns_per_request. On cancellation it returns the records of the replays that had ended, with ctx's
// error.
func Run(ctx context.Context, t *traces.Trace, options RunOptions) ([]records.Record, error) {
	r := &runner{NewReplayer(t, ReplayerOptions{
		Warmup: options.Warmup, Version: options.Version, Progress: options.Progress, Neighbours: options.Neighbours,
		Note: options.Note,
	}), options}
	jobs, err := r.plan()
	if err != nil {
		return nil, err
	}
	wanted := parallel.Jobs(options.Jobs)
	atATime, err := r.AtATime(jobs, wanted, options.Memory)
	if err != nil {
		return nil, err
	}
	if atATime < min(wanted, len(jobs)) && options.Note != nil {
		options.Note(fewerAtATime(atATime, wanted, options.Memory))
	}
	if note := LongNote(jobs, atATime, r.Duration, len(t.Objects)); note != "" && options.Note != nil {
		options.Note(note)
	}
	if options.Planned != nil {
		var requests int64
		for _, job := range jobs {
			requests += int64(r.Requests(job[0].Capacity))
		}
		options.Planned(requests)
	}
	done, err := r.runAll(ctx, jobs, atATime)
	return r.records(done), err
}

// runner replays the cells of one Run.
type runner struct {
	*Replayer
	options RunOptions
}

// lruCell is a cell of LRUCapacities.
func (r *runner) lruCell(capacity capacity.Capacity) Cell {
	return Cell{Parts: Parts{Policy: mustSpec("lru"), Cache: cache.ExactSpec()}, Capacity: capacity, Seed: r.options.Seed}
}

// groupsAt returns the cells at one capacity, in groups of the same setup.
func (r *runner) groupsAt(capacity capacity.Capacity) (groups [][]Cell) {
	for _, same := range Combine(r.options.Policies, r.options.Parts) {
		var group []Cell
		for _, parts := range same {
			group = append(group, Cell{Parts: parts, Capacity: capacity, Seed: r.options.Seed})
		}
		groups = append(groups, group)
	}
	return groups
}

// plan lists the cells to replay: those asked for, and the optima they are held against, each once. A job is a single
// cell, or several of lru that share one pass.
func (r *runner) plan() (jobs [][]Cell, err error) {
	var lru, cells []Cell
	for _, capacity := range r.options.LRUCapacities {
		lru = append(lru, r.lruCell(capacity))
	}
	shared, single := r.byPass(lru)
	jobs = append(jobs, shared...)
	for _, capacity := range r.options.Capacities {
		for _, group := range r.groupsAt(capacity) {
			for _, c := range group {
				if err := r.Check(c); err != nil {
					return nil, err
				}
				cells = append(append(cells, c), References(c)...)
			}
		}
	}
	r.Expect(cells)
	return append(jobs, r.Jobs(WithoutRepetitions(slices.Concat(single, cells), slices.Concat(shared...)))...), nil
}

// runAll does the jobs, so many at a time, and returns what has ended.
func (r *runner) runAll(ctx context.Context, jobs [][]Cell, atATime int) (map[string]records.Record, error) {
	done := map[string]records.Record{}
	var mu sync.Mutex
	err := parallel.For(ctx, atATime, len(jobs), func(ctx context.Context, _, i int) error {
		recs, err := r.Replay(ctx, jobs[i])
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for k, c := range jobs[i] {
			done[c.Key()] = recs[k]
		}
		return nil
	})
	return done, err
}

// records brings the records into order, capacity by capacity and setup by setup, and marks the best online policy of
// each.
func (r *runner) records(done map[string]records.Record) []records.Record {
	var all []records.Record
	for _, capacity := range r.options.Capacities {
		for _, cells := range r.groupsAt(capacity) {
			if slices.ContainsFunc(r.options.LRUCapacities, capacity.Same) && !slices.ContainsFunc(r.options.Policies, isLRU) {
				cells = append([]Cell{r.lruCell(capacity)}, cells...)
			}
			recs := held(cells, done)
			MarkBest(recs)
			all = append(all, recs...)
		}
	}
	for _, capacity := range r.options.LRUCapacities {
		if !slices.ContainsFunc(r.options.Capacities, capacity.Same) {
			all = append(all, held([]Cell{r.lruCell(capacity)}, done)...)
		}
	}
	return all
}

// held returns the records of the cells that have ended, held against those of their optima that have.
func held(cells []Cell, done map[string]records.Record) (recs []records.Record) {
	for _, c := range cells {
		rec, ok := done[c.Key()]
		if !ok {
			continue
		}
		for _, reference := range References(c) {
			if other, ok := done[reference.Key()]; ok {
				HoldAgainst(&rec, other)
			}
		}
		recs = append(recs, rec)
	}
	return recs
}

// Interrupted reports whether err says that the user stopped the run.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }
