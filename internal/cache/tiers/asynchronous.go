package tiers

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Ask implements requests.Asynchronous.
func (c *objects) Ask(r policies.Request, _ int) (hit bool) {
	c.asked(r)
	at := c.find(r.Object)
	c.count(r, at >= 0)
	if at < 0 {
		return false
	}
	c.hitIn = at
	c.hit(r, at)
	return true
}

// HitIn returns the tier in which the last request hit.
func (c *objects) HitIn() int { return c.hitIn }

// Arrive implements requests.Asynchronous.
func (c *objects) Arrive(r policies.Request) (resident bool) {
	c.pos, c.time = r.Pos, r.Time
	c.expire(r.Time)
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
	c.pos, c.time = r.Pos, r.Time
	c.expire(r.Time)
	if at := c.find(r.Object); at >= 0 {
		c.touch(r, at)
		return
	}
	c.miss(r)
}

// Cancelled implements requests.Asynchronous.
func (c *objects) Cancelled(policies.Object) {}

// Proposals implements requests.Asynchronous.
func (c *objects) Proposals(to []requests.Fetch) []requests.Fetch { return to }

// More implements requests.Asynchronous.
func (c *objects) More(_ int, to []requests.Fetch) []requests.Fetch { return to }

// Evictions implements requests.Asynchronous.
func (c *objects) Evictions() int64 { return c.gone }

// Oversized implements requests.Asynchronous.
func (c *objects) Oversized() int64 { return c.oversized }
