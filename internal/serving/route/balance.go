package route

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
)

// This file contains the routers of prompts that know nothing of their contents.

var roundRobinEntry = Entry{
	Name: "round-robin", Summary: "one node after another", Source: "folklore",
	New:   func(Config) Router { return &roundRobin{} },
	Place: placeInTurn, Homes: everywhere,
}

type roundRobin struct{ next int }

func (r *roundRobin) Route(_ Prompt, n int) int {
	node := r.next % n
	r.next = node + 1
	return node
}

func (r *roundRobin) Keep(int) {}

var randomEntry = Entry{
	Name: "random", Summary: "a node at random, all equally likely", Source: "folklore", Random: true,
	New:   func(c Config) Router { return &anyNode{random.NewDraws(c.Seed)} },
	Place: placeAtRandom, Homes: everywhere,
}

type anyNode struct{ draws random.Draws }

func (r *anyNode) Route(_ Prompt, n int) int { return int(r.draws.Below(uint64(n))) }
func (r *anyNode) Keep(int)                  {}

// loadParam says what the load of a node is.
var loadParam = params.Param{Name: "load", Default: "prompts", Choices: []string{"prompts", "tokens"},
	Doc: "what counts of the prompts in flight on a node: their number, or their tokens"}

// loadOf returns the load of a node by loadParam.
func loadOf(c Config) func(node int) int64 {
	if c.Params.Text(loadParam.Name) == "tokens" {
		return c.State.Tokens
	}
	return func(node int) int64 { return int64(c.State.Prompts(node)) }
}

var powerOfTwoEntry = Entry{
	Name: "power-of-two", Summary: "of two different nodes at random, the one with the lower load",
	Source: "Mitzenmacher, The power of two choices in randomized load balancing, IEEE TPDS 2001",
	Params: []params.Param{loadParam}, Random: true,
	New: func(c Config) Router { return &powerOfTwo{random.NewDraws(c.Seed), loadOf(c)} },
}

type powerOfTwo struct {
	draws random.Draws
	load  func(node int) int64
}

func (r *powerOfTwo) Route(_ Prompt, n int) int {
	if n == 1 {
		return 0
	}
	a, b := int(r.draws.Below(uint64(n))), int(r.draws.Below(uint64(n-1)))
	if b >= a {
		b++
	}
	if r.load(b) < r.load(a) || r.load(b) == r.load(a) && b < a {
		return b
	}
	return a
}

func (r *powerOfTwo) Keep(int) {}

var leastLoadedEntry = Entry{
	Name: string(LeastLoaded), Recommends: true, Source: "folklore",
	Summary: "the node with the least load; ties go to the lower number",
	Params:  []params.Param{loadParam},
	New:     func(c Config) Router { return &leastBusy{loadOf(c)} },
}

type leastBusy struct{ load func(node int) int64 }

func (r *leastBusy) Route(_ Prompt, n int) int { return leastLoaded(n, r.load) }
func (r *leastBusy) Keep(int)                  {}
