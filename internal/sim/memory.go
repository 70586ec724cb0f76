package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/sim/shards"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// NextUseBytes is the memory of next uses per request. The replays of a trace share them, and nearly all need them,
// because the optimum does.
const NextUseBytes = 4

// Estimates of the memory in addition to the policies' own, in bytes.
const (
	formulaBytes = 16        // per object, of a predictor with a formula
	learnedBytes = 100       // per object, of a predictor that learns from a history
	topicBytes   = 60        // per object, of such a predictor where entries answer similar queries
	windowBytes  = 128 << 20 // of the rows that such a predictor trains on
	replayBytes  = 1 << 20   // of any replay
	poolBytes    = 2 << 10   // of the pool of a tenant
	tallyBytes   = 100       // of a tenant of prompts
	memberBytes  = 13        // per object, of pools of tenants
	patternBytes = 20 << 10  // of the tree that recognises a tenant's pattern
	listingBytes = 28        // per object, of these trees
	monitorBytes = 80        // per object that the pools' monitors follow, all of them at most
	layoutBytes  = 80        // per file, of prefetchers that need the directory tree
	// Of pools on nodes: per object for allocators that need footprints, the objects that a monitor follows, and per
	// request for the model's latencies.
	footprintBytes = 4
	mostFollowed   = 1 << 14
	modelledBytes  = 16
	// Of prompts, per object: of a pass over many capacities, and of a policy that cannot choose among some of the blocks
	// by itself.
	promptStackBytes = 28
	chooserBytes     = 20
	// Of an offline policy whose requests come one by one, per object.
	oneByOneBytes = 5
)

// demand is the memory of what some cells have: in all, per object and per request, in bytes.
type demand struct {
	has                    func(c *Cell) bool
	fixed, object, request int64
}

// demandsOfPrefetching are those of a cache that prefetches, without the policy of its prefetcher.
var demandsOfPrefetching = []demand{
	{has("prefetcher"), 32 << 20, 18, 0},
	{prefetches(func(e prefetch.Entry) bool { return e.Files }), 0, 48, 0}, // each file has an object
	{prefetches(func(e prefetch.Entry) bool { return e.Future }), 0, 0, 4}, // the next requests
	// strangers, and the dictionary of addresses
	{prefetches(func(e prefetch.Entry) bool { return e.Addresses }), 0, 110, 0},
}

// demandsOfCaches are those of caches that are not divided among nodes with policies of their own.
var demandsOfCaches = []demand{
	{func(c *Cell) bool {
		return c.Cache.Entry.NeedsPrompts() && !policies.Can[policies.Holder](c.Policy.Entry)
	}, 0, chooserBytes, 0},
	{func(c *Cell) bool { return c.Cache.Entry.NeedsPrompts() && c.Policy.Entry.Kind == policies.Offline }, 0,
		oneByOneBytes, 0},
	{func(c *Cell) bool { return isAsynchronous(c.Model) }, 0, 16, 80}, // each request may be a read of its own
	{func(c *Cell) bool { return cache.ServesQueries(c.Cache) }, 0, 0, 8},
}

func prefetches(how func(prefetch.Entry) bool) func(*Cell) bool {
	return func(c *Cell) bool { return c.Prefetcher != nil && how(c.Prefetcher.Entry) }
}

func sumOf(demands []demand, c *Cell, objects, requests int64) (need int64) {
	for _, d := range demands {
		if d.has(c) {
			need += d.fixed + d.object*objects + d.request*requests
		}
	}
	return need
}

