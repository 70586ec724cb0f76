package route

import (
	"math"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Router chooses nodes for prompts. Nodes are numbered from 0.
type Router interface {
	// Route returns the node that serves a prompt: one of the first n, which exist. A prompt whose node is removed before
	// it begins is routed again.
	Route(p Prompt, n int) int
	// Keep says that only the first n nodes exist from now on: what is known about others is forgotten.
	Keep(n int)
}

// Prompt is what a router sees of a prompt. Its blocks are valid during the call only.
type Prompt struct {
	Blocks  []dense.Object // each identifies a block together with all blocks before it
	Tokens  int
	Session int // the number of its conversation; -1 if unknown
	// Now is the time since the start at which it is routed, which never goes back; 0 without a clock.
	Now time.Duration
}

// State is what a router sees of the nodes. It is an interface because package replicas, which implements it, imports
// this package.
type State interface {
	// Prompts returns how many prompts are in flight on a node: sent to it and not finished. Tokens is their sum.
	Prompts(node int) int
	Tokens(node int) int64
	// Waiting returns how many of them have not begun.
	Waiting(node int) int
	// Usage returns the share of a node's capacity that running prompts hold.
	Usage(node int) float64
	// Resident returns how many blocks are resident on a node, and Has whether one is. Only a router that knows what is
	// resident may call them.
	Resident(node int) int64
	Has(node int, block dense.Object) bool
}

// Config is what a router of prompts is built from.
type Config struct {
	Params      params.Values
	Nodes       int // at most, at any time
	Objects     int // blocks of the trace, which have the numbers below
	BlockTokens int
	Sessions    int   // conversations of the trace
	Capacity    int64 // of a node, in blocks
	// SampleRate is the share of the conversations that the trace has; 0: all.
	SampleRate float64
	Seed       uint64
	State      State
}

// onSample returns how much a router remembers where it remembers so much of a whole trace: as capacities, it is scaled
// to a sample.
func (c Config) onSample(n int64) int64 {
	if c.SampleRate <= 0 || c.SampleRate >= 1 {
		return n
	}
	return max(1, int64(math.Round(float64(n)*c.SampleRate)))
}

// leastLoaded returns the node with the least load among the first n; ties go to the lower number.
func leastLoaded[L int | int64 | float64](n int, load func(node int) L) (node int) {
	least := load(0)
	for k := 1; k < n; k++ {
		if l := load(k); l < least {
			node, least = k, l
		}
	}
	return node
}
