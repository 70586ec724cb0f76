package sim

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
)

// RunOptions say which cells the tests replay together: every policy at every capacity, with each choice of parts.
type RunOptions struct {
	Policies   []policies.Spec
	Parts      map[*Kind][]Part
	Capacities []capacity.Capacity
	OnePass    bool
	Seed       uint64
	Warmup     int
	Jobs       int // 0: one
	Planned    func(requests int64)
	Progress   func(n int64)
}

// parts reads lists of parts, "cache=sets(ways=4)" and "predictor=oracle" say.
func parts(t *testing.T, lists ...string) map[*Kind][]Part {
	t.Helper()
	all := map[*Kind][]Part{}
	for _, list := range lists {
		name, text, _ := strings.Cut(list, "=")
		at := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == name })
		if at < 0 || text == "" {
			t.Fatalf("%s: want KIND=LIST", list)
		}
		var err error
		if all[Kinds[at]], err = Kinds[at].ParseList(text); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// cells returns the cells asked for, in groups of the same capacity and the same parts beside policies.
func (o RunOptions) cells() (groups [][]Cell) {
	setups := []Parts{{Cache: cache.ExactSpec()}}
	for _, kind := range Kinds {
		if kind.AskedBy == nil {
			setups = withEach(setups, o.Parts[kind])
		}
	}
	for _, c := range o.Capacities {
		for _, p := range setups {
			var group []Cell
			for _, p.Policy = range o.Policies {
				choices := []Parts{p}
				if p.Policy.Entry.Predicts {
					choices = withEach(choices, o.Parts[PredictorKind])
				}
				for _, parts := range choices {
					group = append(group, Cell{Parts: parts, Capacity: c, Seed: o.Seed, OnePass: o.OnePass})
				}
			}
			groups = append(groups, group)
		}
	}
	return groups
}

// withEach returns each of all with each of some parts of one kind; without parts it stays as it is.
func withEach(all []Parts, parts []Part) (more []Parts) {
	if len(parts) == 0 {
		return all
	}
	for _, p := range all {
		for _, part := range parts {
			part.Into(&p)
			more = append(more, p)
		}
	}
	return more
}

// Run replays cells with the optima that they are held against, each once, as package experiment does. On cancellation
// it returns the records of those that had ended.
func Run(ctx context.Context, t *traces.Trace, o RunOptions) ([]records.Record, error) {
	r := NewReplayer(t, ReplayerOptions{Warmup: o.Warmup, Progress: o.Progress})
	var once []Cell
	seen := map[string]bool{}
	for _, c := range slices.Concat(o.cells()...) {
		if err := r.Check(c); err != nil {
			return nil, err
		}
		for _, c := range append([]Cell{c}, References(c)...) {
			if !seen[c.Key()] {
				once = append(once, c)
			}
			seen[c.Key()] = true
		}
	}
	jobs := r.Jobs(once)
	if o.Planned != nil {
		var requests int64
		for _, job := range jobs {
			requests += int64(r.Requests(job.Cells()[0].Capacity))
		}
		o.Planned(requests)
	}
	done := map[string]records.Record{}
	var mu sync.Mutex
	err := parallel.For(ctx, max(1, o.Jobs), len(jobs), func(ctx context.Context, _, i int) error {
		results, err := r.ReplayJob(ctx, jobs[i])
		mu.Lock()
		defer mu.Unlock()
		for k := range results {
			done[jobs[i].Cells()[k].Key()] = results[k].Record
		}
		return err
	})
	var all []records.Record
	for _, group := range o.cells() {
		recs := held(group, done)
		MarkBest(recs)
		all = append(all, recs...)
	}
	return all, err
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
