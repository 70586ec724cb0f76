package kv

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

const source = "QSAC in LiteCache (arXiv 2511.14510), sections 4 and 6"

// Entries are the caches of this package.
var Entries = []cache.Entry{{
	Name: Name,
	Summary: "keys and values of a language model on a GPU: for each head the set of tokens that its queries attend to " +
		"most, beside the first and the recent ones; capacities are shares of its tokens",
	Source:      source,
	Params:      parameters,
	Metrics:     metrics,
	ObjectsOnly: true,
	Attention:   true,
	CheckParams: func(v params.Values) error {
		_, err := optionsOf(v, 0)
		return err
	},
	Check: checkPolicy,
}}

// OneSet is the policy of a head that has one set, which a reuse rule replaces as a whole.
var OneSet = policies.Entry{
	Name: "one-set",
	Look: policies.Look{Color: policies.Indigo, Mark: policies.Ring},
	Summary: "in the cache attention: each head has one set of tokens, which is replaced as a whole when its reuse rule " +
		"says so",
	Source: source,
	Reuses: true,
	Units:  policies.UnitsObjects,
}

func checkPolicy(_ params.Values, policy policies.Entry) error {
	if !policy.Reuses {
		return fmt.Errorf("cache %s: policy %s decides about single objects; use %s, whose reuse rule decides about a "+
			"head's set", Name, policy.Name, OneSet.Name)
	}
	return nil
}

// Bytes estimates the memory of a replay on so many workers, in addition to the trace. Each computes attention in some
// steps at once, at least as many as the CPU does; perStep is Config.Steps.
func Bytes(shape *attention.Shape, cells, workers, steps int, perStep bool) int64 {
	parts := attention.Parts{Predicted: true, Keys: true, Values: true}
	steps = max(steps, stepsAtOnce(shape))
	outputs := int64(shape.Group() * shape.Dim)
	scores := 4 * (int64(2*steps)*(int64(shape.Tokens()*shape.Group())+outputs) + int64(2*shape.Tokens()))
	sets := 8 * int64(cells+1) * int64(shape.Tokens())
	plans := int64(shape.Steps) * int64(shape.Tokens()/8)
	total := int64(workers)*(shape.HeadBytes(parts)+scores+sets+plans+8*errorBins*int64(cells)) +
		256*int64(cells)*int64(shape.Heads())
	if perStep {
		total += int64(workers+1) * bytesOfStep * int64(cells) * int64(len(shape.Layers)) * int64(shape.Steps)
	}
	return total
}