// Need estimates the memory of a job in addition to the trace and the next uses, in bytes.
func (r *Replayer) Need(job Job) int64 {
	if job.device != nil {
		return replayBytes + job.device.bytes(r, job.cells)
	}
	c := job.cells[0] // several share one pass
	if cache.ServesHeads(c.Cache) {
		return replayBytes + r.needOfHeads(job.cells, 1)
	}
	c.Parts = c.Replayed()
	t := r.trace
	objects, requests, copies := int64(t.NumObjects), int64(len(t.Objects)), int64(1)
	need := replayBytes + sumOf(demandsOfPrefetching, &c, objects, requests)
	if len(job.cells) > 1 && c.Cache.Entry.GroupOrder != nil {
		need += promptStackBytes * objects
	}
	if r.blockTokens(c) > 0 { // joined blocks
		need += 12*objects + 8*requests
	}
	if c.Prefetcher != nil {
		if reads := files.Of(t.Kind); reads != nil && c.Prefetcher.Entry.Layout {
			need += layoutBytes * int64(len(reads.Paths))
		}
		if c.Prefetcher.Entry.Addresses {
			objects, copies = 2*objects, 2 // as many numbers are for strangers
		}
	}
	if c.Admission != nil {
		need += c.Admission.Entry.PerObject * objects
	}
	if c.Cache.Entry.Bytes != nil {
		need += copies * r.needOfNodes(c)
		if r.routesObjects(c) {
			return need + shards.Bytes(t)
		}
		if c.Router != nil {
			need += replicas.Bytes(t, *c.Router, 0) + r.needOfNodePredictors(c, livesOf(c)-nodesOf(c))
		}
		return need
	}
	need += c.Policy.Entry.Memory.Bytes(objects, r.slots(c), c.Capacity.Bytes)
	if own := c.Cache.Entry.Memory; own != (policies.Memory{}) {
		need += own.Bytes(objects, r.slots(c), c.Capacity.Bytes)
	}
	need += sumOf(demandsOfCaches, &c, objects, requests) + r.needOfPredictor(c, objects)
	if c.Allocator != nil {
		need += r.needOfPools(c)
	}
	switch {
	case r.routesObjects(c):
		need += r.needOfShards(c, need)
	case c.Router != nil:
		need += r.needOfReplicas(c)
	}
	return need
}

// needOfPredictor estimates the memory of a predictor of a number of objects.
func (r *Replayer) needOfPredictor(c Cell, objects int64) (need int64) {
	switch {
	case c.Predictor == nil || c.Predictor.Entry.Future:
		return 0
	case c.Predictor.Entry.Trains:
		row := int64(200)
		if cache.AnswersSimilar(c.Cache) {
			row += 70
			need += topicBytes * objects
		}
		return need + learnedBytes*objects + min(windowBytes, row*int64(len(r.trace.Objects)))
	}
	return formulaBytes * objects
}

// chooserOf returns the memory, per block of prompts, of what chooses among the last ones for a policy that cannot.
func chooserOf(policy policies.Entry) int64 {
	if policies.Can[policies.Holder](policy) {
		return 0
	}
	return chooserBytes
}

// needOfHeads estimates the memory of cells of the cache of a language model, for attention in some steps at once.
func (r *Replayer) needOfHeads(cells []Cell, steps int) int64 {
	once, _ := servedOnce(cells)
	var all []kv.Cell
	for _, c := range once {
		all = append(all, headsCell(c))
	}
	return kv.Bytes(attention.Of(r.trace.Kind).Shape, all, parallel.Jobs(r.options.Jobs), steps,
		slices.ContainsFunc(cells, asksSteps))
}

// needOfPools estimates the additional memory of tenants' pools: the numbers of their members, the monitors of their
// curves and, if a policy identifies objects by their numbers in the trace, room for all objects in each pool.
func (r *Replayer) needOfPools(c Cell) int64 {
	t := r.trace
	if t.Tenants == nil {
		return 0 // which is rejected
	}
	objects, tenants := int64(t.NumObjects), int64(len(t.Tenants.Names))
	if t.Tenants.OfPrompt != nil {
		return tallyBytes * tenants // who share everything
	}
	need := poolBytes*tenants + memberBytes*objects + monitorBytes*objects
	if c.Allocator.Entry.Patterns {
		need += patternBytes*tenants + listingBytes*objects
	}
	if !c.Allocator.Entry.Shared && (c.Policy.Entry.Kind == policies.Offline || c.Policy.Entry.Relates) {
		need += (tenants - 1) * c.Policy.Entry.Memory.Bytes(objects, 0, c.Capacity.Bytes)
	}
	return need
}

