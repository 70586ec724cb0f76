package tiers

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// objects is a hierarchy for objects that are requested one by one: any of them can be evicted from a tier.
type objects struct {
	hierarchy
	largest   int64               // size of the largest tier
	oversized int64               // requests for what is larger
	hitIn     int                 // tier of the last hit
	tenants   *cache.TenantCounts // who share the tiers; nil if nobody does
}

// Serve implements cache.Cache.
func (c *objects) Serve(w cache.Window, n *cache.Counts) {
	gone, oversized := c.gone, c.oversized
	for i := range w.Objects {
		c.request(w.Request(i), n, w.Sizes != nil)
	}
	n.Requests += int64(len(w.Objects))
	n.Evictions += c.gone - gone
	n.Oversized += c.oversized - oversized
}

// asked records a request, whether it hits or not.
func (c *objects) asked(r policies.Request) {
	c.begin(r.Pos, r.Time)
	c.requests++
	if len(c.admitting) > 0 {
		c.see(r)
	}
	c.expire(r.Time)
	c.note(r.Object, r.Pos)
	c.observe(r.Object, r.Pos)
}

func (c *objects) request(r policies.Request, n *cache.Counts, sized bool) {
	if sized {
		n.Bytes += r.Size
	}
	if !c.Request(r) {
		return
	}
	n.Hits++
	if sized {
		n.HitBytes += r.Size
	}
}

// Request serves a request, and loads what misses.
func (c *objects) Request(r policies.Request) (hit bool) {
	c.asked(r)
	at := c.find(r.Object)
	c.count(r, at >= 0)
	if at < 0 {
		if r.Size > c.largest {
			c.oversized++
		}
		c.miss(r)
		return false
	}
	c.hit(r, at)
	return true
}

// count counts a request for its tenant.
func (c *objects) count(r policies.Request, hit bool) {
	if c.tenants != nil {
		c.tenants.Count(r, hit)
	}
}

// Tenants returns the state of every tenant: their requests and hits, since they share all tiers.
func (c *objects) Tenants() []cache.Tenant { return c.tenants.Tenants() }

// Counters implements cache.Reporting.
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

// insertUpTo loads an object into the tiers that lack it, from the last one up to a level, until one refuses it: what
// is above must be below, too.
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
	l.hit(c.sizeOf(r.Size))
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

// copyUp copies an object to the first tier. If what that evicts takes the place of the object below, and the first
// tier then refuses it, it has left.
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
	l.take(r.Object)
	if !c.levels[0].insert(r) {
		c.putBack(r, l)
	}
}

// putBack returns an object to the tier that it was taken from, which is no new write. If the policy refuses it there,
// it has left.
func (h *hierarchy) putBack(r policies.Request, l *level) {
	r.Pos = l.position(r.Pos)
	if !l.pool.Miss(r) {
		l.evicted++
		h.gone++
	}
}

// Holds implements cache.Dropping.
func (c *objects) Holds(o policies.Object) bool {
	return slices.ContainsFunc(c.levels, func(l *level) bool { return l.pool.Resident(o) })
}

// Drop implements cache.Dropping.
func (c *objects) Drop(o policies.Object) (was bool) {
	for _, l := range c.levels {
		if l.pool.Drop(o) {
			was = true
		}
	}
	return was
}
