package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/sim/shards"
)

// nodesOf returns how many nodes serve a cell, at most.
func nodesOf(c Cell) int64 {
	if c.Router == nil {
		return 1
	}
	return int64(route.Most(route.ChangesOf(*c.Router)))
}

// onNodes returns the nodes of a cell whose router routes prompts, each with the cache that config describes.
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

// routesObjects reports whether nodes serve objects one by one, each with any cache, and not prompts.
func (r *Replayer) routesObjects(c Cell) bool {
	return c.Router != nil && !c.Cache.Entry.ServesPrompts(r.trace)
}

// checkRouter rejects a router that does not fit the other parts of a cell, whatever the trace.
func checkRouter(c Cell) error {
	name, e, kind := c.Router.Name(), c.Policy.Entry, c.Cache.Entry
	switch {
	case cache.ServesHeads(c.Cache) || cache.HasPools(c.Cache) || cache.ServesQueries(c.Cache):
		return fmt.Errorf("router %s: nodes have caches of prompts or objects, which the cache %s is not; choose another "+
			"cache, or remove --nodes and --route", name, c.Cache.Name())
	case kind.NeedsPrompts() && c.Router.Entry.New == nil:
		return fmt.Errorf("router %s routes requests for objects, but the cache %s serves prompts; choose another router "+
			"(see: cachesim routers)", name, c.Cache.Name())
	case !cache.Can[cache.Replica](kind) && c.Router.Entry.Place == nil:
		return fmt.Errorf("router %s routes prompts, which the cache %s does not serve; add --cache %s, or choose another "+
			"router, such as %s", name, c.Cache.Name(), strings.Join(cache.NamesThatCan[cache.Replica](), " or "),
			suggest.List(route.Registry.NamesOf(func(e *route.Entry) bool { return e.Place != nil })))
	case c.Model != nil && !c.Model.Entry.Routes:
		return fmt.Errorf("router %s: the model %s has one node; remove the model, or the router", name, c.Model.Name())
	case c.Allocator != nil && (!cache.Can[cache.Replica](kind) || c.Allocator.Entry.Fixed):
		return fmt.Errorf("router %s: allocator %s divides one cache; remove one of them", name, c.Allocator.Name())
	case !cache.Can[cache.Replica](kind): // the requests of each node are known before a replay
		return nil
	case e.Kind == policies.Bound:
		return fmt.Errorf("router %s: %s bounds the misses of one cache; leave it out, as every row with nodes has a bound",
			name, e.Name)
	}
	return checkFuture(c)
}

// checkFuture rejects parts that know the future, where it depends on the router which node a prompt comes to.
func checkFuture(c Cell) error {
	name, e := c.Router.Name(), c.Policy.Entry
	switch {
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
	}
	return nil
}

// checkNodes rejects a router that does not fit the trace.
func (r *Replayer) checkNodes(c Cell) error {
	switch shares := c.Cache.Entry.Shares; {
	case c.Router == nil:
		return nil
	case r.routesObjects(c) && shares != nil && shares(c.Cache.Params):
		return fmt.Errorf("router %s: nodes share tiers where they serve prompts, and %s has none; a level behind nodes "+
			"that serve objects is --route 'ring(behind=8)': write it, and remove shared from the cache %s",
			c.Router.Name(), r.trace.Name, c.Cache)
	case r.routesObjects(c):
		return shards.CheckTrace(*c.Router, r.view(c.Capacity).trace)
	}
	return replicas.CheckTrace(*c.Router, r.trace, c.Model != nil)
}

// divided is what each node serves, with the replayers of their requests.
type divided struct {
	*shards.Division
	replayers []*Replayer // per life
}

// divide divides the trace among the nodes of a cell, once for all cells with the same router.
func (r *Replayer) divide(c Cell) (divided, error) {
	key := fmt.Sprint(c.Router, c.Capacity.Bytes)
	if c.Router.Entry.Random {
		key += fmt.Sprint(c.Seed)
	}
	v := r.view(c.Capacity)
	made, _ := r.divisions.LoadOrStore(key, sync.OnceValues(func() (d divided, err error) {
		if d.Division, err = shards.Divide(v.trace, *c.Router, c.Seed, v.warmup); err != nil {
			return d, err
		}
		for _, life := range d.Lives {
			options := r.options
			options.Warmup, options.Note = life.Warmup, nil
			d.replayers = append(d.replayers, NewReplayer(life.Trace, options))
		}
		return d, nil
	}))
	return made.(func() (divided, error))()
}

// eachLife calls a function with the cell, the view and the replayer of each node that serves anything, from when it is
// added until it is lost. Node 0 makes the random choices of a cell without a router.
func (d divided) eachLife(c Cell, call func(i int, of Cell, v *view, r *Replayer) error) error {
	for i, life := range d.Lives {
		if len(life.Trace.Objects) == 0 {
			continue
		}
		of := c
		of.Router = nil
		of.Seed ^= uint64(life.Node) * random.Golden
		if err := call(i, of, d.replayers[i].view(c.Capacity), d.replayers[i]); err != nil {
			return err
		}
	}
	return nil
}

