package cache

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
)

var exactEntry = Entry{
	Name:     "exact",
	Summary:  "a request hits where its own object is resident; any object can be evicted",
	Source:   "cachesim",
	OneByOne: true,
	Metrics:  []metric.Metric{NotAdmitted},
	Admits:   AdmitsAny,
	Types:    []any{(*Exact)(nil), batchExact{}, (*Divided)(nil), (*prefetching)(nil), (*prefetchingTenants)(nil)},
	New:      func(c Config) (Cache, error) { return newExactCache(c) },
}

// newExactCache returns the exact-match cache of a policy. It uses the policy's batch path if there is one, and neither
// an observer nor the occupancy is needed. It has pools if an allocator divides the capacity among tenants.
func newExactCache(c Config) (Cache, error) {
	switch {
	case c.Allocator != nil && c.Prefetcher != nil:
		return newPrefetchingTenants(c)
	case c.Allocator != nil:
		return newDivided(c)
	}
	p, err := c.Policy.Entry.New(c.PolicyConfig())
	if err != nil {
		return nil, err
	}
	guard, err := NewGuard(c)
	if err != nil {
		return nil, err
	}
	if c.Prefetcher != nil {
		pool := NewPool(p, c.Capacity, c.Room())
		return NewPrefetching(c, pool, c.NewPrefetcher(c.Capacity)), guard.Before(pool)
	}
	if batch, ok := p.(policies.UnitReplayer); ok && c.Unit && c.plain() {
		return NewBatchExact(batch), nil
	}
	exact := NewExact(p, c.Capacity, c.Trace.NumObjects)
	if err := guard.Before(exact.Pool); err != nil {
		return nil, err
	}
	exact.Observe(c.Observer)
	return exact, nil
}

// plain reports whether all requests of the trace reach the cache, nothing else does, and nobody observes it. A batch
// of the optimum would count writes as misses, because its schedule ignores them.
func (c *Config) plain() bool {
	watched := c.Observer != nil || c.Occupancy || c.Asynchronous || c.Admission != nil
	removes := len(c.Trace.Removals) > 0 || c.Trace.Written.Passing > 0
	return !watched && !removes && !(c.Trace.Fills() && c.Policy.Entry.Kind == policies.Offline)
}

// Exact is a cache in which a request hits if its own object is resident: one pool, called request by request.
type Exact struct{ *Pool }

// NewExact returns an empty cache of the given capacity over objects 0..objects-1.
func NewExact(p policies.Policy, capacity int64, objects int) *Exact {
	return &Exact{NewPool(p, capacity, objects)}
}

func (c *Exact) Serve(w Window, n *Counts) {
	p := c.Pool
	if w.Sizes != nil && p.stored == nil {
		p.weigh()
	}
	evictions, oversized := p.evictions, p.oversized
	p.replay(w, n)
	n.Requests += int64(len(w.Objects))
	n.Evictions += p.evictions - evictions
	n.Oversized += p.oversized - oversized
}

// replay is the loop of Serve: Request for each object, inlined, with the cache's counts. All objects are identified by
// their numbers in the trace. It has few variables of its own, because every call would save them.
func (p *Pool) replay(w Window, n *Counts) {
	r := policies.Request{Size: 1, Write: w.Writes}
	for i, o := range w.Objects {
		r.Object, r.Query, r.Pos = o, o, w.First+i
		if w.Sizes != nil {
			r.Size = w.Sizes[i]
			n.Bytes += r.Size
		}
		if w.Times != nil {
			r.Time = w.Times[i]
		}
		if p.expirer != nil {
			p.expire(r.Time)
		}
		if !p.Has(o) {
			p.Miss(r)
			continue
		}
		n.Hits++
		if w.Sizes != nil {
			n.HitBytes += r.Size
			if w.Writes {
				p.rewrite(r)
				continue
			}
		}
		p.policy.Hit(r)
	}
	p.pos, p.time = r.Pos, r.Time
}

// batchExact is an exact-match cache with its capacity in objects, replayed by the policy's own loop.
type batchExact struct {
	policy policies.UnitReplayer
}

// NewBatchExact returns the cache in which a fresh policy serves whole runs of requests itself.
func NewBatchExact(p policies.UnitReplayer) Cache { return batchExact{p} }

func (c batchExact) Counters() []policies.Counter { return CountersOf(c.policy) }
func (c batchExact) Remark() string               { return RemarkOf(c.policy) }

func (c batchExact) Serve(w Window, n *Counts) {
	hits, evictions := c.policy.ReplayUnit(w.Objects, w.First)
	n.Requests += int64(len(w.Objects))
	n.Hits += int64(hits)
	n.Evictions += int64(evictions)
}
