package baselines

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var markerEntry = policies.Entry{
	Name:   "marker",
	Look:   policies.Look{Color: policies.Olive, Mark: policies.Circle},
	Memory: policies.Memory{PerObject: 4, PerSlot: 5},
	Summary: "marks requested objects and evicts an unmarked one at random; once all are marked, all marks are cleared " +
		"and a phase begins",
	Source: "Fiat, Karp, Luby, McGeoch, Sleator and Young, Competitive paging algorithms, Journal of Algorithms 1991",
	Type:   (*holdingMarker)(nil),
	Random: true,
	Guarantee: func(_ policies.Values, capacity int) policies.Guarantee {
		return policies.Guarantee{Robustness: policies.CompetitiveRatio("2H_k", 2*policies.Harmonic(int64(capacity)))}
	},
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Holds {
			return newHoldingMarker(c), nil
		}
		return newMarker(c), nil
	},
}

// marker holds the resident objects in one array, the marked ones before the others.
type marker struct {
	resident []policies.Object
	place    []uint32 // per object: 1 + its index in resident; 0 if absent
	marked   int
	draws    random.Draws
	capacity int // in objects, batch path only
}

func newMarker(c policies.Config) *marker {
	return &marker{place: make([]uint32, c.Objects), draws: random.NewDraws(c.Seed), capacity: int(c.Capacity)}
}

func (p *marker) Hit(r policies.Request) { p.mark(r.Object) }
func (p *marker) Miss(policies.Request)  {}

func (p *marker) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Demand && p.marked == len(p.resident) {
		return p.evictMarked()
	}
	return p.evict()
}

func (p *marker) Insert(r policies.Request) { p.insert(r.Object, r.Reason == policies.Demand) }

func (p *marker) Remove(o policies.Object) {
	if int(p.place[o]) <= p.marked {
		p.swap(int(p.place[o])-1, p.marked-1)
		p.marked--
	}
	p.swap(int(p.place[o])-1, len(p.resident)-1)
	p.resident = p.resident[:len(p.resident)-1]
	p.place[o] = 0
}

func (p *marker) Grow(objects int) { p.place = dense.Grown(p.place, objects) }

func (p *marker) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	place := p.place
	for _, o := range objects {
		if place[o] != 0 {
			hits++
			p.mark(o)
			continue
		}
		if len(p.resident) == p.capacity {
			p.evict()
			evictions++
		}
		p.insert(o, true)
	}
	return hits, evictions
}

func (p *marker) mark(o policies.Object) {
	if at := int(p.place[o]) - 1; at >= p.marked {
		p.swap(at, p.marked)
		p.marked++
	}
}

func (p *marker) insert(o policies.Object, marked bool) {
	p.resident = append(p.resident, o)
	p.place[o] = uint32(len(p.resident))
	if marked {
		p.mark(o)
	}
}

func (p *marker) evict() policies.Object {
	if p.marked == len(p.resident) {
		p.marked = 0
	}
	unmarked := p.resident[p.marked:]
	v := unmarked[p.draws.Below(uint64(len(unmarked)))]
	p.Remove(v)
	return v
}

// evictMarked is evict when all objects are marked but no phase begins, since no request causes the eviction.
func (p *marker) evictMarked() policies.Object {
	v := p.resident[p.draws.Below(uint64(len(p.resident)))]
	p.Remove(v)
	return v
}

func (p *marker) swap(i, j int) {
	a, b := p.resident[i], p.resident[j]
	p.resident[i], p.resident[j] = b, a
	p.place[b], p.place[a] = uint32(i+1), uint32(j+1)
}
