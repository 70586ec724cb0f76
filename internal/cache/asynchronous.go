package cache

import (
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
)

// Asynchronous is implemented by caches into which a model of time loads objects: other requests are served between a
// request and the arrival of what it misses. A cache is either driven in this way or by Serve, never both.
//
// Positions are not those of the trace, whose order a model may change: a hit, an arrival with the reason Demand and a
// request that waited each have the next position. Times are those of the model's clock. What is requested again before
// it has arrived waits for the same arrival (a delayed hit; Atre et al., SIGCOMM 2020).
type Asynchronous interface {
	// Ask serves a request, whose position in the trace is at, if its object is resident, and reports whether it is.
	// Otherwise nothing is loaded: the caller fetches the object, unless it is being fetched, and then calls Arrive, or
	// Cancelled.
	Ask(r policies.Request, at int) (hit bool)
	// Proposals appends what to prefetch after the last request: objects that are neither resident nor being fetched. The
	// caller fetches them, and calls Arrive or Cancelled for each.
	Proposals(to []Fetch) []Fetch
	// More appends up to n further proposals for when nothing else is to be prefetched, as Proposals does.
	More(n int, to []Fetch) []Fetch
	// Arrive loads an object that has arrived, and reports whether it is resident now. r is the first request that waited
	// for it, with the reason Demand, or a request of the object with the reason Prefetch and the last position if none
	// did. Its time is that of the arrival.
	Arrive(r policies.Request) (resident bool)
	// Waited serves, after Arrive, a further request that waited for the same object. Ask has counted it as a miss.
	Waited(r policies.Request)
	// Cancelled reports that an object will not arrive.
	Cancelled(o policies.Object)
	// Evictions and Oversized return the counts so far, as in Counts.
	Evictions() int64
	Oversized() int64
}

// Fetch is an object that is to be prefetched.
type Fetch struct {
	Object policies.Object
	Size   int64 // as it is charged: bytes, or 1 if the capacity counts objects
}

// Ask implements Asynchronous.
func (p *Pool) Ask(r policies.Request, _ int) (hit bool) {
	if p.expirer != nil {
		p.expire(r.Time)
	}
	if p.members != nil {
		r.Object = p.number(r.Object)
		r.Query = r.Object
	}
	p.pos, p.time = r.Pos, r.Time
	if !p.Has(r.Object) {
		return false
	}
	p.policy.Hit(r)
	return true
}

// Arrive implements Asynchronous.
func (p *Pool) Arrive(r policies.Request) (resident bool) { return p.Load(r) || p.Resident(r.Object) }

// Waited implements Asynchronous. The object has arrived, so a policy that bypassed it may load it now.
func (p *Pool) Waited(r policies.Request) { p.Request(r) }

// Cancelled implements Asynchronous.
func (p *Pool) Cancelled(policies.Object) {}

// Proposals implements Asynchronous.
func (c *Exact) Proposals(to []Fetch) []Fetch { return to }

// More implements Asynchronous.
func (c *Exact) More(_ int, to []Fetch) []Fetch { return to }

// Ask implements Asynchronous.
func (c *prefetching) Ask(r policies.Request, at int) (hit bool) {
	if c.changing {
		c.known[r.Object] = r.Size
	}
	hit = c.Store.Ask(r, at)
	c.coming[r.Object] = !hit
	c.consult(r, at, hit, !hit && r.Size <= c.Capacity())
	c.last = r
	return hit
}

// Proposals implements Asynchronous.
func (c *prefetching) Proposals(to []Fetch) []Fetch {
	for _, p := range c.proposals {
		to = c.fetch(p, to)
	}
	c.proposals = c.proposals[:0]
	return to
}

// fetch appends a proposal that is neither resident nor being fetched.
func (c *prefetching) fetch(p prefetch.Proposal, to []Fetch) []Fetch {
	o, ok := c.object(p)
	if !ok || c.coming[o] || c.Resident(o) {
		return to
	}
	c.coming[o] = true
	if c.charging != nil {
		c.charging.Expect(o)
	}
	if c.watcher != nil {
		c.watcher.Loaded(p)
	}
	return append(to, Fetch{o, c.size(o, p, c.last)})
}

// lookedThrough is how many proposals of a backlog are searched at a time for objects that are not resident. The next
// call continues after them.
const lookedThrough = 1024

// More implements Asynchronous.
func (c *prefetching) More(n int, to []Fetch) []Fetch {
	if c.backlog == nil {
		return to
	}
	for end, looked := len(to)+n, 0; len(to) < end && looked < lookedThrough; looked += len(c.proposals) {
		c.proposals = c.backlog.More(end-len(to), c.proposals[:0])
		if len(c.proposals) == 0 {
			break
		}
		for _, p := range c.proposals {
			to = c.fetch(p, to)
		}
	}
	c.proposals = c.proposals[:0]
	return to
}

// Arrive implements Asynchronous.
func (c *prefetching) Arrive(r policies.Request) (resident bool) {
	c.coming[r.Object] = false
	before := c.Resident(r.Object)
	switch resident = c.Store.Arrive(r); {
	case !resident:
		c.lose(r.Object)
	case !before && r.Reason == policies.Prefetch:
		c.note(r.Object, r.Size)
	}
	c.settle(r) // which may load others again in its place
	return c.Resident(r.Object)
}

// Waited implements Asynchronous.
func (c *prefetching) Waited(r policies.Request) {
	c.Store.Waited(r)
	c.settle(r)
}

// Cancelled implements Asynchronous.
func (c *prefetching) Cancelled(o policies.Object) {
	c.coming[o] = false
	c.lose(o)
}

// lose notifies the prefetcher that an object that it counts as loaded is not resident.
func (c *prefetching) lose(o policies.Object) {
	if c.watcher != nil {
		c.watcher.Evicted(c.eviction(o, 0))
	}
}

// Ask implements Asynchronous.
func (d *Divided) Ask(r policies.Request, at int) (hit bool) {
	if d.due(r.Time) {
		d.redivide(r)
	}
	d.asking = d.owners[r.Object]
	hit = d.pools[d.pool(r.Object)].Ask(r, at)
	d.count(r, hit)
	return hit
}

// Proposals implements Asynchronous.
func (d *Divided) Proposals(to []Fetch) []Fetch { return to }

// More implements Asynchronous.
func (d *Divided) More(_ int, to []Fetch) []Fetch { return to }

// Arrive implements Asynchronous.
func (d *Divided) Arrive(r policies.Request) (resident bool) {
	return d.pools[d.pool(r.Object)].Arrive(r)
}

// Waited implements Asynchronous.
func (d *Divided) Waited(r policies.Request) { d.pools[d.pool(r.Object)].Waited(r) }

// Cancelled implements Asynchronous.
func (d *Divided) Cancelled(policies.Object) {}

// Evictions implements Asynchronous.
func (d *Divided) Evictions() (n int64) {
	for _, p := range d.pools {
		n += p.Evictions()
	}
	return n
}

// Oversized implements Asynchronous.
func (d *Divided) Oversized() (n int64) {
	for _, p := range d.pools {
		n += p.Oversized()
	}
	return n
}
