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
	Game: func(policies.Values, int) (policies.Game, bool) { return policies.Game{Marking: true}, true },
	New: func(c policies.Config) (policies.Policy, error) {
		if c.Holds {
			return newHoldingMarker(c), nil
		}
		return newMarker(c), nil
	},
}

// marker holds the resident objects in one array, the marked ones before the others.
type marker struct {
	dense.Set
	draws    random.Draws
	capacity int // in objects, batch path only
}

func newMarker(c policies.Config) *marker {
	return &marker{Set: dense.NewSet(c.Objects), draws: random.NewDraws(c.Seed), capacity: int(c.Capacity)}
}

func (p *marker) Hit(r policies.Request) { p.ToFront(r.Object) }
func (p *marker) Miss(policies.Request)  {}

func (p *marker) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Demand && p.Front == len(p.All) {
		return p.evictMarked()
	}
	return p.evict()
}

func (p *marker) Insert(r policies.Request) { p.insert(r.Object, r.Reason == policies.Demand) }

func (p *marker) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	at := p.At
	for _, o := range objects {
		if at[o] != 0 {
			hits++
			p.ToFront(o)
			continue
		}
		if len(p.All) == p.capacity {
			p.evict()
			evictions++
		}
		p.insert(o, true)
	}
	return hits, evictions
}

func (p *marker) insert(o policies.Object, marked bool) {
	p.Add(o)
	if marked {
		p.ToFront(o)
	}
}

func (p *marker) evict() policies.Object {
	if p.Front == len(p.All) {
		p.Front = 0
	}
	return p.evictAmong(p.All[p.Front:])
}

// evictMarked is evict when all objects are marked but no phase begins, since no request causes the eviction.
func (p *marker) evictMarked() policies.Object { return p.evictAmong(p.All) }

func (p *marker) evictAmong(among []policies.Object) policies.Object {
	v := among[p.draws.Below(uint64(len(among)))]
	p.Remove(v)
	return v
}
