package engines

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// offloadList is the list that an object is on. Those of ghosts have what was evicted from the others lately.
type offloadList uint8

const (
	offloadAbsent offloadList = iota
	written                   // T1 of ARC: loaded, and not used since
	used                      // T2: used since they were loaded
	writtenGhosts             // B1
	usedGhosts                // B2
	offloadLists
)

// offloadARC is vLLM's variant of ARC for the memory to which it offloads blocks. It differs from the paper's ARC. A
// ghost that is loaded again counts as new. Each list of ghosts is as long as the cache. All room is made before the
// first block is loaded. Blocks that a prompt has used move up when it ends.
type offloadARC struct {
	lists    dense.Lists // by offloadList
	where    []offloadList
	size     [offloadLists]int
	capacity int64
	target   float64 // size of the list written

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
	return &offloadARC{lists: dense.NewLists(c.Objects, int(offloadLists)), where: make([]offloadList, c.Objects),
		capacity: c.Capacity}
}

func (p *offloadARC) Hit(r policies.Request)    { p.put(r.Object, used) }
func (p *offloadARC) Insert(r policies.Request) { p.put(r.Object, written) }

// Renew implements policies.PromptStore.
func (p *offloadARC) Renew(o policies.Object) { p.put(o, p.where[o]) }

// put makes a resident the most recent one of a list.
func (p *offloadARC) put(o policies.Object, l offloadList) {
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
		p.offers, p.at = true, make([]uint32, len(p.where))
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
	b1, b2 := float64(p.size[writtenGhosts]), float64(p.size[usedGhosts])
	switch at := p.where[o]; at {
	case writtenGhosts:
		p.target = min(p.target+max(1, b2/b1), float64(p.capacity))
		p.move(o, at)
	case usedGhosts:
		p.target = max(p.target-max(1, b1/b2), 0)
		p.move(o, at)
	}
}

// Victim implements Policy.
func (p *offloadARC) Victim(policies.Request) policies.Object {
	if !p.scanning {
		p.scanning = true
		for l := written; l <= used; l++ {
			p.scan[l].next, p.scan[l].more = p.lists.Back(int(l))
		}
	}
	from, other := used, written
	if p.size[written] >= int(p.target) {
		from, other = written, used
	}
	o, ok := p.candidate(from)
	if !ok {
		from = other
		o, _ = p.candidate(from)
	}
	to := writtenGhosts + from - written
	p.move(o, to)
	p.limitGhosts(to)
	return o
}

// candidate returns the oldest object of a list that may be evicted.
func (p *offloadARC) candidate(l offloadList) (o policies.Object, ok bool) {
	s := &p.scan[l]
	for s.more {
		o = s.next
		s.next, s.more = p.lists.Before(o)
		if !p.offers || p.at[o] != p.offer {
			return o, true
		}
	}
	return 0, false
}

// limitGhosts forgets the oldest ghosts if there are more than fit into the cache.
func (p *offloadARC) limitGhosts(l offloadList) {
	for int64(p.size[l]) > p.capacity {
		o, _ := p.lists.Back(int(l))
		p.take(o)
	}
}

func (p *offloadARC) Remove(o policies.Object) {
	p.scanning = false
	p.take(o)
}

// Resize implements policies.Resizer.
func (p *offloadARC) Resize(capacity int64) {
	p.capacity = capacity
	p.target = min(p.target, float64(capacity))
	p.limitGhosts(writtenGhosts)
	p.limitGhosts(usedGhosts)
}

func (p *offloadARC) Grow(objects int) {
	p.lists.Grow(objects)
	p.where = dense.Grown(p.where, objects)
	if p.offers {
		p.at = dense.Grown(p.at, objects)
	}
}

// take takes an object off its list, if it is on one.
func (p *offloadARC) take(o policies.Object) {
	if at := p.where[o]; at != offloadAbsent {
		p.lists.Unlink(o)
		p.size[at]--
		p.where[o] = offloadAbsent
	}
}

// move makes an object the most recent one of a list.
func (p *offloadARC) move(o policies.Object, l offloadList) {
	p.take(o)
	p.lists.PushFront(int(l), o)
	p.size[l]++
	p.where[o] = l
}