// onShards returns nodes that serve objects, each with the cache of a cell, and the predictors of all.
func (r *Replayer) onShards(ctx context.Context, c Cell) (cache.Cache, *predictors, error) {
	d, err := r.divide(c)
	if err != nil {
		return nil, nil, err
	}
	all := &predictors{}
	caches := make([]cache.Cache, len(d.Lives))
	err = d.eachLife(c, func(i int, of Cell, v *view, own *Replayer) error {
		served, counted, err := own.build(ctx, of, v.trace, v.warmup, v.nextUse, nil)
		if err == nil {
			caches[i], all.all = served, append(all.all, counted.all...)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	whole := r.view(c.Capacity)
	cluster := shards.New(d.Division, caches, sizesCount(c, whole.trace))
	if capacity, policy, ok := route.Behind(*c.Router, c.Capacity.Simulated); ok {
		of := Cell{Parts: Parts{Cache: cache.ExactSpec(), Policy: policy}, Capacity: c.Capacity, Seed: c.Seed}
		of.Capacity.Simulated = capacity
		shared, _, err := r.build(ctx, of, whole.trace, whole.warmup, whole.nextUse, nil)
		if err != nil {
			return nil, nil, err
		}
		stated, _, _ := route.Behind(*c.Router, c.Capacity.Amount) // more than on a sample
		cluster.Behind(shared, stated, whole.trace, c.Capacity.Bytes)
	}
	return cluster, all, nil
}

// boundOfNodes returns the sum of the bounds of all nodes.
func (r *Replayer) boundOfNodes(ctx context.Context, c Cell) (sum outcome, err error) {
	d, err := r.divide(c)
	if err != nil {
		return sum, err
	}
	err = d.eachLife(c, func(_ int, of Cell, v *view, own *Replayer) error {
		out, err := own.boundPart(ctx, of, v.trace, v.warmup, v.nextUse, nil, nil)
		sum.add(out)
		return err
	})
	return sum, err
}

// onOneCache adds what one cache as large as all nodes would hit, with the policy of the cell and at best.
func (r *Replayer) onOneCache(ctx context.Context, c Cell, out *outcome) error {
	if !r.routesObjects(c) || c.Policy.Entry.Kind != policies.Online || cache.HasTiers(c.Cache) ||
		HasOwnCapacity(c.Cache) { // whose sizes are parameters
		return nil
	}
	requests := out.values.Int(metric.Requests)
	ratioOf := func(whole Cell) (float64, error) {
		hits, err := r.hitsOnce(ctx, whole)
		return r.ratioOf(requests, hits, requests-hits), err
	}
	whole := c
	whole.Router, whole.Series, whole.Capacity = nil, series.Window{}, r.view(c.Capacity).whole(c)
	behind, _, _ := route.Behind(*c.Router, c.Capacity.Simulated)
	whole.Capacity.Simulated += behind
	one, err := ratioOf(whole)
	if err != nil {
		return err
	}
	hits := r.hitRatio(out.values, 0)
	out.values.Set(replicas.OneCacheHitRatio, one)
	out.values.Set(replicas.BelowOneCache, one-hits)
	if !cache.IsExact(c.Cache) || c.Prefetcher != nil || c.Policy.Entry.Unbounded {
		return nil
	}
	names := referencesUnder(policies.Rules{Bytes: c.Capacity.Bytes, Bypass: true})
	whole.Parts = Parts{Cache: c.Cache, Policy: policies.Known(names[len(names)-1])}
	bound, err := ratioOf(whole)
	out.values.Set(replicas.HitRatioBound, bound)
	out.values.Set(replicas.BelowBound, bound-hits)
	return err
}

// hitsOnce returns the hits of a cell, which is replayed once: those that no schedule exceeds if it is a bound.
func (r *Replayer) hitsOnce(ctx context.Context, c Cell) (int64, error) {
	hits, _ := r.whole.LoadOrStore(c.Key(), sync.OnceValues(func() (int64, error) {
		out, err := r.WithProgress(nil).replayOne(ctx, c)
		if err != nil {
			return 0, err
		}
		if of := out[0].values; c.Policy.Entry.Kind != policies.Online && of.Has(metric.LowerBoundMisses) {
			return of.Int(metric.Requests) - int64(math.Ceil(of.Float(metric.LowerBoundMisses))), nil
		}
		return out[0].values.Int(metric.Hits), nil
	}))
	return hits.(func() (int64, error))()
}

// routesByKeys reports whether a router looks at keys, and changesNodes whether it may need times.
func (p *Parts) routesByKeys() bool { return p.Router != nil && p.Router.Entry.Place != nil }

func (p *Parts) changesNodes() bool {
	return p.routesByKeys() && slices.ContainsFunc(route.EpochsOf(*p.Router)[1:], func(e route.Epoch) bool {
		return !e.Counted
	})
}

// needOfShards estimates the memory of nodes that serve objects beyond that of one cache, which takes so much. Where
// each key has one node, all of them have the objects of one.
func (r *Replayer) needOfShards(c Cell, one int64) int64 {
	need := shards.Bytes(r.view(c.Capacity).trace)
	if homes := c.Router.Entry.HomesOf(c.Router.Params); homes > 1 {
		need += int64(min(homes, int(nodesOf(c)))-1) * one
	}
	if route.HasSecond(*c.Router) {
		need += one
	}
	return need
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
