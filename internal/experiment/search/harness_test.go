package search_test

import (
	"context"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// replays is a trace in memory, with what was replayed of it.
type replays struct {
	t       must.TB
	trace   *traces.Trace
	in      cache.Spec
	warmup  int
	kept    experiment.Kept
	blocks  *blocks.Set
	records []records.Record // of the table
	served  int              // cells that were replayed for searches
}

func newReplays(t must.TB, trace *traces.Trace, warmup int) *replays {
	return &replays{t: t, trace: trace, in: cache.ExactSpec(), warmup: warmup, blocks: blocks.NewSet(1)}
}

// answer replays policies at the capacities of a table, and then searches.
func (r *replays) answer(of target.Target, names []string, at ...capacity.Capacity) target.Answer {
	r.t.Helper()
	g, o := r.group(of, names, at...)
	o.Complete = true
	return must.Get(search.Answer(g, o))(r.t)
}

// group replays policies at the capacities of a table, and returns what a search then works on.
func (r *replays) group(of target.Target, names []string, at ...capacity.Capacity) (search.Group, search.Options) {
	r.t.Helper()
	var specs []policies.Spec
	for _, name := range names {
		specs = append(specs, must.Get(policies.Registry.Parse(name))(r.t))
	}
	w := workload.Workload{Name: r.trace.Name, Generator: "zipf"}
	d := experiment.Design{Setups: []experiment.Setup{{Parts: sim.Parts{Cache: r.in}}},
		Entrants: experiment.Entrants(specs, nil), Warmup: r.warmup, NoOptimum: true,
		Inputs: []experiment.Input{{Workload: w, Capacities: at, Seeds: []uint64{0}}}}
	cells := must.Get(d.Cells())(r.t)
	results := must.Get(r.replay(cells))(r.t)
	r.served = 0
	r.records = must.Get(results.Records(cells, ""))(r.t)
	known := search.Known{}
	known.Add(cells, results, r.trace.SampleRate)
	return search.Groups(cells, r.records)[0], search.Options{Target: of, Trace: r.trace, Blocks: r.blocks,
		Replay: r.replay, Known: known,
		InOnePass: func(c experiment.Cell) bool {
			of, on, err := r.kept.On(r.trace, c)
			return err == nil && of.InOnePass(on)
		},
		LRUHits: func(c experiment.Cell, units []int64) (*sim.LRUHits, error) {
			of, on, err := r.kept.On(r.trace, c)
			if err != nil {
				return nil, err
			}
			return of.LRUHits(context.Background(), on, units)
		}}
}

func (r *replays) replay(cells []experiment.Cell) (experiment.Results, error) {
	results := experiment.Results{}
	err := experiment.Execute(context.Background(), cells, experiment.Options{Blocks: true, Kept: &r.kept,
		Finished: results.Keep, Trace: func(workload.Workload) *traces.Trace { return r.trace },
		Failed: func([]experiment.Cell, error) error { return nil }})
	results.AddBlocks(r.blocks, cells)
	r.served += len(cells)
	return results, err
}

// curve returns the hit ratios of a policy at all capacities up to one; a negative one where no replay is possible.
func (r *replays) curve(name string, top int64, bytes bool) []float64 {
	r.t.Helper()
	parts := experiment.NewParts(sim.Parts{Cache: r.in, Policy: must.Get(policies.Registry.Parse(name))(r.t)})
	cells := make([]experiment.Cell, top+1)
	for n := range cells {
		cells[n] = experiment.Cell{Parts: parts, Capacity: capacity.Of(int64(max(1, n)), bytes), Warmup: r.warmup,
			Workload: workload.Workload{Name: r.trace.Name, Generator: "zipf"}}.WithHash()
	}
	results := must.Get(r.replay(cells[1:]))(r.t)
	ratios := make([]float64, top+1) // a cache of nothing has no hits
	for n := range cells[1:] {
		ratios[n+1] = -1
		if result, ok := results[cells[n+1].Hash]; ok {
			ratios[n+1] = result.Record.Float(metric.HitRatio)
		}
	}
	return ratios
}
