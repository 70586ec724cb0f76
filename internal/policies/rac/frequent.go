package rac

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// frequent is RAC without relations: it evicts the object with the fewest requests, which fade as importance does,
// among those that were not used last. It remembers for a while how often objects were requested that have left.
type frequent struct {
	settings
	memory float64 // requests over which an object is remembered, as a multiple of the capacity
	window uint32  // the same in requests
	uses   []use   // per object
	recent recency
	others dense.KeyedHeap // residents that are evictable, by log2(requests) + beta * now
	clock  uint32
}

// use is what is known about the requests to an object.
type use struct {
	requests float64 // faded up to at
	at       uint32
	last     uint32 // the last request or load
}

func newFrequent(c policies.Config, s settings, memory float64) *frequent {
	p := &frequent{settings: s, memory: memory, uses: make([]use, c.Objects), recent: newRecency(c.Objects),
		others: dense.NewKeyedHeap(c.Objects)}
	p.Resize(c.Capacity)
	return p
}

func (p *frequent) Hit(r policies.Request) {
	o := r.Object
	if p.recent.has(o) {
		p.recent.remove(o)
	} else {
		p.others.Remove(o)
	}
	p.count(r)
	p.recent.add(o)
	p.release()
}

func (p *frequent) Miss(r policies.Request) { p.count(r) }

// count counts a request, and notes when it or a load without one happened.
func (p *frequent) count(r policies.Request) {
	p.clock++
	u := &p.uses[r.Object]
	if r.Reason == policies.Demand {
		if p.clock-u.last > p.window {
			u.requests = 0
		}
		p.fade(u)
		u.requests++
	}
	u.last = p.clock
}

// fade brings the requests to an object to the present.
func (p *frequent) fade(u *use) {
	if u.requests != 0 {
		u.requests *= math.Exp2(-p.beta * float64(p.clock-u.at))
	}
	u.at = p.clock
}

func (p *frequent) Victim(policies.Request) (v policies.Object) {
	if p.others.Len() > 0 {
		v, _ = p.others.Least()
	} else {
		v, _ = p.recent.list.Back(0)
	}
	p.Remove(v)
	return v
}

func (p *frequent) Insert(r policies.Request) {
	p.recent.add(r.Object)
	p.release()
}

func (p *frequent) Remove(o policies.Object) {
	if p.recent.has(o) {
		p.recent.remove(o)
	} else {
		p.others.Remove(o)
	}
}

// release makes objects evictable that are no longer among those used last.
func (p *frequent) release() {
	for p.recent.n > p.recent.limit {
		o, _ := p.recent.list.Back(0)
		p.recent.remove(o)
		p.rank(o)
	}
}

func (p *frequent) rank(o policies.Object) {
	u := &p.uses[o]
	p.others.Set(o, math.Log2(u.requests)+float64(p.beta*float64(u.at)), uint64(u.last))
}

// Resize changes how fast requests fade, from now on.
func (p *frequent) Resize(capacity int64) {
	p.window = windowFor(p.memory, capacity)
	beta, _ := parseFading("beta", p.betaText, float64(capacity)) // parsed without error before
	if beta != p.beta {
		for o := range p.uses {
			p.fade(&p.uses[o])
		}
		p.beta = beta
		for o := range policies.Object(len(p.uses)) {
			if p.others.Has(o) {
				p.rank(o)
			}
		}
	}
	p.recent.limit = p.limitFor(capacity)
	p.release()
}

func (p *frequent) Grow(objects int) {
	p.uses = dense.Grown(p.uses, objects)
	p.recent.grow(objects)
	p.others.Grow(objects)
}
