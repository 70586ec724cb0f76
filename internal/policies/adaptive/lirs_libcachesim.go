package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// lirsDemoting is LIRS as libCacheSim has it. It differs from lirs in four ways. The queue has at least one place;
// where sizes count, an object must fit into it to enter. A hit on an object that is only in the queue makes room among
// LIR objects, although it stays HIR. A stack that exceeds its bound loses the object that was evicted longest ago, not
// the lowest. The LIR set and the queue make room even if the cache has some.
//
// A hit can push its own object out of a queue of very few places. In libCacheSim it then stays resident beyond the
// capacity; here it is evicted.
type lirsDemoting struct {
	lirsParts // charge is what an object was charged when it was last loaded, resident or evicted
	hirSize   int64
	hirLimit  int64
	dense.Late
}

func newLIRSDemoting(c policies.Config) *lirsDemoting {
	p := &lirsDemoting{lirsParts: newLIRSParts(c)}
	p.limitTo(c.Capacity)
	return p
}

func (p *lirsDemoting) limitTo(capacity int64) {
	p.capacity = capacity
	p.hirLimit = max(1, dense.Multiple(capacity, p.config.Params.Float("hir")))
	p.lirLimit = max(0, capacity-p.hirLimit)
	p.stackLimit = dense.Multiple(capacity, p.config.Params.Float("stack"))
}

// Resize evicts at once what no longer fits.
func (p *lirsDemoting) Resize(capacity int64) {
	if capacity == p.capacity {
		return
	}
	p.limitTo(capacity)
	p.shrinkLIR(0)
	p.shrinkHIR(0)
	p.limitStack()
}

// Resized makes room in the part of the cache that the object is in, as a load does. An object that its own hit has
// pushed out of the queue stays on its way out.
func (p *lirsDemoting) Resized(o policies.Object, size int64) {
	by := p.charge.Change(o, size)
	switch p.state[o] {
	case lirsLIR:
		p.stackSize, p.lirSize = p.stackSize+by, p.lirSize+by
		p.shrinkLIR(0)
	case lirsHIR, lirsHIROut:
		if p.hirSize += by; p.state[o] == lirsHIR {
			p.stackSize += by
		}
		p.shrinkHIR(0)
	case lirsGhost:
		p.stackSize += by
	}
	p.limitStack()
}

func (p *lirsDemoting) Hit(r policies.Request) {
	o := r.Object
	switch p.state[o] {
	case lirsLIR:
		p.stack.Renew(o)
		p.prune()
	case lirsHIR:
		p.stack.Renew(o)
		p.leaveQueue(o)
		p.shrinkLIR(p.charge.Of(o))
		p.makeLIR(o)
	case lirsHIROut:
		p.queue.MoveToFront(lirsQueue, o)
		p.shrinkLIR(p.charge.Of(o))
		p.push(o)
		if p.state[o] == lirsAbsent { // displaced by objects that left the LIR set
			p.becomeGhost(o)
		} else {
			p.state[o] = lirsHIR
		}
	}
	p.limitStack()
}

// Miss makes room in the part of the cache that the object will enter.
func (p *lirsDemoting) Miss(r policies.Request) {
	o := r.Object
	switch ghost := p.state[o] == lirsGhost; {
	case ghost && r.Reason == policies.Demand:
		p.queue.Unlink(o)
		p.state[o] = lirsReturned
		p.pop(o)
		p.charge.Set(o, r.Size)
		p.push(o)
		p.shrinkLIR(r.Size)
		p.makeRoomForLIR(r.Size)
		return
	case ghost: // says nothing about the distance between requests
		p.queue.Unlink(o)
		p.pop(o)
		p.state[o] = lirsAbsent
	}
	if p.Admit(r) && p.lirSize+r.Size > p.lirLimit {
		p.shrinkHIR(r.Size)
	}
}

// makeRoomForLIR evicts until an object of a size that enters the LIR set fits.
func (p *lirsDemoting) makeRoomForLIR(size int64) {
	for p.lirSize+p.hirSize+size > p.capacity {
		for p.hirSize >= p.hirLimit && p.hirSize > 0 {
			p.evictHIR()
		}
		if !p.demote() {
			return
		}
	}
}

// Admit refuses an object that the queue or the LIR set could not hold.
func (p *lirsDemoting) Admit(r policies.Request) bool {
	return p.charge == nil || p.state[r.Object] == lirsReturned || r.Size <= min(p.hirLimit, p.lirLimit)
}

