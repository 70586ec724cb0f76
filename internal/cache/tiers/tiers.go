// Package tiers is a cache in front of a cache: GPU memory over host memory over disks for prompts, memory over flash
// for objects. A request is served by the first tier that has its object, and a miss has none.
package tiers

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Modes: what is above and below.
const (
	exclusive    = "exclusive"
	inclusive    = "inclusive"
	writeThrough = "write-through"
	writeBack    = "write-back"
	selective    = "write-through-selective"
)

// Choices of the parameter evict.
const (
	evictLeaf = "leaf"
	evictNode = "node"
)

// movingModes are the modes in which an object comes to a lower tier when the one above evicts it.
var movingModes = []string{exclusive, writeBack}

// Entries are the caches of this package.
var Entries = []cache.Entry{entry}

var entry = cache.Entry{
	Name: "tiers",
	Summary: "a cache in front of a cache: a request hits in the first tier that has its object; of prompts, the " +
		"leading blocks hit, each in its tier",
	Source: "Jouppi, Improving direct-mapped cache performance by a small fully-associative cache and prefetch buffers, " +
		"ISCA 1990 (exclusive); Berg et al., The CacheLib caching engine, OSDI 2020 (memory over flash); Qin et al., " +
		"Mooncake, FAST 2025 (keys and values); SGLang 0.5.23 (PyPI), srt/mem_cache/unified_radix_cache.py (evict=node)",
	Params: append(sizeParams(),
		params.Param{Name: "mode", Default: exclusive, Choices: []string{exclusive, inclusive, writeThrough, writeBack,
			selective},
			Doc: "exclusive: an object is in one tier, and moves down when it is evicted; inclusive: what is in a tier " +
				"is in all below it; write-through: it is written to all tiers when it is loaded, and each evicts on its " +
				"own; write-back: it is written to the next tier when it is evicted, and the copy remains there when " +
				"it moves up; write-through-selective: with evict=node, it is written below when a second prompt has had it"},
		params.Param{Name: "evict", Default: evictLeaf, Choices: []string{evictLeaf, evictNode}, Doc: "of prompts: leaf, " +
			"tiers evict blocks one by one; node, hbm and host are one radix tree, of which they evict whole nodes, as in " +
			"SGLang's HiCache, with SGLang's policies"},
		params.Param{Name: "policies", Default: "", Doc: "policy of each tier from the first on, with slashes between " +
			"them: lru/s3fifo; none, or nothing between two slashes: as in --policy"},
		params.Param{Name: "promote", Default: 1, Min: 0, Max: 255, Doc: "hits in a lower tier after which an object moves " +
			"to the first one; 0: never"},
		minPriority,
		params.Param{Name: "concurrency", Default: 1, Min: 1, Max: 1e6, Doc: "of prompts: how many run at the same time, " +
			"in order of arrival; their blocks cannot be evicted from the first tier"},
		params.Param{Name: "block", Default: 0, Min: 0, Max: 1 << 20, Doc: "of prompts: tokens in a block, a multiple of " +
			"those in the trace, whose blocks are joined; every tier has as many tokens, or bytes, as otherwise; 0: the " +
			"trace's"},
		prefix.LastParam,
		params.Param{Name: "shared", Default: "", Doc: "with --nodes: the first of the tiers that all nodes share, such as " +
			"remote; that one and those below it exist once, the others on each node"},
		params.Param{Name: "joined", Default: false, Doc: "one cache as large as all tiers together, or as the last one if " +
			"mode=inclusive: what its optimum does is a bound for the tiers"},
	),
	Metrics:  metrics,
	Measure:  measure,
	Follow:   func(params.Values) error { return nil },
	Shares:   func(v params.Values) bool { return v.Text("shared") != "" },
	Together: newNodes,
	Clock:    true,
	Resolve: func(e *cache.Entry, v params.Values) {
		e.Bypasses = v.Int("promote") != 1 || v.Int("concurrency") > 1
	},
	BlockTokens: func(v params.Values) int { return v.Int("block") },
	Answers:     func(params.Values) bool { return true },
	Holds:       func(v params.Values, overlap bool) bool { return overlap || v.Int("concurrency") > 1 },
	Capacity:    ownCapacity,
	Whole:       whole,
	Tiers:       described,
	References:  references,
	CheckParams: checkParams,
	CheckTrace:  checkTrace,
	CheckModel:  checkModel,
	Admits:      admits,
	Check: func(v params.Values, policy policies.Entry) error {
		all, err := parse(v)
		if err != nil {
			return err
		}
		if v.Bool("joined") {
			all = all[:1]
		}
		if err := checkSwaps(all, v, policy); err != nil {
			return err
		}
		if isOneTree(v) || v.Text("mode") == selective {
			return checkOneTree(all, v, policy)
		}
		return checkPolicies(all, policy, v.Text("mode"))
	},
	Policies: func(v params.Values, cell policies.Spec) []policies.Spec {
		if v.Bool("joined") {
			return []policies.Spec{cell}
		}
		all, _ := parse(v) // already checked
		return policiesOf(all, cell, v.Text("mode"))
	},
	Remark: remark,
	Bytes:  estimate,
	New:    func(c cache.Config) (cache.Cache, error) { return build(c) },
	Types:  []any{(*objects)(nil), prefetching{}, (*chains)(nil)},
}

