package tiers

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
)

// objects is a hierarchy for objects that are requested one by one: any of them can be evicted from a tier.
type objects struct {
	hierarchy
	cache.NoProposals
	largest   int64               // size of the largest tier
	oversized int64               // requests for what is larger
	hitIn     int                 // tier of the last hit
	tenants   *cache.TenantCounts // who share the tiers; nil if nobody does
}

func (c *objects) Serve(w cache.Window, n *cache.Counts)   { cache.ServeEach(c, w, n) }
func (c *objects) LookAll(w cache.Window, n *cache.Counts) { cache.LookEach(c, w, n) }
func (c *objects) Evictions() int64                        { return c.gone }
func (c *objects) Oversized() int64                        { return c.oversized }

// Look serves a request that loads nothing if no tier has its object. A hit in a lower tier moves the object up as any
// other does.
func (c *objects) Look(r policies.Request) (hit bool) {
	c.goTo(r)
	if c.find(r.Object) >= 0 {
		return c.Request(r)
	}
	c.at(r.Time)
	c.requests++
	c.tenants.Count(r, false)
	return false
}

// Request serves a request, and loads what misses.
func (c *objects) Request(r policies.Request) (hit bool) {
	if hit = c.Ask(r, r.Pos); !hit {
		if r.Size > c.largest {
			c.oversized++
		}
		c.miss(r)
	}
	return hit
}

func (c *objects) Ask(r policies.Request, _ int) (hit bool) {
	c.at(r.Time)
	c.requests++
	if len(c.admitting) > 0 {
		c.see(r)
	}
	c.goTo(r)
	c.note(r.Object, r.Pos)
	c.observe(r.Object, r.Pos)
	at := c.find(r.Object)
	c.tenants.Count(r, at >= 0)
	if at < 0 {
		return false
	}
	c.hitIn = at
	c.hit(r, at)
	return true
}

func (c *objects) HitIn() int { return c.hitIn }

// goTo notes where and when a request comes, and removes what has expired until then.
func (c *objects) goTo(r policies.Request) {
	c.pos, c.time = r.Pos, r.Time
	c.expire(r.Time)
}

func (c *objects) Arrive(r policies.Request) (resident bool) {
	c.goTo(r)
	if c.find(r.Object) >= 0 {
		return true
	}
	if r.Size > c.largest && r.Reason == policies.Demand {
		c.oversized++
	}
	c.miss(r)
	return c.find(r.Object) >= 0
}

// Waited implements requests.Asynchronous. The object has arrived, so a policy that refused it may load it now.
func (c *objects) Waited(r policies.Request) {
	c.goTo(r)
	if at := c.find(r.Object); at >= 0 {
		c.touch(r, at)
		return
	}
	c.miss(r)
}

func (c *objects) Tenants() []cache.Tenant { return c.tenants.Tenants() }

func (c *objects) Counters() []policies.Counter {
	return append(c.hierarchy.Counters(), c.tenants.Counters()...)
}

// miss loads an object that no tier has.
func (c *objects) miss(r policies.Request) {
	switch c.mode {
	case inclusive:
		c.insertUpTo(r, 0)
	case writeThrough:
		for _, l := range c.levels {
			l.insert(r)
		}
	default:
		c.offer(r, 0)
	}
}

// insertUpTo loads an object into the tiers that lack it, from the last one up to a level, until one refuses it.
func (c *objects) insertUpTo(r policies.Request, to int) {
	for i := len(c.levels) - 1; i >= to; i-- {
		if l := c.levels[i]; !l.pool.Has(r.Object) && !l.insert(r) {
			return
		}
	}
}

// hit serves an object that a level has, and none above it.
func (c *objects) hit(r policies.Request, at int) {
	l := c.levels[at]
	l.hits++
	if c.follower != nil {
		c.follower.HitIn(at, r.Object)
	}
	l.readBytes += c.sizeOf(r.Size)
	if at == 0 || !c.due(r.Object) {
		c.touch(r, at)
		return
	}
	size := l.pool.Charge(r.Object)
	if r.Write {
		size = r.Size
	}
	if c.mode != exclusive || size > c.levels[0].pool.Capacity() { // otherwise it leaves the tier
		c.touch(r, at)
		if r.Write && c.find(r.Object) < 0 { // it has outgrown the tier
			return
		}
	}
	r.Size = size
	c.bringUp(r, at)
	if c.levels[0].pool.Has(r.Object) {
		l.promoted++
	}
}

