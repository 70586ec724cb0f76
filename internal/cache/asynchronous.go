package cache

import (
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// NoProposals is the part of requests.Asynchronous that caches without a prefetcher have in common.
type NoProposals struct{}

func (NoProposals) Proposals(to []requests.Fetch) []requests.Fetch   { return to }
func (NoProposals) More(_ int, to []requests.Fetch) []requests.Fetch { return to }
func (NoProposals) Cancelled(policies.Object)                        {}

func (p *Pool) Ask(r policies.Request, _ int) (hit bool) {
	p.prepare(&r)
	p.pos, p.time = r.Pos, r.Time
	if !p.Has(r.Object) {
		return false
	}
	p.hit(r)
	return true
}

func (p *Pool) Arrive(r policies.Request) (resident bool) { return p.Load(r) || p.Resident(r.Object) }

// Waited implements requests.Asynchronous. The object has arrived, so a policy that bypassed it may load it now.
func (p *Pool) Waited(r policies.Request) { p.Request(r) }

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

func (c *prefetching) Proposals(to []requests.Fetch) []requests.Fetch {
	for _, p := range c.proposals {
		to = c.fetch(p, to)
	}
	c.proposals = c.proposals[:0]
	return to
}

// fetch appends a proposal that is neither resident nor being fetched. The policy may want to know of a resident one.
func (c *prefetching) fetch(p prefetch.Proposal, to []requests.Fetch) []requests.Fetch {
	o, ok := c.object(p)
	if !ok || c.coming[o] {
		return to
	}
	if c.Resident(o) {
		c.prefetch(o, c.size(o, p, c.last), c.last)
		return to
	}
	c.coming[o] = true
	c.expect(o, p)
	return append(to, requests.Fetch{Object: o, Size: c.size(o, p, c.last)})
}

// lookedThrough is how many proposals of a backlog are searched at a time for objects that are not resident.
const lookedThrough = 1024

func (c *prefetching) More(n int, to []requests.Fetch) []requests.Fetch {
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

func (c *prefetching) Waited(r policies.Request) {
	c.Store.Waited(r)
	c.settle(r)
}

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

func (d *Divided) Ask(r policies.Request, at int) (hit bool) {
	hit = d.poolFor(r).Ask(r, at)
	d.count(r, hit)
	return hit
}

func (d *Divided) Arrive(r policies.Request) (resident bool) { return d.poolWith(r.Object).Arrive(r) }
func (d *Divided) Waited(r policies.Request)                 { d.poolWith(r.Object).Waited(r) }
