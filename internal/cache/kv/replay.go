package kv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/kv/retrieve"
	"github.com/cachesim/cachesim/internal/cache/kv/reuse"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// Cell is one way to serve the heads of a trace.
type Cell struct {
	Params params.Values // of the cache
	// Share is the capacity: the share of the tokens that a set has, or a store of blocks.
	Share     float64
	Rule      *reuse.Spec    // nil unless the policy is OneSet
	Policy    policies.Spec  // OneSet, PQCache, FullAttention, or that of a store of blocks
	Predictor *predict.Spec  // of a policy that uses one; each head has its own, whose requests are the wanted blocks
	Retriever *retrieve.Spec // of sets, or of the blocks that a step wants; nil for the policy's default
	Seed      uint64
}

// Config says what Replay serves.
type Config struct {
	Trace    *attention.Columns
	Cells    []Cell
	Steps    bool // count per layer and step, too
	MapEvery int  // compare the queries of every so many-th step of one head; 0: none
	Jobs     int  // heads that are served at the same time; 0: one per core
	Memory   *memory.Budget
	Life     *policies.Life    // of the policies of stores: see policies.Config
	Progress func(lookups int) // called from several goroutines; may be nil
	// Attention computes full attention, each for one goroutine, so that there are no more of those; nil: the CPU does.
	Attention []Attention
}

// Outcome is what a cell counted.
type Outcome struct {
	Counts cache.Counts
	Values metric.Values
	// Steps and Quality are per layer and step: of layer l of the trace (its place in Shape.Layers) in step s at
	// l*Shape.Steps+s. They are nil unless Config.Steps.
	Steps   []StepCounts
	Quality []StepQuality
	// QueryMap has the cosines of the queries of every Config.MapEvery-th step, in the middle layer's first query head.
	QueryMap []float64
	// Predicting is what the predictors of all heads have cost.
	Predicting predict.Cost
	Elapsed    time.Duration // an equal share of the time of the pass
}