func sizeParams() (ps []params.Param) {
	for _, k := range kinds {
		doc := "size of the tier " + k.name + ", " + k.doc + ": as a capacity, or 10x for ten times the first tier"
		if isFirst(k.name) {
			doc = "size of the tier " + k.name + ", " + k.doc + "; none of hbm and memory: the size is --capacity"
		}
		ps = append(ps, params.Param{Name: k.name, Default: "", Doc: doc})
	}
	return ps
}

func checkParams(v params.Values) error {
	all, err := parse(v)
	if err != nil {
		return err
	}
	if v.Bool("joined") && v.Text("policies") != "" {
		return fmt.Errorf("policies=%s has no effect with joined=true, which has one tier; leave one of them out",
			v.Text("policies"))
	}
	if err := checkShared(all, v); err != nil {
		return err
	}
	if len(all) == 1 && v.Text("mode") != exclusive {
		return fmt.Errorf("mode=%s has no effect with one tier; leave it out, or add a tier below", v.Text("mode"))
	}
	return checkSizes(all, v.Text("mode"))
}

// admits rejects hierarchies in which nothing can be kept from storage.
func admits(v params.Values, a admit.Entry) error {
	all, err := parse(v)
	if err == nil {
		err = cache.AdmitsWithoutContest(v, a)
	}
	switch {
	case err != nil:
		return err
	case v.Bool("joined"):
		return fmt.Errorf("with joined=true there are no tiers below the first; remove one of them")
	case v.Text("mode") == inclusive:
		return fmt.Errorf("mode=inclusive needs a copy below of all that is above; write mode=write-back, write-through or " +
			"exclusive")
	case !slices.ContainsFunc(all, func(t tier) bool { return isStorage(t.name) }):
		return fmt.Errorf("none of the tiers is storage, which writes wear; add one of flash, ssd, disk, remote")
	}
	return nil
}

func checkTrace(v params.Values, t *traces.Trace) error {
	all, err := parse(v)
	if err != nil {
		return err
	}
	isPrompts := prompts.Of(t.Kind) != nil
	for _, p := range []params.Param{{Name: "concurrency", Default: 1}, {Name: "block", Default: 0}, prefix.LastParam} {
		if !isPrompts && v[p.Name] != p.Default {
			return fmt.Errorf("cache tiers: %s=%v is of prompts, but %s has none; leave it out", p.Name, v[p.Name], t.Name)
		}
	}
	if own, stated := ownCapacity(v); !isPrompts && stated && own.Bytes && !t.HasSizes() {
		return fmt.Errorf("cache tiers: %s counts bytes, but %s has no sizes; write numbers of objects", all[0].describe(),
			t.Name)
	}
	for _, tier := range all {
		if tier.hasPolicy && policies.NeedsClock(tier.policy) && t.Times == nil {
			return fmt.Errorf("cache tiers: policy %s needs a clock, but %s has no times", tier.policy, t.Name)
		}
	}
	return nil
}

func checkModel(model string, v params.Values, prefetches bool) error {
	switch {
	case prefetches:
		return fmt.Errorf("cache tiers: the model %s prefetches only from the store behind all tiers; remove the model, "+
			"the prefetcher or the tiers", model)
	case v.Int("concurrency") == 1:
		return nil
	}
	return fmt.Errorf("cache tiers: the model %s determines how many prompts run at the same time; remove the cache's "+
		"concurrency", model)
}

// references returns the parameters for the optimum: one cache as large as the tiers together.
func references(v params.Values) params.Values {
	of := maps.Clone(v)
	of["policies"], of["promote"], of["joined"] = "", 1, true
	of["evict"], of[minPriority.Name] = evictLeaf, minPriority.Default
	if v.Text("mode") != inclusive {
		of["mode"] = exclusive
	}
	return of
}

// remark says what the optimum is where it is no hierarchy of the same kind.
func remark(v params.Values, _ *traces.Trace) string {
	mode := v.Text("mode")
	if v.Bool("joined") || slices.Contains([]string{exclusive, inclusive}, mode) && v.Int("promote") == 1 {
		return ""
	}
	return fmt.Sprintf("cache tiers: no optimum is known with mode=%s and promote=%d; the ratio of misses is to a bound, "+
		"the optimum of one cache as large as all tiers together", mode, v.Int("promote"))
}