// bringUp moves or copies an object that a lower tier has to the first one, if that takes it.
func (c *objects) bringUp(r policies.Request, at int) {
	switch c.mode {
	case exclusive:
		c.moveUp(r, c.levels[at])
	case inclusive:
		c.insertUpTo(r, 0)
	case writeThrough:
		for _, above := range c.levels[:at] {
			above.insert(r)
		}
	default: // what the policy of the first tier refuses remains where it is
		c.copyUp(r)
	}
}

// copyUp copies an object to the first tier. If its copy makes way for what that evicts, a refusal lets it leave.
func (c *objects) copyUp(r policies.Request) {
	c.moving, c.movesUp = r.Object, true
	c.levels[0].insert(r)
	c.movesUp = false
	if c.find(r.Object) < 0 {
		c.gone++
	}
}

// touch reports a hit to the tiers from a level on that have the object. With write-through, the others get it again.
func (c *objects) touch(r policies.Request, at int) {
	if r.Write {
		c.rewrite(r, at)
		return
	}
	for _, l := range c.levels[at:] {
		if l.pool.Has(r.Object) {
			l.pool.Hit(r)
		} else if c.mode == writeThrough {
			again := r
			again.Size = c.levels[at].pool.Charge(r.Object)
			l.insert(again)
		}
	}
}

// rewrite is touch for a write, which replaces the value in every tier that has it. The last tier comes first: what a
// tier then has no room for goes down, and is no hit there. With write-through, the others get it again.
func (c *objects) rewrite(r policies.Request, at int) {
	for _, l := range slices.Backward(c.levels[at:]) {
		if l.pool.Has(r.Object) {
			l.pool.Hit(r)
		} else if c.mode == writeThrough {
			l.insert(r)
		}
	}
}

// moveUp moves an object from a lower tier to the first one, unless it is too large for that.
func (c *objects) moveUp(r policies.Request, l *level) {
	if r.Size > c.levels[0].pool.Capacity() {
		return
	}
	l.pool.Drop(r.Object)
	if !c.levels[0].insert(r) {
		c.putBack(r, l)
	}
}

// putBack returns an object to the tier that it was taken from, which is no new write, or it has left.
func (h *hierarchy) putBack(r policies.Request, l *level) {
	r.Pos = l.position(r.Pos)
	if !l.pool.Miss(r) {
		l.evicted++
		h.gone++
	}
}

func (c *objects) Holds(o policies.Object) bool {
	return slices.ContainsFunc(c.levels, func(l *level) bool { return l.pool.Resident(o) })
}

func (c *objects) Drop(o policies.Object) (was bool) {
	for _, l := range c.levels {
		if l.pool.Drop(o) {
			was = true
		}
	}
	if c.follower != nil {
		c.follower.Moved()
	}
	return was
}

// This file lets a prefetcher load objects. To the prefetcher, the first tier is the cache. Proposals are loaded there,
// from a lower tier or else from the store behind all tiers, and have left when the first tier has evicted them. So
// objects implements cache.Store.

// withPrefetcher returns a hierarchy into which a prefetcher loads.
func (c *objects) withPrefetcher(config cache.Config, p prefetch.Prefetcher) cache.Cache {
	c.prefetches = true
	if c.last != nil {
		c.requested = make([]bool, len(c.last))
	}
	return prefetching{cache.NewPrefetching(config, c, p), c}
}

// prefetching is a hierarchy with a prefetcher.
type prefetching struct {
	cache.Prefetching
	cache.Tenanted
}

func (c *objects) Capacity() int64                 { return c.levels[0].pool.Capacity() }
func (c *objects) Resident(o policies.Object) bool { return c.levels[0].pool.Has(o) }
func (c *objects) Below(o policies.Object) bool    { return c.find(o) > 0 }
func (c *objects) Observe(o cache.Observer)        { c.observer = o } // of what leaves the first tier

// Load brings an object to the first tier without a request, and reports whether it has.
func (c *objects) Load(r policies.Request) (loaded bool) {
	c.goTo(r)
	at := c.find(r.Object)
	if at > 0 {
		r.Size = c.levels[at].pool.Charge(r.Object)
	}
	first := c.levels[0]
	switch {
	case at == 0:
		return first.pool.Load(r) // nothing; its policy may follow proposals
	case r.Size > first.pool.Capacity():
		return false
	}
	switch {
	case at > 0:
		c.bringUp(r, at)
	case c.moves: // tiers below the first one get what that evicts
		first.insert(r)
	default:
		c.miss(r)
	}
	if !first.pool.Has(r.Object) {
		return false
	}
	if at > 0 {
		c.levels[at].fetched++
		c.levels[at].fetchedBytes += c.sizeOf(r.Size)
	}
	return true
}
