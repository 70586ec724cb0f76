// Package simtest has what tests of caches, models and serving nodes need to replay traces as the simulator does: cells
// written as texts, their records, and small traces of every kind. It is for tests only.
package simtest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/cache/semantic"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// TB is what the functions of this package need of *testing.T, *testing.B and *rapid.T.
type TB interface {
	must.TB
	Fatalf(format string, args ...any)
	Context() context.Context
}

// Options say which cells are replayed: every policy at every capacity, with each choice of other parts.
type Options struct {
	Policies   string   // a list: "lru,opt"
	Parts      []string // a list for each kind: "cache=sets(ways=4)", "model=none,storage"; without any, the exact cache
	Capacities []capacity.Capacity
	OnePass    bool
	Seed       uint64
	Warmup     int
	Jobs       int // 0: one
	Planned    func(requests int64)
	Progress   func(n int64)
	Note       func(text string)
}

func partsOf(lists []string) (all map[*sim.Kind][]sim.Part, err error) {
	all = map[*sim.Kind][]sim.Part{}
	for _, list := range lists {
		name, text, _ := strings.Cut(list, "=")
		kind := sim.KindOf(name)
		if all[kind], err = kind.ParseList(text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Cells returns the cells in groups of the same capacity and the same parts apart from policies.
func (o Options) Cells() (groups [][]sim.Cell, err error) {
	chosen, err := policies.Registry.ParseList(o.Policies)
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(o.Parts)
	if err != nil {
		return nil, err
	}
	setups := []sim.Parts{{Cache: cache.ExactSpec()}}
	for _, kind := range sim.Kinds {
		if kind.AskedBy == nil {
			setups = withEach(setups, parts[kind])
		}
	}
	for _, c := range o.Capacities {
		for _, p := range setups {
			var group []sim.Cell
			for _, p.Policy = range chosen {
				choices := []sim.Parts{p}
				if policies.Can[policies.PredictorUser](p.Policy.Entry) {
					choices = withEach(choices, parts[sim.PredictorKind])
				}
				for _, parts := range choices {
					group = append(group, sim.Cell{Parts: parts, Capacity: c, Seed: o.Seed, OnePass: o.OnePass})
				}
			}
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// withEach returns each of all with each of some parts of one kind; without parts it stays as it is.
func withEach(all []sim.Parts, parts []sim.Part) (more []sim.Parts) {
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

// Run returns the records of cells, compared with their optima.
func Run(t testing.TB, trace *traces.Trace, o Options) []records.Record {
	t.Helper()
	return must.Get(TryRun(t.Context(), trace, o))(t)
}

// ByPolicy is Run at one capacity and returns the records by the labels of their policies.
func ByPolicy(t testing.TB, trace *traces.Trace, list string, size capacity.Capacity, warmup int,
	parts ...string) map[string]records.Record {
	t.Helper()
	byPolicy := map[string]records.Record{}
	for _, rec := range Run(t, trace, Options{Policies: list, Parts: parts, Capacities: []capacity.Capacity{size},
		Warmup: warmup}) {
		byPolicy[rec.Label] = rec
	}
	return byPolicy
}

// TryRun is Run for replays that may fail. Each cell and each optimum is replayed once, as package experiment does. On
// cancellation it returns the records of those that had ended.
func TryRun(ctx context.Context, t *traces.Trace, o Options) ([]records.Record, error) {
	groups, err := o.Cells()
	if err != nil {
		return nil, err
	}
	r := sim.NewReplayer(t, sim.ReplayerOptions{Warmup: o.Warmup, Progress: o.Progress, Note: o.Note})
	var once []sim.Cell
	seen := map[string]bool{}
	for _, c := range slices.Concat(groups...) {
		if err := r.Check(c); err != nil {
			return nil, err
		}
		for _, c := range append([]sim.Cell{c}, sim.References(c)...) {
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
	err = parallel.For(ctx, max(1, o.Jobs), len(jobs), func(ctx context.Context, _, i int) error {
		results, err := r.ReplayJob(ctx, jobs[i])
		mu.Lock()
		defer mu.Unlock()
		for k, c := range jobs[i].Cells()[:len(results)] {
			done[c.Key()] = results[k].Record
		}
		return err
	})
	var all []records.Record
	for _, group := range groups {
		recs := compared(group, done)
		sim.MarkBest(recs)
		all = append(all, recs...)
	}
	return all, err
}

// compared returns the records of the cells that have ended, compared with those of their optima that have.
func compared(cells []sim.Cell, done map[string]records.Record) (recs []records.Record) {
	for _, c := range cells {
		rec, ok := done[c.Key()]
		if !ok {
			continue
		}
		for _, reference := range sim.References(c) {
			if other, ok := done[reference.Key()]; ok {
				sim.HoldAgainst(&rec, other)
			}
		}
		recs = append(recs, rec)
	}
	return recs
}

func Replay(t TB, r *sim.Replayer, c sim.Cell) sim.Result {
	t.Helper()
	must.Do(t, r.Check(c))
	return must.Get(r.Replay(t.Context(), c))(t)
}

func Counts(v metric.Values) cache.Counts {
	return cache.Counts{
		Requests: v.Int(metric.Requests), Hits: v.Int(metric.Hits), Evictions: v.Int(metric.Evictions),
		Oversized: v.Int(metric.Oversized), Bytes: v.Int(metric.RequestedBytes), HitBytes: v.Int(metric.HitBytes),
		Prompts: v.Int(prefix.Prompts), Tokens: v.Int(prefix.Tokens), HitTokens: v.Int(prefix.HitTokens),
		Labelled: v.Int(semantic.LabelledRequests), LabelledHits: v.Int(semantic.LabelledHits),
		WrongHits: v.Int(semantic.WrongHits),
	}
}

// Objects returns capacities in objects.
func Objects(amounts ...int64) (all []capacity.Capacity) {
	for _, n := range amounts {
		all = append(all, capacity.Of(n, false))
	}
	return all
}

func Policy(t must.TB, text string) policies.Spec {
	t.Helper()
	return must.Get(policies.Registry.Parse(text))(t)
}

// Cell returns a cell of a policy, with the parts that texts such as "model=storage" name. Without others its cache is
// exact and its predictor noisy(p=0.3); a predictor is left out if the policy uses none. A cache that has a capacity of
// its own keeps it.
func Cell(t must.TB, policy string, size capacity.Capacity, parts ...string) sim.Cell {
	t.Helper()
	c := sim.Cell{Parts: sim.Parts{Policy: Policy(t, policy), Cache: cache.ExactSpec()}, Capacity: size}
	return With(t, c, append([]string{"predictor=noisy(p=0.3)"}, parts...)...)
}

// With returns a cell with other parts, as Cell takes them.
func With(t must.TB, c sim.Cell, parts ...string) sim.Cell {
	t.Helper()
	for _, text := range parts {
		name, text, _ := strings.Cut(text, "=")
		kind := sim.KindOf(name)
		if kind.AskedBy == nil || kind.AskedBy(c.Policy.Entry) {
			must.Get(kind.Parse(text))(t).Into(&c.Parts)
		}
	}
	if own, ok := sim.OwnCapacity(c.Cache); ok {
		c.Capacity = own
	}
	return c
}
