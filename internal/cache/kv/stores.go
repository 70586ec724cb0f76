package kv

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/cache/kv/blocks"
	"github.com/cachesim/cachesim/internal/cache/kv/retrieve"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// serving is how a cell serves a head.
type serving int

const (
	servesSet   serving = iota // one set, under a reuse rule
	servesStore                // a store of blocks, under any policy
	servesLayer                // blocks that the heads of a layer share: PQCache
	servesAll                  // all rows are on the GPU: full attention
)

func servingOf(policy policies.Entry) serving {
	switch policy.Name {
	case OneSet.Name:
		return servesSet
	case PQCache.Name:
		return servesLayer
	case FullAttention.Name:
		return servesAll
	}
	return servesStore
}

// page is the unit in which blocks of different sizes take room: RetroInfer (wave_buffer_cpu.cpp of
// microsoft/RetrievalAttention) has pages of 8 tokens.
const page = 8

// defaultBlocks is the retriever of stores. The tokens of the exact set lie in a third of all blocks, so a store of
// these blocks would load more than no store at all.
const defaultBlocks = "blocks"

// retriever returns the retriever of a cell, nil for the exact set.
func (c *Cell) retriever() *retrieve.Spec {
	if c.Retriever != nil || servingOf(c.Policy.Entry) != servesStore {
		return c.Retriever
	}
	spec, err := retrieve.Registry.Parse(defaultBlocks)
	if err != nil {
		panic(err)
	}
	return &spec
}

// Check refuses a cell whose parts do not fit together, whatever the trace.
func Check(c Cell) error {
	serves, policy := servingOf(c.Policy.Entry), c.Policy.Name()
	retriever := c.retriever()
	switch {
	case serves == servesSet && c.Params.Text("ratio") != "":
		return fmt.Errorf("cache %s: ratio=%s: under %s the capacity is the share of the tokens that a step reads; remove "+
			"ratio", Name, c.Params.Text("ratio"), policy)
	case serves != servesSet && c.Params.Text("resident") != "0":
		return fmt.Errorf("cache %s: resident=%s: a reuse rule ranks the heads, and %s has none; remove resident, or use "+
			"%s", Name, c.Params.Text("resident"), policy, OneSet.Name)
	case c.Params.Text("resident") != "0" && c.Rule != nil && !c.Rule.Entry.UsesProfile:
		return fmt.Errorf("cache %s: resident=%s: reuse rule %s does not rank the heads; remove resident, or use a rule "+
			"that does, such as qsac", Name, c.Params.Text("resident"), c.Rule)
	case serves != servesSet && c.Params.Text("append") == appendSince:
		return fmt.Errorf("cache %s: append=%s: under %s no set is loaded since which tokens could stay visible; use "+
			"append=%s or append=%s", Name, appendSince, policy, appendAll, appendWindow)
	case c.Params.Text("query-importance") != "" && (c.Rule == nil || !c.Rule.Entry.UsesImportance):
		return fmt.Errorf("cache %s: query-importance=%s has no effect under this reuse rule; remove it, or use a rule "+
			"with importances, such as qsac", Name, c.Params.Text("query-importance"))
	case serves == servesAll && c.Retriever != nil:
		return fmt.Errorf("retriever %s: under %s all tokens are there, so that nothing is retrieved; remove the retriever",
			c.Retriever, policy)
	case serves == servesStore:
		return checkStore(c.Policy, *retriever)
	case c.Rule != nil && c.Rule.Entry.Plans && retriever != nil && !retriever.Entry.Best:
		return fmt.Errorf("reuse rule %s plans with exact sets, which retriever %s does not find; remove the retriever, or "+
			"use another rule", c.Rule, retriever)
	}
	return nil
}

func checkStore(policy policies.Spec, retriever retrieve.Spec) error {
	if !retriever.Entry.Divided {
		return fmt.Errorf("retriever %s finds single tokens, but %s decides about blocks of them; use a retriever that "+
			"finds blocks: %s", retriever, policy.Name(),
			strings.Join(retrieve.Registry.NamesOf(func(e *retrieve.Entry) bool { return e.Divided }), ", "))
	}
	return blocks.Check(policy, retrieve.New(retriever).(retrieve.Divided).Size() == 0)
}