func (p *lirsDemoting) Victim(policies.Request) policies.Object {
	if len(p.Late) == 0 && !p.evictHIR() { // all residents are LIR
		p.prune()
		o := p.stack.Back()
		p.Remove(o)
		return o
	}
	return p.Next()
}

func (p *lirsDemoting) Insert(r policies.Request) {
	o := r.Object
	switch {
	case p.state[o] == lirsReturned:
		p.makeLIR(o)
	case p.lirSize+r.Size <= p.lirLimit:
		p.charge.Set(o, r.Size)
		p.push(o)
		p.makeLIR(o)
	default:
		p.charge.Set(o, r.Size)
		p.push(o)
		p.enterQueue(o)
		p.state[o] = lirsHIR
	}
	p.limitStack()
}

func (p *lirsDemoting) Remove(o policies.Object) {
	if p.Strike(o) {
		return
	}
	was := p.state[o]
	p.state[o] = lirsAbsent
	if was != lirsLIR {
		p.leaveQueue(o)
	}
	if was != lirsHIROut {
		p.pop(o)
	}
	if was == lirsLIR {
		p.lirSize -= p.charge.Of(o)
		p.prune()
	}
}

// makeLIR takes o, on top of the stack, into the LIR set.
func (p *lirsDemoting) makeLIR(o policies.Object) {
	p.state[o] = lirsLIR
	p.lirSize += p.charge.Of(o)
}

// shrinkLIR demotes until the LIR set has room for a size.
func (p *lirsDemoting) shrinkLIR(size int64) {
	for p.lirSize+size > p.lirLimit && p.demote() {
	}
}

// demote moves the LIR object at the bottom of the stack to the queue, which may evict from there. It returns false if
// there is none.
func (p *lirsDemoting) demote() bool {
	if p.lirSize == 0 {
		return false
	}
	p.prune()
	o := p.stack.Back()
	size := p.charge.Of(o)
	p.pop(o)
	p.lirSize -= size
	if size > p.hirLimit {
		p.state[o] = lirsAbsent
		p.Late = append(p.Late, o)
	} else {
		p.shrinkHIR(size)
		p.enterQueue(o)
		p.state[o] = lirsHIROut
	}
	p.prune()
	return true
}

// shrinkHIR evicts until the queue has room for a size.
func (p *lirsDemoting) shrinkHIR(size int64) {
	for p.hirSize+size > p.hirLimit && p.evictHIR() {
	}
}

// evictHIR evicts the last object of the queue. It returns false if there is none.
func (p *lirsDemoting) evictHIR() bool {
	o, ok := p.queue.Back(lirsQueue)
	if !ok {
		return false
	}
	p.leaveQueue(o)
	p.Late = append(p.Late, o)
	if p.state[o] == lirsHIR {
		p.becomeGhost(o)
	} else {
		p.state[o] = lirsAbsent
	}
	return true
}

func (p *lirsDemoting) becomeGhost(o policies.Object) {
	p.state[o] = lirsGhost
	p.queue.PushFront(lirsGhosts, o)
}

// prune takes objects off the bottom of the stack until an LIR object or the last one is there.
func (p *lirsDemoting) prune() {
	for p.stack.Live > 1 {
		bottom := p.stack.Back()
		if p.state[bottom] == lirsLIR {
			return
		}
		p.pop(bottom)
		if p.state[bottom] == lirsHIR {
			p.state[bottom] = lirsHIROut
			continue
		}
		p.queue.Unlink(bottom)
		p.state[bottom] = lirsAbsent
	}
}

// limitStack forgets what was evicted longest ago until the stack is within its bound, or nothing evicted is there.
func (p *lirsDemoting) limitStack() {
	for p.stackSize > p.stackLimit {
		o, ok := p.queue.Back(lirsGhosts)
		if !ok {
			return
		}
		p.queue.Unlink(o)
		p.pop(o)
		p.state[o] = lirsAbsent
	}
}

func (p *lirsDemoting) enterQueue(o policies.Object) {
	p.queue.PushFront(lirsQueue, o)
	p.hirSize += p.charge.Of(o)
}

func (p *lirsDemoting) leaveQueue(o policies.Object) {
	p.queue.Unlink(o)
	p.hirSize -= p.charge.Of(o)
}
