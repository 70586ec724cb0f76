package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/memory"
	"github.com/cachesim/cachesim/internal/policies"
)

// NextUseBytes is what next uses take for each request. The replays of a trace share them, and nearly all need them, as
// the optimum does.
const NextUseBytes = 4

// Estimates of what the policies do not take themselves, in bytes.
const (
	formulaBytes = 16        // per object, of a predictor that follows a formula
	learnedBytes = 100       // per object, of one that learns from a history
	windowBytes  = 128 << 20 // of the rows that such a predictor is trained on
	queryBytes   = 8         // per request, of caches of queries
	replayBytes  = 1 << 20   // of any replay
	poolBytes    = 2 << 10   // of the pool of a tenant
	memberBytes  = 13        // per object, of pools of tenants
	monitorBytes = 80        // per object that the monitors of pools follow, all of them at most
	// Of a cache that prefetches, beside its prefetcher: per object, and per object of the trace for what the trace never
	// asks for and the dictionary of addresses.
	prefetcherBytes = 32 << 20
	prefetchedBytes = 18
	strangerBytes   = 90
)

// Need estimates the memory that a job takes beside the trace and the next uses, in bytes.
func (r *Replayer) Need(job []Cell) int64 {
	c := job[0] // several share one pass
	t := r.trace
	objects := int64(t.NumObjects)
	need := int64(replayBytes)
	if c.Prefetcher != nil {
		need += prefetcherBytes + prefetchedBytes*objects
		if c.Prefetcher.Entry.Addresses {
			need += strangerBytes * objects
			objects *= 2
		}
	}
	need += c.Policy.Entry.Memory.Bytes(objects, r.slots(c), c.Capacity.Bytes)
	switch {
	case c.Predictor == nil || c.Predictor.Entry.Future:
	case c.Predictor.Entry.Trains:
		need += learnedBytes*objects + min(windowBytes, 200*int64(len(t.Objects)))
	default:
		need += formulaBytes * objects
	}
	if c.Allocator != nil {
		need += r.needOfPools(c)
	}
	if c.Cache.Entry.Queries {
		need += queryBytes * int64(len(t.Objects))
	}
	return need
}

// needOfPools estimates what the pools of tenants take besides: the numbers of their members, the monitors of their
// curves and, where a policy knows objects by their numbers in the trace, room for all of these in each pool.
func (r *Replayer) needOfPools(c Cell) int64 {
	t := r.trace
	if t.Tenants == nil {
		return 0 // which is refused
	}
	objects, tenants := int64(t.NumObjects), int64(len(t.Tenants.Names))
	need := poolBytes*tenants + memberBytes*objects + monitorBytes*objects
	if !c.Allocator.Entry.Shared && (c.Policy.Entry.Kind == policies.Offline || c.Policy.Entry.Relates) {
		need += (tenants - 1) * c.Policy.Entry.Memory.Bytes(objects, 0, c.Capacity.Bytes)
	}
	return need
}

// slots returns about how many objects the cache of a cell holds.
func (r *Replayer) slots(c Cell) int64 {
	objects := int64(r.trace.NumObjects)
	if !c.Capacity.Bytes || c.Policy.Entry.Unbounded {
		return min(c.Capacity.Simulated, objects)
	}
	mean := max(1, r.trace.Footprint()/max(1, objects))
	return min(c.Capacity.Simulated/mean, objects)
}

// sharedNeed estimates the memory of what replays share, before it is made.
func (r *Replayer) sharedNeed() int64 { return NextUseBytes * int64(len(r.trace.Objects)) }

// Fits refuses a job that does not fit into what is left of a budget. What replays share must not be made yet.
func (r *Replayer) Fits(job []Cell, budget *memory.Budget) error {
	c := job[0]
	return budget.Need(r.Need(job)+r.sharedNeed(), fmt.Sprintf("the replay of %s at %s on %s", c.Policy,
		c.Capacity.Text, r.trace.Name),
		"--sample", "--limit", "a smaller capacity")
}
