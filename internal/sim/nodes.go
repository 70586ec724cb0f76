package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// nodesOf returns how many nodes serve a cell, at most.
func nodesOf(c Cell) int64 {
	if c.Router == nil {
		return 1
	}
	return int64(route.Most(route.ChangesOf(*c.Router)))
}

// onNodes returns the nodes of a cell with a router, each with the cache that config describes. Node 0 makes the random
// choices that the only node of a cell without a router makes.
func onNodes(c Cell, config cache.Config) (cache.Cache, error) {
	return replicas.New(replicas.Config{
		Trace: config.Trace, Router: *c.Router, Capacity: config.Capacity, Seed: c.Seed, Warmup: config.Warmup,
		Modelled: c.Model != nil,
		NewCache: func(node int) (cache.Replica, error) {
			own := config
			own.Seed ^= uint64(node) * random.Golden
			made, err := c.Cache.Entry.New(own)
			if err != nil {
				return nil, err
			}
			replica, ok := made.(cache.Replica)
			if !ok {
				return nil, fmt.Errorf("a cache of type %T is for one node", made)
			}
			return replica, nil
		},
	})
}

// checkRouter rejects a router that does not fit the other parts of a cell.
func checkRouter(c Cell) error {
	name, e := c.Router.Name(), c.Policy.Entry
	switch {
	case !c.Cache.Entry.Replicas:
		names := cache.Registry.NamesOf(func(e *cache.Entry) bool { return e.Replicas })
		return fmt.Errorf("router %s sends prompts to nodes, each with a cache of prompts, not with the cache %s; add "+
			"--cache %s, or remove --nodes and --route", name, c.Cache.Name(), names[0])
	case e.Kind == policies.Bound:
		return fmt.Errorf("router %s: %s bounds the misses of one cache; leave it out, as every row with nodes has a bound",
			name, e.Name)
	case e.Kind != policies.Online:
		return fmt.Errorf("router %s: %s knows when the trace requests a block again, but not on which node; use a policy "+
			"that knows only the past (see: cachesim policies)", name, e.Name)
	case e.Predicts:
		return fmt.Errorf("router %s: the predictor of %s follows the requests of one cache, not those of several nodes; "+
			"use a policy without a predictor", name, e.Name)
	case c.Model != nil && !c.Model.Entry.Routes:
		return fmt.Errorf("router %s: the model %s has one node; remove the model, or the router", name, c.Model.Name())
	}
	return nil
}

// checkRouterOnTrace rejects a router that needs more than the trace has.
func checkRouterOnTrace(c Cell, t *traces.Trace) error {
	columns := prompts.Of(t.Kind)
	if columns == nil {
		return nil // which is rejected already
	}
	sessions := c.Router.Entry.Sessions
	switch {
	case sessions != nil && sessions(c.Router.Params) && columns.Sessions == nil:
		return fmt.Errorf("router %s keeps conversations on a node, but %s does not say which prompts belong to one; use "+
			"hash, or a router that looks at prefixes", c.Router, t.Name)
	case len(route.ChangesOf(*c.Router)) > 1 && c.Model == nil && columns.Arrivals == nil:
		return fmt.Errorf("router %s: nodes are added or removed at times, but %s has no times; give one number of nodes, "+
			"or add --model prefill, which has a clock", c.Router, t.Name)
	}
	return nil
}

// Estimates of the memory of nodes, in bytes: per block and per prompt of the trace, on each node and once.
const (
	replicaBytes    = 8 + 1 + 16 // per block, of a prefix tree beside its policy, and of the choice among leaves
	replicaPrompt   = 4
	clusterPrompt   = 4 + 1 + 4
	clusterRequest  = 4 + NextUseBytes // of the bound
	clusterBlock    = 2
	clusterPosition = 1 // of the bound's optimum, of which a bitmap is the largest part
)

// needOfReplicas estimates the memory of nodes with a router beyond that of one node.
func (r *Replayer) needOfReplicas(c Cell) int64 {
	blocks, requests := int64(r.trace.NumObjects), int64(len(r.trace.Objects))
	prompts := int64(len(r.trace.Groups))
	policy := c.Policy.Entry.Memory.Bytes(blocks, r.slots(c), false)
	each := policy + (replicaBytes+c.Router.Entry.Bytes)*blocks + replicaPrompt*prompts
	return nodesOf(c)*each - policy + clusterPrompt*prompts + (clusterRequest+clusterPosition)*requests +
		clusterBlock*blocks
}
