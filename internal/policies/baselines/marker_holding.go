package baselines

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// holdingMarker is marker in a cache that holds objects: a phase ends when every object that is not held is marked.
type holdingMarker struct {
	marker          // over the objects that are not held
	marks  []uint32 // per object: the phase in which it was last marked
	phase  uint32
}

func newHoldingMarker(c policies.Config) *holdingMarker {
	return &holdingMarker{marker: *newMarker(c), marks: make([]uint32, c.Objects)}
}

func (p *holdingMarker) Hit(r policies.Request)    { p.marks[r.Object] = p.phase }
func (p *holdingMarker) Insert(r policies.Request) { p.marks[r.Object] = p.phase }

func (p *holdingMarker) Victim(r policies.Request) policies.Object {
	if p.Front == len(p.All) {
		if r.Reason != policies.Demand {
			return p.evictMarked()
		}
		p.phase++
	}
	return p.evict()
}

func (p *holdingMarker) Grow(objects int) {
	p.marker.Grow(objects)
	p.marks = dense.Grown(p.marks, objects)
}

func (p *holdingMarker) Hold(o policies.Object) { p.Remove(o) }

func (p *holdingMarker) Release(o policies.Object) {
	p.insert(o, p.marks[o] == p.phase)
}
