package learned

import (
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var guardEntry = policies.Entry{
	Name:   "guard",
	Look:   policies.Look{Color: policies.Violet, Mark: policies.Square},
	Memory: policies.Memory{PerObject: 32, PerSlot: 19},
	Summary: "follows predictions; an object evicted in the same phase is guarded when it is requested again: a random " +
		"object that was not requested in the phase is evicted for it, and it stays until the next phase",
	Source: "Chen, Zhao, Zhang, Tang, Wang and Deng, Robustifying learning-augmented caching efficiently without " +
		"compromising 1-consistency, NeurIPS 2025",
	Units:  policies.UnitsObjects,
	Type:   (*guard)(nil),
	Random: true,
	Guarantee: func(_ policies.Values, capacity int) policies.Guarantee {
		robustness := policies.CompetitiveRatio("2H_(k-1)+2", 2*policies.Harmonic(int64(capacity-1))+2)
		return policies.Guarantee{Consistency: "1", Robustness: robustness}
	},
	New: func(c policies.Config) (policies.Policy, error) { return newGuard(c), nil },
}

// guard begins a phase with a miss on a full cache that has no old object: one resident since the phase began and not
// requested since. Every eviction in a phase is remembered until the next. Old objects are never guarded, so there is
// always one to evict. Where entries answer similar queries, a missed query counts as evicted if an entry that was
// would have answered it.
type guard struct {
	policies.ByPredictions
	predictor predict.Predictor
	shared    *predict.Shared // nil where each request is one to its own object alone
	unguarded forecast
	guarded   dense.Set
	old       dense.Set
	phase     uint32
	evictedIn []uint32 // per object: the last phase in which it was evicted; 0 for none
	arms      bool     // the object that is loaded next will be guarded
	bits      *rand.Rand
	capacity  int // batch path only
}

func newGuard(c policies.Config) *guard {
	return &guard{
		predictor: c.Predictor, shared: predict.SharedBy(c.Predictor),
		unguarded: newForecast(c.Predictor, c.Objects), guarded: dense.NewSet(c.Objects),
		old: dense.NewSet(c.Objects), evictedIn: make([]uint32, c.Objects), bits: rand.New(rand.NewPCG(c.Seed, 0)),
		capacity: int(c.Capacity),
	}
}

func (p *guard) Hit(r policies.Request) { p.request(r.Object, r.Pos) }
func (p *guard) Miss(policies.Request)  {}

func (p *guard) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Demand {
		return p.giveUp(r.Pos)
	}
	return p.evict(r.Object, r.Pos)
}

// giveUp chooses a victim when no request causes the eviction: it does not count against the prediction.
func (p *guard) giveUp(pos int) (victim policies.Object) {
	if p.unguarded.size() > 0 {
		victim = p.unguarded.latest(pos)
	} else {
		victim = p.guarded.All[0]
	}
	p.Remove(victim)
	return victim
}

func (p *guard) Insert(r policies.Request) {
	if r.Reason != policies.Demand {
		p.unguarded.add(r.Object)
		p.unguarded.request(r.Object, r.Pos)
		return
	}
	p.load(r.Object, r.Pos)
}

func (p *guard) Remove(o policies.Object) {
	if p.old.Has(o) {
		p.old.Remove(o)
	}
	if p.guarded.Has(o) {
		p.guarded.Remove(o)
	} else {
		p.unguarded.remove(o)
	}
}

func (p *guard) Grow(objects int) {
	p.unguarded.grow(objects)
	p.guarded.Grow(objects)
	p.old.Grow(objects)
	p.evictedIn = dense.Grown(p.evictedIn, objects)
}

func (p *guard) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		if p.unguarded.has(o) || p.guarded.Has(o) {
			hits++
			p.request(o, first+i)
			continue
		}
		if p.unguarded.size()+len(p.guarded.All) == p.capacity {
			p.evict(o, first+i)
			evictions++
		}
		p.load(o, first+i)
	}
	return hits, evictions
}

func (p *guard) load(o policies.Object, pos int) {
	if p.arms {
		p.guarded.Add(o)
		p.arms = false
	} else {
		p.unguarded.add(o)
	}
	p.request(o, pos)
}

func (p *guard) request(o policies.Object, pos int) {
	if p.old.Has(o) {
		p.old.Remove(o)
	}
	p.unguarded.request(o, pos)
	p.predictor.Observe(o, pos)
}

func (p *guard) evict(o policies.Object, pos int) (victim policies.Object) {
	if len(p.old.All) == 0 {
		p.startPhase()
	}
	if p.arms = p.evicted(o, pos); p.arms {
		victim = p.old.All[p.bits.IntN(len(p.old.All))]
	} else {
		victim = p.unguarded.latest(pos)
	}
	p.evictedIn[victim] = p.phase
	p.Remove(victim)
	return victim
}

// evicted reports whether what the request at pos misses was evicted in this phase.
func (p *guard) evicted(o policies.Object, pos int) bool {
	if p.evictedIn[o] == p.phase {
		return true
	}
	if p.shared == nil {
		return false
	}
	_, others := p.shared.Requested(pos)
	for _, other := range others {
		if p.evictedIn[other] == p.phase {
			return true
		}
	}
	return false
}

// startPhase makes every resident old and unguarded; none was old before.
func (p *guard) startPhase() {
	p.phase++
	for _, o := range p.guarded.All {
		p.unguarded.add(o)
	}
	p.guarded.Clear()
	for _, o := range p.unguarded.members {
		p.old.Add(o)
	}
}
