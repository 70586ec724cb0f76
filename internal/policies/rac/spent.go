package rac

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// spent is LRU for traces in which most objects are requested just twice: one that was requested again counts as used
// longer ago than it was.
type spent struct {
	used  dense.Lists // residents by their last request: those not requested since their load, and those that were
	seen  []uint32    // per object: its last request or load
	age   int64       // requests that are added to the age of those
	clock uint32
}

// The lists of spent.
const (
	fresh = iota
	served
)

// spentAge is how much longer ago an object that was requested again counts as used, as a multiple of the capacity.
const spentAge = 2

func newSpent(c policies.Config) *spent {
	return &spent{used: dense.NewLists(c.Objects, 2), seen: make([]uint32, c.Objects),
		age: dense.Multiple(c.Capacity, spentAge)}
}

func (p *spent) Hit(r policies.Request) {
	p.used.Unlink(r.Object)
	p.put(r.Object, served)
}

func (p *spent) Miss(policies.Request) {}

func (p *spent) Victim(policies.Request) policies.Object {
	v, ok := p.used.Back(fresh)
	if s, any := p.used.Back(served); any && (!ok || int64(p.seen[s])-p.age < int64(p.seen[v])) {
		v = s
	}
	p.used.Unlink(v)
	return v
}

func (p *spent) Insert(r policies.Request) { p.put(r.Object, fresh) }
func (p *spent) Remove(o policies.Object)  { p.used.Unlink(o) }

func (p *spent) put(o policies.Object, list int) {
	p.clock++
	p.used.PushFront(list, o)
	p.seen[o] = p.clock
}

func (p *spent) Resize(capacity int64) { p.age = dense.Multiple(capacity, spentAge) }

func (p *spent) Grow(objects int) {
	p.used.Grow(objects)
	p.seen = dense.Grown(p.seen, objects)
}
