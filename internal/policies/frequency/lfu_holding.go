package frequency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// holdingLFU is lfu in a cache that holds objects. A held object stays in the heap until it comes to the top.
type holdingLFU struct {
	lfuInHeap
	held   []bool
	parked []bool // held, and taken from the heap
}

func newHoldingLFU(c policies.Config, heap lfuInHeap) *holdingLFU {
	return &holdingLFU{lfuInHeap: heap, held: make([]bool, c.Objects), parked: make([]bool, c.Objects)}
}

func (p *holdingLFU) Victim(r policies.Request) policies.Object {
	for {
		v := p.lfuInHeap.Victim(r)
		if !p.held[v] {
			return v
		}
		p.parked[v] = true
	}
}

func (p *holdingLFU) Insert(r policies.Request) {
	p.lfuInHeap.Insert(r)
	p.held[r.Object] = true
}

func (p *holdingLFU) Grow(objects int) {
	p.lfuInHeap.Grow(objects)
	p.held, p.parked = dense.Grown(p.held, objects), dense.Grown(p.parked, objects)
}

func (p *holdingLFU) Hold(o policies.Object) { p.held[o] = true }

func (p *holdingLFU) Release(o policies.Object) {
	p.held[o] = false
	if p.parked[o] {
		p.parked[o] = false
		p.heap.PutBack(o)
	}
}
