package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// predictorOfCell builds the predictor of a cell for a part of the trace.
func predictorOfCell(c Cell, t *traces.Trace, nextUse func() []uint32) (*predict.Counted, error) {
	var evicts func() []bool
	exact := cache.IsExact(c.Cache) || c.Cache.Entry.Queries && !cache.AnswersSimilar(c.Cache)
	if exact && !c.Capacity.Bytes {
		evicts = func() []bool { return policies.OptEvicts(t.Objects, t.NumObjects, nextUse(), c.Capacity.Simulated) }
	}
	return NewPredictor(*c.Predictor, t, c.Seed, nextUse, evicts)
}

// NewPredictor builds a predictor for a replay of t. Only one that knows the future gets to see nextUse and optEvicts
// (see predict.Config), of which the latter may be nil.
func NewPredictor(spec predict.Spec, t *traces.Trace, seed uint64, nextUse func() []uint32,
	optEvicts func() []bool) (*predict.Counted, error) {
	config := predict.Config{
		Objects: t.Objects,
		Count:   t.NumObjects,
		Groups:  t.Groups,
		Times:   t.Times,
		Depth:   prompts.Of(t.Kind).Depths(),
		Seed:    seed,
		Params:  spec.Params,
	}
	if spec.Entry.Future {
		config.NextUse, config.OptEvicts = nextUse(), optEvicts
	}
	p, err := spec.Entry.New(config)
	if err != nil {
		return nil, fmt.Errorf("predictor %s: %w", spec, err)
	}
	return &predict.Counted{Predictor: p}, nil
}
