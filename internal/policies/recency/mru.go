package recency

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var mruEntry = policies.Entry{
	Name:    "mru",
	Look:    policies.Look{Color: policies.Blue, Mark: policies.Cross},
	Memory:  policies.Memory{PerObject: 9, PerSlot: 0},
	Summary: "evicts the object that was requested last",
	Source:  "Chou and DeWitt, An evaluation of buffer management strategies for relational database systems, VLDB 1985",
	New:     func(c policies.Config) (policies.Policy, error) { return newMRU(c), nil },
}

type mru struct {
	list dense.Lists

	// Batch path. The object of the last request is always resident, so it is the victim: no order is kept.
	resident []bool
	last     policies.Object
	free     int64
	objects  int
}

func newMRU(c policies.Config) *mru {
	return &mru{list: dense.NewLists(c.Objects, 1), free: c.Capacity, objects: c.Objects}
}

func (p *mru) Grow(objects int)       { p.list.Grow(objects) }
func (p *mru) Hit(r policies.Request) { p.list.MoveToFront(0, r.Object) }
func (p *mru) Miss(policies.Request)  {}

func (p *mru) Victim(policies.Request) policies.Object {
	o, _ := p.list.Front(0)
	p.list.Unlink(o)
	return o
}

func (p *mru) Insert(r policies.Request) { p.list.PushFront(0, r.Object) }
func (p *mru) Remove(o policies.Object)  { p.list.Unlink(o) }

func (p *mru) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	if p.resident == nil {
		p.resident = make([]bool, p.objects)
	}
	resident, last := p.resident, p.last
	for _, o := range objects {
		switch {
		case resident[o]:
			hits++
		case p.free > 0:
			p.free--
			resident[o] = true
		default:
			resident[last] = false
			evictions++
			resident[o] = true
		}
		last = o
	}
	p.last = last
	return hits, evictions
}
