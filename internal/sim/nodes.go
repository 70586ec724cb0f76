package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/serving/route"
)

// nodesOf returns how many nodes serve a cell, at most.
func nodesOf(c Cell) int64 {
	if c.Router == nil {
		return 1
	}
	return int64(route.Most(route.ChangesOf(*c.Router)))
}

// onNodes returns the nodes of a cell with a router, each with the cache that config describes.
func onNodes(c Cell, config cache.Config) (cache.Cache, error) {
	sharing := cache.NewSharing(config)
	config.Allocator = nil // tenants are counted over all nodes
	nodes := replicas.Config{
		Trace: config.Trace, Router: *c.Router, Capacity: config.Capacity, Seed: c.Seed, Warmup: config.Warmup,
		Modelled: c.Model != nil, Sharing: sharing, NewCache: replicas.CachesOf(c.Cache.Entry, config),
	}
	if of := c.Cache.Entry.Together; of != nil {
		together, err := of(config)
		if err != nil {
			return nil, err
		}
		nodes.Together, nodes.NewCache, nodes.Capacity = together, together.New, together.Capacity()
	}
	k, err := replicas.New(nodes)
	if err != nil {
		return nil, err
	}
	if tiered, ok := k.WithTiers(); ok {
		return tiered, nil
	}
	return k, nil
}

// checkRouter rejects a router that does not fit the other parts of a cell.
func checkRouter(c Cell) error {
	name, e := c.Router.Name(), c.Policy.Entry
	switch {
	case !cache.Can[cache.Replica](c.Cache.Entry):
		names := cache.NamesThatCan[cache.Replica]()
		return fmt.Errorf("router %s: nodes have caches of prompts, which the cache %s is not; add --cache %s, "+
			"or remove --nodes and --route", name, c.Cache.Name(), strings.Join(names, " or "))
	case e.Kind == policies.Bound:
		return fmt.Errorf("router %s: %s bounds the misses of one cache; leave it out, as every row with nodes has a bound",
			name, e.Name)
	case e.Kind != policies.Online:
		return fmt.Errorf("router %s: %s knows when a block is requested again, but not on which node; use an online "+
			"policy (see: cachesim policies)", name, e.Name)
	case slices.ContainsFunc(c.policies(), func(p policies.Spec) bool { return p.Entry.Kind != policies.Online }):
		return fmt.Errorf("router %s: %s names a policy that knows when a block is requested again, but not on which node; "+
			"use online policies (see: cachesim policies)", name, c.Cache)
	case c.Predictor != nil && c.Predictor.Entry.Future:
		return fmt.Errorf("router %s: predictor %s knows when a block is requested again, but not on which node; use "+
			"another, such as gbm (see: cachesim predictors)", name, c.Predictor.Name())
	case c.Prefetcher != nil:
		return fmt.Errorf("router %s: prefetcher %s loads into one cache; remove one of them", name, c.Prefetcher.Name())
	case c.Model != nil && !c.Model.Entry.Routes:
		return fmt.Errorf("router %s: the model %s has one node; remove the model, or the router", name, c.Model.Name())
	}
	return nil
}

// needOfReplicas estimates the memory of nodes with a router beyond that of one cache.
func (r *Replayer) needOfReplicas(c Cell) int64 {
	objects := int64(r.trace.NumObjects)
	policy := c.Policy.Entry.Memory.Bytes(objects, r.slots(c), false) + chooserOf(c.Policy.Entry)*objects
	return replicas.Bytes(r.trace, *c.Router, policy) - policy + r.needOfNodePredictors(c, livesOf(c)-1)
}

// needOfNodePredictors estimates the memory of predictors of nodes beyond those of a number of nodes, and of the
// positions of the prompts on all nodes. A node that is removed and added again has another predictor.
func (r *Replayer) needOfNodePredictors(c Cell, further int64) int64 {
	if c.Predictor == nil {
		return 0
	}
	predicting := 0
	for _, p := range c.policies() {
		if policies.Can[policies.PredictorUser](p.Entry) {
			predicting++
		}
	}
	return further*int64(predicting)*r.needOfPredictor(c, int64(r.trace.NumObjects)) +
		8*(livesOf(c)+1)*int64(len(r.trace.Groups))
}

// livesOf returns how many nodes of a cell with a router are added, one that comes back counted again.
func livesOf(c Cell) (lives int64) {
	nodes := 0
	for _, change := range route.ChangesOf(*c.Router) {
		lives += int64(max(0, change.Nodes-nodes))
		nodes = change.Nodes
	}
	return lives
}
