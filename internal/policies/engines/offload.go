package engines

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// The lists of offloadARC. Those of ghosts have what was evicted from the others lately.
const (
	written       = iota // T1 of ARC: loaded, and not used since
	used                 // T2: used since they were loaded
	writtenGhosts        // B1
	usedGhosts           // B2
)

// offloadARC is vLLM's variant of ARC for the memory to which it offloads blocks. It differs from the paper's ARC. A
// ghost that is loaded again counts as new. Each list of ghosts is as long as the cache. All room is made before the
// first block is loaded. Blocks that a prompt has used move up when it ends.
type offloadARC struct {
	dense.Segments         // only those of ghosts have limits
	target         float64 // size of the list written

	offers bool     // prompts offer their blocks
	offer  uint32   // number of the last one
	at     []uint32 // per object: the last offer that it was part of; nil unless prompts offer blocks
	// While victims are chosen one after another, scan has for the lists written and used where the search goes on; those
	// before were offered, and stay.
	scanning bool
	scan     [used + 1]scanPosition
}

type scanPosition struct {
	next policies.Object
	more bool
}

func newOffloadARC(c policies.Config) *offloadARC {
	return &offloadARC{Segments: dense.NewSegments(c.Objects, true, 0, 0, c.Capacity, c.Capacity)}
}

func (p *offloadARC) Hit(r policies.Request)    { p.put(r.Object, used) }
func (p *offloadARC) Insert(r policies.Request) { p.put(r.Object, written) }

// Renew implements policies.PromptStore.
func (p *offloadARC) Renew(o policies.Object) { p.put(o, p.Of(o)) }

// put makes a resident the most recent one of a list.
func (p *offloadARC) put(o policies.Object, l int) {
	p.scanning = false
	p.move(o, l)
}

// Miss implements Policy. Where prompts offer their blocks, Offer has learnt from it.
func (p *offloadARC) Miss(r policies.Request) {
	if !p.offers && r.Reason == policies.Demand {
		p.adapt(r.Object)
	}
}

// Offer implements policies.PromptStore.
func (p *offloadARC) Offer(blocks, missing []policies.Object) {
	if !p.offers {
		p.offers, p.at = true, make([]uint32, len(p.Segment))
	}
	p.offer++
	p.scanning = false
	for _, o := range blocks {
		p.at[o] = p.offer
	}
	for i := range missing {
		p.adapt(missing[len(missing)-1-i])
	}
}

// adapt moves the target towards the list from which a missed object was evicted.
func (p *offloadARC) adapt(o policies.Object) {
	b1, b2 := float64(p.Used[writtenGhosts]), float64(p.Used[usedGhosts])
	switch p.Of(o) {
	case writtenGhosts:
		p.target = min(p.target+max(1, b2/b1), float64(p.Limit[writtenGhosts]))
		p.Segments.Renew(o)
	case usedGhosts:
		p.target = max(p.target-max(1, b1/b2), 0)
		p.Segments.Renew(o)
	}
}

// Victim implements Policy.
func (p *offloadARC) Victim(policies.Request) policies.Object {
	if !p.scanning {
		p.scanning = true
		for l := written; l <= used; l++ {
			p.scan[l].next, p.scan[l].more = p.List.Back(l)
		}
	}
	from, other := used, written
	if p.Used[written] >= int64(p.target) {
		from, other = written, used
	}
	o, ok := p.candidate(from)
	if !ok {
		from = other
		o, _ = p.candidate(from)
	}
	to := writtenGhosts + from - written
	p.move(o, to)
	p.Trim(to)
	return o
}

// candidate returns the oldest object of a list that may be evicted.
func (p *offloadARC) candidate(l int) (o policies.Object, ok bool) {
	s := &p.scan[l]
	for s.more {
		o = s.next
		s.next, s.more = p.List.Before(o)
		if !p.offers || p.at[o] != p.offer {
			return o, true
		}
	}
	return 0, false
}

func (p *offloadARC) Remove(o policies.Object) {
	p.scanning = false
	p.Take(o)
}

func (p *offloadARC) Resize(capacity int64) {
	p.target = min(p.target, float64(capacity))
	for l := writtenGhosts; l <= usedGhosts; l++ {
		p.Limit[l] = capacity
		p.Trim(l)
	}
}

func (p *offloadARC) Grow(objects int) {
	p.Segments.Grow(objects)
	if p.offers {
		p.at = dense.Grown(p.at, objects)
	}
}

// move makes an object the most recent one of a list.
func (p *offloadARC) move(o policies.Object, l int) {
	if p.Has(o) {
		p.Take(o)
	}
	p.Put(l, o)
}
