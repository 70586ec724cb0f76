// Package ontrace has what a replay takes from its trace before it begins: predictors, topics, and what the log says
// was found.
package ontrace

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// New builds a predictor for a replay of t. Only a predictor that knows the future sees nextUse and optEvicts (see
// predict.Config); optEvicts may be nil.
func New(spec predict.Spec, t *traces.Trace, seed uint64, nextUse func() []uint32,
	optEvicts func() []bool) (*predict.Counted, error) {
	return NewWith(spec, t, 0, nil, seed, nextUse, optEvicts)
}

// NewWith is New for a cache that also holds strangers, numbered after the objects of the trace, or in which entries
// answer similar queries; similar is nil in others.
func NewWith(spec predict.Spec, t *traces.Trace, further int, similar *predict.Similar, seed uint64,
	nextUse func() []uint32, optEvicts func() []bool) (*predict.Counted, error) {
	config := predict.Config{
		Objects: t.Objects,
		Count:   t.NumObjects + further,
		Groups:  t.Groups,
		Times:   t.Times,
		Depth:   t.Depths(),
		Similar: similar,
		Seed:    seed,
		Params:  spec.Params,
	}
	if config.Depth != nil {
		config.Depth = append(config.Depth, make([]int32, further)...)
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
