package learned

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var lNonMarkerEntry = policies.Entry{
	Name:   "lnonmarker",
	Look:   policies.Look{Color: policies.Olive, Mark: policies.Plus},
	Memory: policies.Memory{PerObject: 44, PerSlot: 19},
	Summary: "as lmarker, but an object evicted for one that is new in the phase may evict, when requested again, " +
		"any object, marked or not; robust=true combines it with marker",
	Source: "Rohatgi, Near-optimal bounds for online caching with machine learned advice, SODA 2020, section 4; " +
		"combined as in adampolak/mts-with-predictions",
	Units: policies.UnitsObjects,
	Params: []policies.Param{
		{Name: "robust", Default: false, Doc: "follow marker instead while that has fewer misses, and back, at a bound " +
			"that grows by 1% each time"},
		lazyParam,
	},
	Random:  true,
	Type:    (*lNonMarker)(nil),
	Metrics: []metric.Metric{switches},
	Guarantee: func(v policies.Values, _ int) policies.Guarantee {
		if v.Bool("robust") {
			return policies.Guarantee{}
		}
		return policies.Guarantee{Robustness: "no bound"}
	},
	New: newLNonMarker,
}

func newLNonMarker(c policies.Config) (policies.Policy, error) {
	if !c.Params.Bool("robust") {
		return newPlainLNonMarker(c)
	}
	return newCombination(c, newGrowingBound(0.01), newPlainLNonMarker, named("marker"))
}

// lNonMarker has the marks of a marking policy but does not always spare marked objects. For a cache of k objects, a
// phase begins with the request to the (k+1)th distinct object since the last one began, hit or miss.
type lNonMarker struct {
	policies.ByPredictions
	marks     *marking
	arrivals  int               // distinct objects requested in this phase
	arrivedIn []uint32          // per object: 1 + the last phase in which it was requested
	evictedBy []policies.Object // per object: the object for which it was last evicted, NoObject for none
}

func newPlainLNonMarker(c policies.Config) (policies.Policy, error) {
	return &lNonMarker{marks: newMarking(c), arrivedIn: make([]uint32, c.Objects),
		evictedBy: make([]policies.Object, c.Objects)}, nil
}

func (p *lNonMarker) Hit(r policies.Request) {
	p.arrive(r.Object)
	p.marks.hit(r.Object, r.Pos)
}

func (p *lNonMarker) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		p.arrive(r.Object)
	}
}

func (p *lNonMarker) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Demand {
		v := p.marks.giveUp(r.Pos)
		p.evictedBy[v] = policies.NoObject
		return v
	}
	v := p.choose(r)
	p.marks.Remove(v)
	p.evictedBy[v] = r.Object
	return v
}

func (p *lNonMarker) Insert(r policies.Request) { p.marks.Insert(r) }

// Resize begins a phase if the current one has more objects than now fit.
func (p *lNonMarker) Resize(capacity int64) {
	p.marks.Resize(capacity)
	if p.arrivals > p.marks.capacity {
		p.startPhase()
	}
}

func (p *lNonMarker) Grow(objects int) {
	p.marks.Grow(objects)
	p.arrivedIn = dense.Grown(p.arrivedIn, objects)
	p.evictedBy = dense.Grown(p.evictedBy, objects)
}

func (p *lNonMarker) startPhase() {
	p.marks.startPhase()
	p.arrivals = 0
}

func (p *lNonMarker) Remove(o policies.Object) { p.marks.Remove(o) }

// choose evicts by prediction for an object that is new in the phase. A stale object has been evicted in this phase. If
// that was for another stale one, chance chooses among the unmarked objects, otherwise among all.
func (p *lNonMarker) choose(r policies.Request) policies.Object {
	switch {
	case !p.marks.stale(r.Object):
		return p.marks.unmarked.latest(r.Pos)
	case p.marks.stale(p.evictedBy[r.Object]):
		return p.marks.random()
	}
	return p.marks.randomOfAll()
}

// arrive begins a phase if o is one object too many for the current one.
func (p *lNonMarker) arrive(o policies.Object) {
	if p.arrivedIn[o] == p.marks.phase+1 {
		return
	}
	if p.arrivals == p.marks.capacity {
		p.startPhase()
	}
	p.arrivals++
	p.arrivedIn[o] = p.marks.phase + 1
}
