package learned

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// prefixOptimum reports, at each request, whether the optimal schedule hits it: whether the optimum of the requests so
// far has one more hit than that of the requests before. The schedule loads every miss.
//
// A hit means that the object stays from its last request to this one. That takes one place at the requests strictly
// between the two, each of which has its own object in another place. So hits are intervals to be scheduled on
// capacity-1 machines. Taking the intervals in order of their ends, each if possible, on the machine that became free
// last, schedules the most for every prefix. The next interval always ends last of all, so only the times at which
// machines became free matter. A union-find structure over requests keeps them: a request takes nearly constant
// amortized time. Memory: 4 bytes per request and 4 per object.
type prefixOptimum struct {
	last []uint32 // per object: the number of its last request, from 1; 0 for none
	// per request: itself if a machine became free there, otherwise a link towards the last such request before; 0 for
	// none
	freeAt []uint32
	unused int    // machines that were never busy
	begun  uint32 // the last request before the schedule began
}

func newPrefixOptimum(c policies.Config) prefixOptimum {
	return prefixOptimum{last: make([]uint32, c.Objects), freeAt: []uint32{0}, unused: int(c.Capacity - 1)}
}

// restart begins a schedule with an empty cache of another capacity.
func (p *prefixOptimum) restart(capacity int64) {
	p.unused, p.begun = int(capacity-1), uint32(len(p.freeAt)-1)
}

func (p *prefixOptimum) grow(objects int) { p.last = dense.Grown(p.last, objects) }

// request serves the next request, to o.
func (p *prefixOptimum) request(o policies.Object) (hit bool) {
	now, last := uint32(len(p.freeAt)), p.last[o]
	p.last[o] = now
	p.freeAt = append(p.freeAt, now-1)
	switch {
	case last <= p.begun:
		return false
	case last == now-1: // nothing was requested in between
		return true
	}
	if at := p.find(last + 1); at > p.begun { // busy at most up to the request before
		p.freeAt[at] = at - 1
	} else if p.unused > 0 {
		p.unused--
	} else {
		return false
	}
	p.freeAt[now] = now
	return true
}

// find returns the last time up to t at which a machine became free, 0 for none, and shortens the links on the way.
func (p *prefixOptimum) find(t uint32) uint32 {
	for p.freeAt[t] != t {
		p.freeAt[t] = p.freeAt[p.freeAt[t]]
		t = p.freeAt[t]
	}
	return t
}
