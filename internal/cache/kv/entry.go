// Package kv is the cache of keys and values on a GPU that serves a language model. It measures which rows of each head
// are there, and what attention loses without the others. Replay serves all cells of a trace in one pass over its
// heads.
//
// A head is a KV head of a layer with the query heads that read it. Its scores do not depend on what is cached, so they
// are computed once for all cells. A cell then is a reuse rule, which decides when the head's set of rows is replaced
// as a whole (QSAC, section 4), or a store of blocks under a policy (RetroInfer, PQCache).
package kv

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/kv/retrieve"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

const source = "QSAC in LiteCache (arXiv 2511.14510), sections 4 and 6"

// Entries are the caches of this package.
var Entries = []cache.Entry{{
	Name: Name,
	Summary: "keys and values of a language model on a GPU: for each head a set of the tokens that its queries attend " +
		"to most, or a store of blocks of tokens, beside the first and the recent ones; capacities are shares of its tokens",
	Source:      source,
	Params:      parameters,
	Metrics:     metrics,
	ObjectsOnly: true,
	Types:       []any{heads{}},
	CheckParams: func(v params.Values) error {
		_, err := optionsOf(v, 0)
		return err
	},
}}

const oneSet = "one-set"

// OneSet is the policy of a head that has one set, which a reuse rule replaces as a whole.
var OneSet = policies.Entry{
	Name: oneSet,
	Look: policies.Look{Color: policies.Indigo, Mark: policies.Ring},
	Summary: "in the cache attention: each head has one set of tokens, which is replaced as a whole when its reuse rule " +
		"says so",
	Source: source,
	Type:   reusing{},
	Units:  policies.UnitsObjects,
}

// heads serves the heads of a language model; reusing does so with sets that a reuse rule replaces.
type (
	heads   struct{}
	reusing struct{ heads }
)

func (heads) ServesHeads() {}
func (reusing) Reuses()    {}

// Policies are those that only this cache has.
var Policies = []policies.Entry{OneSet, PQCache, FullAttention}

// Bytes estimates the memory of a replay on so many workers, in addition to the trace. Each computes attention in some
// steps at once, at least as many as the CPU does; perStep is Config.Steps. Cells need no share of their own.
func Bytes(shape *attention.Shape, cells []Cell, workers, steps int, perStep bool) int64 {
	parts := attention.Parts{Predicted: true, Keys: true, Values: true}
	steps = max(steps, stepsAtOnce(shape))
	tokens, outputs := int64(shape.Tokens()), int64(shape.Group()*shape.Dim)
	// Of true and of predicted queries, with an eighth in reserve.
	runs := 4 * 2 * int64(steps) * (tokens*int64(shape.Group()) + outputs) * 9 / 8
	each := 4*8*tokens + int64(len(cells))*(8*tokens+4*int64(steps)*(tokens+outputs))
	plans := int64(shape.Steps) * int64(shape.Tokens()/8)
	total := int64(workers)*(shape.HeadBytes(parts)+runs+each+plans+8*errorBins*int64(len(cells))) +
		512*int64(len(cells))*int64(shape.Heads())
	for i := range cells {
		own, shared := cells[i].bytes(shape)
		total += int64(workers)*own + shared
	}
	if perStep {
		total += int64(workers+1) * bytesOfStep * int64(len(cells)) * int64(len(shape.Layers)) * int64(shape.Steps)
	}
	return total
}

// bytes estimates what a cell needs for blocks and its retriever: on each worker, and once.
func (c *Cell) bytes(shape *attention.Shape) (each, shared int64) {
	tokens := int64(shape.Tokens())
	if c.Retriever != nil {
		each = tokens * int64(shape.Dim) // signs, bounds or centres of keys
	}
	switch servingOf(c.Policy.Entry) {
	case servesStore:
		o, err := optionsOf(c.Params, 0)
		size := int64(leastBlock)
		if divided, ok := retrieve.New(*c.retriever()).(retrieve.Divided); ok && divided.Size() > 0 {
			size = int64(divided.Size())
		}
		if err == nil {
			wanted := int64(o.ratio*float64(tokens))/size + 1
			requests := wanted * int64(shape.Steps)
			each += bytesOfWanted*requests + c.Policy.Entry.Memory.Bytes(tokens/size, tokens/size, true)
			if c.Predictor != nil {
				each += bytesOfNext*requests + bytesOfLearned*tokens/size
			}
			if c.Predictor != nil && c.Predictor.Entry.Trains {
				each += min(mostRowBytes, bytesOfRow*requests)
			}
		}
	case servesLayer:
		blocks := tokens/int64(c.Policy.Params.Int("block")) + 1
		shared = 4 * int64(shape.Steps) * blocks * int64(len(shape.Layers))
	}
	return each, shared
}

// For what the steps of a head want: a block's memory in a list and a plan, and the least mean tokens of blocks.
const (
	bytesOfWanted = 4 + 3*4
	leastBlock    = 8
)

// Of a predictor: its next uses per wanted block, what it learns of a block, and the rows that it trains on.
const (
	bytesOfNext    = 4 + 1
	bytesOfLearned = 100
	bytesOfRow     = 200
	mostRowBytes   = 128 << 20
)