// whole returns the capacity of one cache as large as the tiers together, or as the last one if that has all.
func whole(c cache.Config) (n int64, err error) {
	all, err := parse(c.Params)
	if err != nil {
		return 0, err
	}
	sizes, err := resolve(all, c)
	if err != nil {
		return 0, err
	}
	return together(sizes, c.Params), nil
}

// together returns the joint size of tiers without duplicates.
func together(sizes []int64, v params.Values) (n int64) {
	if v.Text("mode") == inclusive {
		return sizes[len(sizes)-1]
	}
	for _, size := range sizes {
		n += size
	}
	return n
}

// The memory of a hierarchy per object, besides that of its policies.
const (
	pooledBytes = 1 // in a tier
	sizedBytes  = 8 // in a tier, if sizes count
	chainBytes  = 4 // in a tier that keeps blocks in chains
	lastBytes   = 4 // the last position, which offline policies need
	sinceBytes  = 1 // hits until an object moves up, if it does so after several

	accessBytes = 1 // per request: what a prompt has done with a block in a store
)

func estimate(v params.Values, t *traces.Trace, _ bool) (e cache.Estimate) {
	all, _ := parse(v) // already checked
	objects := int64(t.NumObjects)
	own, _ := ownCapacity(v)
	if v.Bool("joined") {
		all = all[:1]
	}
	isPrompts, tiers, trees := prompts.Of(t.Kind) != nil, int64(len(all)), int64(0)
	each := int64(pooledBytes)
	switch {
	case isPrompts && isOneTree(v):
		trees = tiers
		e.Bytes = oneTreeBytes[v.Text("mode")] * objects
	case isPrompts && slices.Contains(movingModes, v.Text("mode")):
		trees = 1
	case isPrompts:
		trees = tiers
	case t.HasSizes():
		each = sizedBytes
	}
	from := sharedFrom(all, v)
	e.Bytes += (tiers*each + trees*chainBytes + lastBytes) * objects
	if v.Int("promote") > 1 {
		e.Bytes += sinceBytes * objects
	}
	for i, spec := range policiesOf(all, policies.Spec{}, v.Text("mode")) {
		chained := i < int(trees)
		if chained && i > 0 && isStore(spec.Entry, v.Text("mode")) {
			chained = false
			e.Bytes -= chainBytes * objects
			e.Together += accessBytes * int64(len(t.Objects))
		}
		pools := cache.PoolEstimate{Policy: spec.Entry, Objects: objects, Slots: objects,
			Sized: own.Bytes && !isPrompts, Chained: chained, Pools: 1, Shared: i >= from}
		if i > 0 && isPrompts && areTwoMemories(all, v.Text("mode")) {
			pools.Second = swapBytes
		}
		e.Policies = append(e.Policies, pools)
	}
	return e
}

// tiersOf returns the tiers that a cache has, and their sizes.
func tiersOf(c cache.Config) (all []tier, sizes []int64, err error) {
	if all, err = parse(c.Params); err != nil {
		return nil, nil, err
	}
	if sizes, err = resolve(all, c); err != nil {
		return nil, nil, err
	}
	if c.Policy.Entry.Unbounded && !all[0].hasPolicy { // the capacity has room for everything then
		sizes[0] = max(sizes[0], c.Capacity)
	}
	if c.Params.Bool("joined") {
		all, sizes = all[:1], []int64{together(sizes, c.Params)}
		all[0].hasPolicy = false
	}
	return all, sizes, nil
}

func build(c cache.Config) (cache.Cache, error) { return buildOn(c, nil) }