// checkServing refuses what the trace or the head leaves no room for.
func (r *replay) checkServing(p *plan) error {
	size := 1
	if p.usesPredicted() && !r.shape.Predicted {
		return fmt.Errorf("reuse rule %s: it loads sets by predicted queries, but the trace has none; record them, or use "+
			"another rule", p.Rule)
	}
	if p.Share > 1 && p.serving != servesAll {
		return fmt.Errorf("cache %s: a capacity of %.4g%% of the tokens; want at most 100%%", Name, 100*p.Share)
	}
	if err := r.checkBlocks(p); err != nil {
		return err
	}
	switch p.serving {
	case servesLayer:
		size = p.Policy.Params.Int("block")
	case servesStore:
		size = retrieve.New(*p.Retriever).(retrieve.Divided).Size()
	}
	if held := r.held(p); p.serving != servesSet && p.serving != servesAll && held < size && !p.Policy.Entry.Unbounded {
		from, to := p.options.view().candidates(r.shape, 0)
		return fmt.Errorf("cache %s: a capacity of %.3g%% holds %d of the %d tokens of a head, less than a block of %d: "+
			"use a larger capacity, or smaller blocks", Name, 100*p.Share, held, to-from, size)
	}
	return nil
}

// checkBlocks refuses blocks if none lies between the first and the recent tokens: nothing could be retrieved.
func (r *replay) checkBlocks(p *plan) error {
	if p.Retriever == nil {
		return nil
	}
	divided, ok := retrieve.New(*p.Retriever).(retrieve.Divided)
	if !ok || divided.Size() == 0 {
		return nil
	}
	size := divided.Size()
	from, to := p.options.view().candidates(r.shape, 0)
	if to/size > (from+size-1)/size {
		return nil
	}
	return fmt.Errorf("retriever %s: a head has no whole block of %d tokens from token %d to %d: use smaller blocks, or "+
		"a longer prompt", p.Retriever, size, from, to-1)
}

// held returns how many tokens a store holds: a share of the candidates of the first step, when it is allocated.
func (r *replay) held(p *plan) int {
	from, to := p.options.view().candidates(r.shape, 0)
	return min(shareOf(p.Share, to-from), to-from)
}

func (w *worker) serveStore(c *holding) error {
	f := &w.finders[c.search]
	divided := f.retriever.(retrieve.Divided)
	config := blocks.Config{Policy: c.Policy, Capacity: int64(w.held(c.plan)), Size: divided.Size(),
		Sizes: divided.Sizes(), Page: page, Requests: len(f.wanted), Seed: seedOf(c.Seed, w.head.Place), Life: w.Life}
	config.Blocks = len(config.Sizes)
	if config.Size > 0 {
		config.Blocks = (w.shape.Tokens() + config.Size - 1) / config.Size
	}
	if c.Policy.Entry.Kind == policies.Offline {
		if f.plan == nil {
			f.plan = blocks.NewPlan(f.wanted, f.ends, config.Blocks)
		}
		config.Plan = f.plan
	}
	var counted predict.Counted
	if policies.Can[policies.PredictorUser](c.Policy.Entry) {
		var err error
		if counted.Predictor, err = w.predictorOf(c, f, &config); err != nil {
			return fmt.Errorf("predictor %s: %w", c.Predictor, err)
		}
		config.Predictor = &counted
	}
	store, err := blocks.New(config)
	if err != nil {
		return fmt.Errorf("policy %s: %w", c.Policy, err)
	}
	first := 0
	for step, end := range f.ends {
		o := store.Step(f.wanted[first:end])
		n := StepCounts{Lookups: int64(o.Hits + o.Misses), Hits: int64(o.Hits), Misses: int64(min(o.Misses, 1)),
			Loaded: int64(o.MissTokens), New: int64(o.MissTokens), Evictions: int64(o.Evictions)}
		w.count(c, step, n)
		first = end
	}
	from, to := c.options.view().candidates(w.shape, w.shape.Steps-1)
	c.tally.set = min(store.Reserved(), int64(to-from)) // a policy without bounds reserves all blocks
	if counted.Predictor != nil {
		w.predicting[c.number] = w.predicting[c.number].Plus(counted.Cost())
	}
	return nil
}

// predictorOf returns the predictor of a store in a head. Its requests are the blocks that the steps want.
func (w *worker) predictorOf(c *holding, f *finder, store *blocks.Config) (predict.Predictor, error) {
	config := predict.Config{Objects: f.wanted, Count: store.Blocks, Seed: store.Seed, Params: c.Predictor.Params}
	if c.Predictor.Entry.Future {
		config.NextUse = oracle.NextUse(f.wanted, store.Blocks)
		if store.Size > 0 {
			config.OptEvicts = func() []bool {
				return policies.OptEvicts(f.wanted, store.Blocks, config.NextUse, store.Capacity/int64(store.Size))
			}
		}
	}
	return c.Predictor.Entry.New(config)
}
