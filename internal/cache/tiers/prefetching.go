package tiers

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
)

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
	if at == 0 || r.Size > first.pool.Capacity() {
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
