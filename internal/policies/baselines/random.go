package baselines

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var randomEntry = policies.Entry{
	Name:        "random",
	Look:        policies.Look{Color: policies.Pink, Mark: policies.Circle},
	Memory:      policies.Memory{PerObject: 4, PerSlot: 5},
	Summary:     "evicts a resident object drawn uniformly at random",
	Source:      "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 1966",
	IgnoresHits: true,
	Type:        (*randomPolicy)(nil),
	Random:      true,
	New:         func(c policies.Config) (policies.Policy, error) { return newRandom(c), nil },
}

type randomPolicy struct {
	resident dense.Slots[struct{}]
	draws    random.Draws
	holds    bool  // resident has only objects that are not held
	free     int64 // objects that still fit, batch path only
}

func newRandom(c policies.Config) *randomPolicy {
	return &randomPolicy{
		resident: dense.NewSlots[struct{}](c.Objects), draws: random.NewDraws(c.Seed), holds: c.Holds, free: c.Capacity,
	}
}

func (p *randomPolicy) Hit(policies.Request)                    {}
func (p *randomPolicy) Miss(policies.Request)                   {}
func (p *randomPolicy) Victim(policies.Request) policies.Object { return p.evict() }

func (p *randomPolicy) Insert(r policies.Request) {
	if !p.holds {
		p.resident.Add(r.Object, struct{}{})
	}
}

func (p *randomPolicy) Grow(objects int)          { p.resident.Grow(objects) }
func (p *randomPolicy) Remove(o policies.Object)  { p.resident.Remove(o) }
func (p *randomPolicy) Hold(o policies.Object)    { p.resident.Remove(o) }
func (p *randomPolicy) Release(o policies.Object) { p.resident.Add(o, struct{}{}) }

func (p *randomPolicy) evict() policies.Object {
	n := len(p.resident.Dense())
	v := p.resident.Objects[p.draws.Below(uint64(n))]
	p.resident.Remove(v)
	return v
}

func (p *randomPolicy) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.resident.Has(o) {
			hits++
			continue
		}
		if p.free > 0 {
			p.free--
		} else {
			p.evict()
			evictions++
		}
		p.resident.Add(o, struct{}{})
	}
	return hits, evictions
}