// needOfNodes estimates the memory of a cache whose nodes are divided into pools, each with a policy of its own.
func (r *Replayer) needOfNodes(c Cell) int64 {
	estimate := c.Cache.Entry.Bytes(c.Cache.Params, r.trace, approximates(c.Model))
	need := estimate.Bytes*nodesOf(c) + estimate.Together
	for _, pools := range estimate.Policies {
		policy := pools.Policy
		if policy.New == nil {
			policy = c.Policy.Entry
		}
		if pools.Second != nil && policies.Can[policies.Swapper](policy) {
			need += pools.Second(cacheConfig(c, r.trace, nil), nodesOf(c))
			continue
		}
		each := policy.Memory.Bytes(pools.Objects, pools.Slots, pools.Sized)
		if policy.Kind == policies.Offline {
			each += oneByOneBytes * pools.Objects
		}
		if pools.Chained {
			each += chooserOf(policy) * pools.Objects
		}
		if policies.Can[policies.PredictorUser](policy) && c.Predictor != nil {
			each += formulaBytes * pools.Objects
			if c.Predictor.Entry.Trains {
				each += learnedBytes*pools.Objects + windowBytes
			}
		}
		if c.Allocator != nil && !c.Allocator.Entry.Serving {
			each += footprintBytes * pools.Objects
		}
		if c.Allocator != nil {
			each += monitorBytes * min(pools.Objects, mostFollowed)
		}
		if !pools.Shared {
			each *= nodesOf(c)
		}
		need += pools.Pools * each
	}
	if c.Cache.Entry.Pools != nil {
		need += modelledBytes * int64(len(r.trace.Objects))
	}
	return need
}

// slots estimates the number of objects in the cache of a cell.
func (r *Replayer) slots(c Cell) int64 {
	objects := int64(r.trace.NumObjects)
	if !c.Capacity.Bytes || c.Policy.Entry.Unbounded {
		return min(c.Capacity.Simulated, objects)
	}
	mean := max(1, r.trace.Footprint()/max(1, objects))
	return min(c.Capacity.Simulated/mean, objects)
}

// sharedNeed estimates the memory shared by replays, before it is built.
func (r *Replayer) sharedNeed() int64 {
	if r.trace.NextUse() != nil {
		return 0 // it came with the trace
	}
	return NextUseBytes * int64(len(r.trace.Objects))
}

// Fits returns Need. It is an error if the job does not fit into the rest of a budget. The shared memory must not be
// allocated yet.
func (r *Replayer) Fits(job Job, budget *memory.Budget) (need int64, err error) {
	c := job.cells[0]
	need = r.Need(job)
	return need, budget.Need(need+r.sharedNeed(), fmt.Sprintf("the replay of %s at %s on %s", c.Policy,
		c.Capacity, r.trace.Name),
		"--sample", "--limit", "a smaller capacity")
}

// longReplay is the duration from which replays are announced with an estimate.
const longReplay = time.Minute

// usualTime is the time per request of most policies.
const usualTime = 100 * time.Nanosecond

// prefetchTime is the time of prefetching per request if most requests cause a load.
const prefetchTime = 300 * time.Nanosecond

// Duration estimates the time of a replay: of the policy, of its predictor and of prefetching. It is a rough
// figure, measured on a server, without similarity and models of time.
func (r *Replayer) Duration(c Cell) time.Duration {
	requests := int64(r.Requests(c.Capacity))
	d := time.Duration(requests) * usualTime
	if c.Prefetcher != nil {
		d += time.Duration(requests) * prefetchTime
	}
	if c.Predictor != nil {
		d += c.Predictor.Entry.Duration(c.Predictor.Params, requests)
	}
	return d
}

// LongNote says how long replays are expected to take, with the given number at a time, and which of them take longest.
// It is empty if that is no more than a minute.
func LongNote(cells []Cell, atATime int, durationOf func(Cell) time.Duration, requests int) string {
	var sum, longest time.Duration
	var slowest Cell
	for _, c := range cells {
		d := durationOf(c)
		sum += d
		if d > longest {
			longest, slowest = d, c
		}
	}
	total := max(sum/time.Duration(max(1, min(atATime, len(cells)))), longest)
	if total <= longReplay {
		return ""
	}
	replays := fmt.Sprintf("%d replays", len(cells))
	if len(cells) == 1 {
		replays = "a replay"
	}
	return fmt.Sprintf("about %s: %s of %s requests (%s: %.2g us per request)",
		aboutTime(total), replays, show.Count(int64(requests)), learners(slowest),
		float64(longest)/float64(time.Microsecond)/float64(max(1, requests)))
}

// learners names the policy of a cell and its predictor, if they learn.
func learners(c Cell) string {
	switch {
	case c.Predictor == nil:
		return c.Policy.String()
	case c.Policy.Entry.Name == "":
		return c.Predictor.String()
	}
	return c.Policy.String() + " with " + c.Predictor.String()
}

// aboutTime formats a duration of a minute or more in minutes, and from two hours on in hours.
func aboutTime(d time.Duration) string {
	if d < 2*time.Hour {
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}
