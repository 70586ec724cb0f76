package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
)

var exactEntry = Entry{
	Name:     "exact",
	Summary:  "a request hits where its own object is resident; any object may leave",
	Source:   "cachesim",
	OneByOne: true,
	New:      func(c Config) (Cache, error) { return newExactCache(c) },
}

// newExactCache returns the exact-match cache of a policy: its batch path where it has one.
func newExactCache(c Config) (Cache, error) {
	p, err := c.Policy.Entry.New(c.PolicyConfig())
	if err != nil {
		return nil, err
	}
	if batch, ok := p.(policies.UnitReplayer); ok && c.Unit {
		return NewBatchExact(batch), nil
	}
	return NewExact(p, c.Capacity, c.Trace.NumObjects), nil
}

// Exact is a cache in which a request hits where its own object is resident. It serves the requests one by one.
type Exact struct {
	policy   policies.Policy
	admitter policies.Admitter // nil where the policy admits everything
	expirer  policies.Expirer  // nil where nothing expires
	capacity int64
	used     int64
	stored   []int64 // what each object is charged while resident; 0 while not
}

// NewExact returns an empty cache of the given capacity over objects 0..objects-1.
func NewExact(p policies.Policy, capacity int64, objects int) *Exact {
	c := &Exact{policy: p, capacity: capacity, stored: make([]int64, objects)}
	c.admitter, _ = p.(policies.Admitter)
	c.expirer, _ = p.(policies.Expirer)
	return c
}

// Counters implements Reporting.
func (c *Exact) Counters() []policies.Counter { return CountersOf(c.policy) }

// Used returns how much of the capacity is taken.
func (c *Exact) Used() int64 { return c.used }

// Resident reports whether o is in the cache.
func (c *Exact) Resident(o policies.Object) bool { return c.stored[o] != 0 }

// Serve implements Cache.
func (c *Exact) Serve(w Window, n *Counts) {
	r := policies.Request{Size: 1}
	for i, o := range w.Objects {
		r.Object, r.Query, r.Pos = o, o, w.First+i
		if w.Sizes != nil {
			r.Size = w.Sizes[i]
			n.Bytes += r.Size
		}
		if w.Times != nil {
			r.Time = w.Times[i]
		}
		if c.expirer != nil {
			c.expire(r.Time, n)
		}
		if c.stored[o] == 0 {
			c.miss(r, n)
			continue
		}
		n.Hits++
		if w.Sizes != nil {
			n.HitBytes += r.Size
		}
		c.policy.Hit(r)
	}
	n.Requests += int64(len(w.Objects))
}

// miss loads r's object unless it is too large or the policy refuses it.
func (c *Exact) miss(r policies.Request, n *Counts) {
	if r.Size > c.capacity {
		n.Oversized++
		return
	}
	c.policy.Miss(r)
	if c.admitter != nil && !c.admitter.Admit(r) {
		return
	}
	for c.used+r.Size > c.capacity {
		v := c.policy.Victim(r)
		if v == r.Object {
			return
		}
		c.drop(v)
		n.Evictions++
	}
	c.policy.Insert(r)
	c.stored[r.Object] = r.Size
	c.used += r.Size
}

// Remove drops o, which is resident, for a reason that is not the policy's.
func (c *Exact) Remove(o policies.Object) {
	c.policy.Remove(o)
	c.drop(o)
}

// drop takes o out of the accounts. A policy that names an object twice, or one that is not here, is broken.
func (c *Exact) drop(o policies.Object) {
	if c.stored[o] == 0 {
		panic(fmt.Sprintf("policy %T evicts object %d, which is not resident", c.policy, o))
	}
	c.used -= c.stored[o]
	c.stored[o] = 0
}

func (c *Exact) expire(now int64, n *Counts) {
	for {
		o, ok := c.expirer.Expired(now)
		if !ok {
			return
		}
		c.drop(o)
		n.Evictions++
	}
}

// batchExact is an exact-match cache with its capacity in objects, replayed by the policy's own loop.
type batchExact struct {
	policy policies.UnitReplayer
}

// NewBatchExact returns the cache in which a policy, which is fresh, serves whole runs of requests by itself.
func NewBatchExact(p policies.UnitReplayer) Cache { return batchExact{p} }

func (c batchExact) Counters() []policies.Counter { return CountersOf(c.policy) }

func (c batchExact) Serve(w Window, n *Counts) {
	hits, evictions := c.policy.ReplayUnit(w.Objects, w.First)
	n.Requests += int64(len(w.Objects))
	n.Hits += int64(hits)
	n.Evictions += int64(evictions)
}
