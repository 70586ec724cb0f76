package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// predictorOfCell builds the predictor of a cell for a part of the trace.
func predictorOfCell(c Cell, t *traces.Trace, nextUse func() []uint32) (*predict.Counted, error) {
	var evicts func() []bool
	exact := c.Cache.Name() == exactEntry.Name || c.Cache.Entry.Queries && !AnswersSimilar(c.Cache)
	if exact && !c.Capacity.Bytes {
		evicts = func() []bool { return OptEvicts(t, nextUse(), c.Capacity.Simulated) }
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
		Depth:   t.Prompts.Depths(),
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

// OptEvicts returns for each position whether the requested object is gone when it is requested next, or is not
// requested again, under opt on the exact cache.
func OptEvicts(t *traces.Trace, nextUse []uint32, capacity int64) []bool {
	entry := mustSpec("opt").Entry
	opt, err := entry.New(policies.Config{Capacity: capacity, Unit: true, Objects: t.NumObjects, Requests: len(t.Objects),
		NextUse: nextUse})
	if err != nil {
		panic(err) // opt takes no parameters that could be wrong
	}
	hit := make([]bool, len(t.Objects))
	for pos := range t.Objects {
		hits, _ := opt.(policies.UnitReplayer).ReplayUnit(t.Objects[pos:pos+1], pos)
		hit[pos] = hits > 0
	}
	evicts := make([]bool, len(t.Objects))
	for pos, next := range nextUse {
		evicts[pos] = next == policies.Never || !hit[next]
	}
	return evicts
}
