package learned

import "github.com/cachesim/cachesim/internal/policies"

// prefixOptimum tells at each request whether the optimal schedule for the requests so far, which loads every miss,
// hits it: whether its hits are one more than those of the optimum for the requests before.
//
// A hit means that the object stays from its last request to this one. That keeps one place busy at the requests
// strictly between the two, of which each has its own object in another place; so hits are intervals to be scheduled on
// capacity-1 machines. Taking the intervals in order of their ends, each if it can be, and on the machine that became
// free last, schedules the most of every prefix. Since the next one to be taken ends last of all, only the times at
// which machines became free matter. They are kept in a union-find structure over positions: a request takes nearly
// constant time, averaged. Memory: 4 bytes per request and 4 per object.
type prefixOptimum struct {
	last []uint32 // per object: 1 + the position of its last request; 0 for none
	// per 1 + position: itself if a machine became free there, otherwise a link towards the last such one before; 0 for
	// none
	freeAt []uint32
	unused int // machines that were never busy
}

func newPrefixOptimum(c policies.Config) prefixOptimum {
	return prefixOptimum{last: make([]uint32, c.Objects), freeAt: make([]uint32, c.Requests+1),
		unused: int(min(c.Capacity-1, int64(c.Objects)))}
}

// request serves the request to o at pos; positions grow by one.
func (p *prefixOptimum) request(o policies.Object, pos int) (hit bool) {
	now, last := uint32(pos)+1, p.last[o]
	p.last[o] = now
	p.freeAt[now] = now - 1
	switch {
	case last == 0:
		return false
	case last == now-1: // nothing was requested in between
		return true
	}
	if at := p.find(last + 1); at != 0 { // busy up to the request before at most
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