// Replay serves all heads of a trace in every cell. The outcomes do not depend on the number of jobs.
func Replay(ctx context.Context, c Config) ([]Outcome, error) {
	start := time.Now()
	r, err := newReplay(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := r.serve(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(c.Cells))
	for i, p := range r.plans {
		var all histogram
		o := &outcomes[i]
		var sums steps
		if c.Steps {
			sums = newSteps(r.layerSteps())
		}
		for _, w := range r.workers {
			for bin, n := range w.errors[i] {
				all[bin] += n
			}
			o.Predicting = o.Predicting.Plus(w.predicting[i])
			if c.Steps {
				sums.add(w.steps[i])
			}
		}
		o.Steps, o.Quality = sums.counts, sums.quality
		o.Values, o.Counts = values(r.tallies[i], p.serving, p.importances.effects, &all, r.shape)
		o.QueryMap = r.queryMap
		r.setLags(&o.Values)
		o.Elapsed = time.Since(start) / time.Duration(len(c.Cells))
	}
	return outcomes, nil
}

// plan is what is decided about a cell before its heads are served.
type plan struct {
	Cell
	options
	importances importances
	serving     serving
	view        int // in replay.views
	search      int // in replay.searches
	whole       []bool
}

// replay is one call of Replay.
type replay struct {
	Config
	shape    *attention.Shape
	plans    []*plan
	views    []view
	searches []search
	profile  []float64 // per head: mean similarity of the queries of adjacent steps; nil unless a rule needs it
	workers  []*worker
	tallies  [][]tally  // per cell and head
	layers   [][]*layer // per cell and layer: what its heads share; nil for cells whose heads share nothing
	lags     [][]mean   // per head: the similarity of its queries, per lag
	queryMap []float64
}

func newReplay(ctx context.Context, c Config) (*replay, error) {
	r := &replay{Config: c, shape: c.Trace.Shape, lags: make([][]mean, c.Trace.Shape.Heads())}
	for i, cell := range c.Cells {
		p, err := r.newPlan(cell)
		if err != nil {
			return nil, err
		}
		if p.importances, err = r.importancesFor(p, r.plans[:i]); err != nil {
			return nil, err
		}
		p.view = placeIn(&r.views, p.options.view())
		p.search = placeIn(&r.searches, p.searchOf())
		r.plans = append(r.plans, p)
		r.tallies = append(r.tallies, make([]tally, r.shape.Heads()))
		r.layers = append(r.layers, r.newLayers(p))
	}
	profiled := func(p *plan) bool { return p.Rule != nil && p.Rule.Entry.UsesProfile && p.resident() }
	if slices.ContainsFunc(r.plans, profiled) {
		if err := r.measureProfile(ctx); err != nil {
			return nil, err
		}
	}
	for _, p := range r.plans {
		if err := r.chooseWhole(p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// newPlan decides about a cell what does not depend on other cells.
func (r *replay) newPlan(cell Cell) (*plan, error) {
	if err := Check(cell); err != nil {
		return nil, err
	}
	o, err := optionsOf(cell.Params, cell.Share)
	if err != nil {
		return nil, fmt.Errorf("cache %s: %w", Name, err)
	}
	p := &plan{Cell: cell, options: o, serving: servingOf(cell.Policy.Entry)}
	p.Retriever = cell.retriever()
	if p.serving != servesSet {
		p.share = o.ratio
	}
	if err := r.checkOptions(&p.options); err != nil {
		return nil, err
	}
	return p, r.checkServing(p)
}

func (r *replay) checkOptions(o *options) error {
	v := o.view()
	from, to := v.candidates(r.shape, 0)
	switch {
	case to-from < 1 || v.size(r.shape, 0) < 1:
		return fmt.Errorf("cache %s: a prompt of %d tokens leaves %d between the first %d and the last %d, and %.3g%% of "+
			"them are none: use a longer prompt, a larger capacity, or a smaller sink and recent",
			Name, r.shape.Prompt, max(0, to-from), o.sink, o.recent, 100*o.share)
	case o.predicted && !r.shape.Predicted:
		return fmt.Errorf("cache %s: queries=%s, but the trace has no predicted queries; record them, or use queries=%s",
			Name, queriesPredicted, queriesTrue)
	}
	return nil
}

// importancesFor reads or draws the importances of a cell, unless an earlier one has the same.
func (r *replay) importancesFor(p *plan, earlier []*plan) (importances, error) {
	for _, other := range earlier {
		if other.importance == p.importance && other.ranks == p.ranks &&
			other.queryImportance == p.queryImportance && other.Seed == p.Seed {
			return other.importances, nil
		}
	}
	return readImportances(&p.options, r.Trace, p.Seed)
}

func (r *replay) head(p *plan, place int) reuse.Head {
	h := reuse.Head{Layer: r.shape.Layers[place/r.shape.KVHeads], KV: place % r.shape.KVHeads, Place: place,
		Group: r.shape.Group(), Importance: p.importances.of[place]}
	if p.importances.queries != nil {
		h.QueryImportances = p.importances.queries[place]
	}
	if r.profile != nil {
		h.Similarity = r.profile[place]
	}
	return h
}

func (r *replay) rule(p *plan, place int) (reuse.Rule, error) {
	return p.Rule.Entry.New(reuse.Config{Head: r.head(p, place), Params: p.Rule.Params, Seed: p.Seed})
}

// measureProfile measures the similarity of the queries of adjacent steps.
func (r *replay) measureProfile(ctx context.Context) error {
	options := attention.Options{Memory: r.Memory}
	t, err := r.Trace.Open(ctx, options)
	if err != nil {
		return err
	}
	defer t.Close()
	r.profile = make([]float64, r.shape.Heads())
	similarities := make([][]float64, parallel.Jobs(r.Jobs))
	return attention.Each(ctx, t, parallel.Jobs(r.Jobs), options, func(worker int, h *attention.Head) error {
		similarities[worker] = slices.Grow(similarities[worker][:0], r.shape.Group())[:r.shape.Group()]
		norms := normsOf(nil, h.Queries, r.shape.Dim)
		sum := 0.0
		for s := 1; s < r.shape.Steps; s++ {
			cosines(similarities[worker], h.Queries, norms, r.shape, s, s-1)
			sum += reuse.Aggregate(reuse.Harmonic, similarities[worker], nil)
		}
		r.profile[h.Place] = sum / float64(max(1, r.shape.Steps-1))
		return nil
	})
}

// chooseWhole decides which heads are on the GPU as a whole: those of the first layers, and those that the rule ranks
// first, within the budget (QSAC, section 4.4).
func (r *replay) chooseWhole(p *plan) error {
	p.whole = make([]bool, r.shape.Heads())
	type ranked struct {
		place int
		worth float64
	}
	var list []ranked
	for place := range p.whole {
		if p.serving == servesAll || r.shape.Layers[place/r.shape.KVHeads] < p.dense {
			p.whole[place] = true
			continue
		}
		if !p.resident() || p.Rule == nil {
			continue
		}
		rule, err := r.rule(p, place)
		if err != nil {
			return err
		}
		if by, ok := rule.(reuse.Ranked); ok && by.Worth() > 0 {
			list = append(list, ranked{place, by.Worth()})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.worth, a.worth) })
	room := int(p.residentShare * float64(len(p.whole)))
	if p.residentBytes > 0 {
		room = int(p.residentBytes / (2 * bytesOfNumber * int64(r.shape.Dim) * int64(r.shape.Tokens())))
	}
	for _, head := range list[:min(room, len(list))] {
		p.whole[head.place] = true
	}
	return nil
}

func (r *replay) serve(ctx context.Context) error {
	options := attention.Options{Memory: r.Memory, Parts: attention.Parts{Keys: true, Values: true,
		Predicted: slices.ContainsFunc(r.plans, (*plan).usesPredicted)}}
	t, err := r.Trace.Open(ctx, options)
	if err != nil {
		return err
	}
	defer t.Close()
	jobs := parallel.Jobs(r.Jobs)
	if len(r.Attention) > 0 {
		jobs = min(jobs, len(r.Attention))
	}
	for i := range jobs {
		w := &worker{replay: r, attention: &onCPU{shape: r.shape}, errors: make([]histogram, len(r.plans)),
			predicting: make([]predict.Cost, len(r.plans)), finders: r.newFinders()}
		if len(r.Attention) > 0 {
			w.attention = r.Attention[i]
		}
		for range r.plans {
			if r.Steps {
				w.steps = append(w.steps, newSteps(r.layerSteps()))
			}
		}
		r.workers = append(r.workers, w)
	}
	return attention.Each(ctx, t, jobs, options, func(number int, h *attention.Head) error {
		return r.workers[number].serve(ctx, h)
	})
}

func (r *replay) layerSteps() int { return len(r.shape.Layers) * r.shape.Steps }

// usesPredicted reports whether the cell looks up or loads by predicted queries.
func (p *plan) usesPredicted() bool { return p.predicted || p.Rule != nil && p.Rule.Entry.Predicted }