// buildOn returns the empty hierarchy of one of several nodes; nil: there are no others.
func buildOn(c cache.Config, on *nodes) (cache.Cache, error) {
	all, sizes, err := tiersOf(c)
	if err != nil {
		return nil, err
	}
	columns := prompts.Of(c.Trace.Kind)
	h := hierarchy{mode: c.Params.Text("mode"), promote: c.Params.Int("promote"), sized: !c.Unit, nodes: on}
	if on != nil {
		h.book = on.book
	}
	if h.book == nil {
		h.book = &book{tiers: make([]counts, len(all))}
	}
	h.moves = len(all) == 1 || slices.Contains(movingModes, h.mode)
	if h.promote > 1 {
		h.since = make([]uint8, c.Room())
	}
	if columns != nil {
		h.bytes, h.prompts = c.BlockBytes, true
		h.sized = c.BlockBytes > 0
	}
	specs := policiesOf(all, c.Policy, h.mode)
	if len(all) > 1 && slices.ContainsFunc(specs, func(s policies.Spec) bool { return s.Entry.Kind == policies.Offline }) {
		h.last = make([]uint32, c.Room())
	}
	h.follower, _ = c.Observer.(cache.TierObserver)
	if columns == nil {
		o := &objects{hierarchy: h, largest: slices.Max(sizes), tenants: cache.NewSharing(c)}
		if err := o.addLevels(c, all, sizes, specs, func(int) bool { return false }); err != nil {
			return nil, err
		}
		if c.Prefetcher != nil {
			return o.withPrefetcher(c, c.NewPrefetcher(o.Capacity())), nil
		}
		return o, nil
	}
	p := &chains{hierarchy: h, Front: prefix.NewFront(c), deepestFirst: h.last == nil}
	if on != nil {
		p.held = on.held
	}
	for len(p.held) < len(all) {
		p.held = append(p.held, make([]prefix.Held, len(c.Trace.Groups)))
	}
	if isOneTree(c.Params) {
		return p, p.addOneTree(c, all, sizes)
	}
	return p, p.addTiers(c, all, sizes, specs)
}

func (c *chains) addTiers(of cache.Config, all []tier, sizes []int64, specs []policies.Spec) error {
	swapping := swaps(all, of.Policy.Entry, c.mode)
	if swapping {
		specs[1] = policies.Spec{Entry: unaskedEntry}
	}
	err := c.addLevels(of, all, sizes, specs, func(i int) bool {
		return i == 0 || !c.moves && !isStore(specs[i].Entry, c.mode)
	})
	if err == nil && swapping {
		c.swap = newSwap(of, c.levels[0].tree, c.Columns.Parents, sizes[1])
		c.levels[0].tree.Loading(c.loading)
	}
	return err
}

// addLevels builds the tiers; chained says which of them keep a block only with the blocks before it.
func (h *hierarchy) addLevels(c cache.Config, all []tier, sizes []int64, specs []policies.Spec,
	chained func(i int) bool) error {
	for i, t := range all {
		if h.nodes != nil && h.nodes.shared != nil && i >= h.nodes.from {
			h.share(h.nodes.shared[i-h.nodes.from])
			continue
		}
		l := &level{name: t.name, at: i, of: h, counts: &h.tiers[i]}
		if t.name == swept {
			l.name = firstName(c.Trace)
		}
		own := c
		if !c.Unit && !t.hasPolicy { // the optimum that may refuse an object counts objects only
			specs[i] = c.Policy
		}
		own.Policy, own.Capacity, own.Seed = specs[i], sizes[i], c.Seed^uint64(i)*0x9e3779b97f4a7c15
		if c.Admission != nil && isStorage(t.name) {
			var err error
			if l.admission, err = admit.New(*c.Admission, admit.Config{Objects: c.Room(), Capacity: sizes[i], Sized: !c.Unit,
				Seed: own.Seed}); err != nil {
				return err
			}
			h.admitting = append(h.admitting, l)
		}
		if err := h.givePredictor(&own, l, len(all) > 1); err != nil {
			return fmt.Errorf("tier %s: %w", l.name, err)
		}
		if err := l.fill(own, chained(i)); err != nil {
			return fmt.Errorf("tier %s: %w", l.name, err)
		}
		h.levels = append(h.levels, l)
	}
	return nil
}

// firstName is the name of a first tier that the user has not named.
func firstName(t *traces.Trace) string {
	if prompts.Of(t.Kind) != nil {
		return "hbm"
	}
	return "memory"
}

func (l *level) fill(c cache.Config, chained bool) (err error) {
	entry := c.Policy.Entry
	switch {
	case c.Unit && entry.Units == policies.UnitsBytes:
		return fmt.Errorf("policy %s works with capacities in bytes only", entry.Name)
	case !c.Unit && entry.Units == policies.UnitsObjects:
		return fmt.Errorf("policy %s works with capacities in objects only, not in bytes", entry.Name)
	}
	if chained {
		l.tree, err = prefix.NewTier(c, func(o policies.Object, why cache.Departure) { l.Left(o, 1, why) })
		if err != nil {
			return err
		}
		l.pool = l.tree.Pool()
		return nil
	}
	p, err := entry.New(c.PolicyConfig())
	if err != nil {
		return err
	}
	l.pool = cache.NewPool(p, c.Capacity, c.Room())
	l.pool.Observe(l.observed())
	if isStore(entry, l.of.mode) && l.at > 0 && prompts.Of(c.Trace.Kind) != nil {
		l.store = &store{policy: p.(policies.PromptStore), did: l.of.accessesIn(l.at, len(c.Trace.Objects))}
	}
	return nil
}
