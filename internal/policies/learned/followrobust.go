package learned

import (
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
)

var followRobustEntry = policies.Entry{
	Name:    "follow-robust",
	Aliases: []string{"f&r"},
	Summary: "follows fpb while it misses only what the optimum of the past misses too, otherwise marks for a phase and consults fpb at ever shorter intervals",
	Source: "Abdel Sadek and Elias, Algorithms for caching and MTS with reduced number of predictions, ICLR 2024 (F&R), with a prediction for every " +
		"decision",
	Units:    policies.UnitsObjects,
	Random:   true,
	Predicts: true,
	New:      newFollowRobust,
}

// followRobust follows a simulated cache that is in one of two modes. As follower it evicts what was not in the cache of fpb when it last looked
// there. It looks anew when it misses an object that was not there either; if by then it has missed an object that the optimum of the past did not,
// it turns robust, for as many distinct objects as fit: the simulated cache then holds the last of those, and marks.
//
// A request costs constant time, one that looks into the cache of fpb or evicts the capacity.
type followRobust struct {
	predictor predict.Predictor
	followed  *simulated // fpb
	cache     lazy       // what is really resident
	simulated members    // what it follows
	predicted members    // the cache of fpb when it was last looked at
	recent    *simulated // lru: the last distinct objects that fit
	optimum   prefixOptimum
	capacity  int
	bits      *rand.Rand

	// follower
	misses, optMisses int // since robust mode ended

	// robust mode
	robust    bool
	phase     uint32
	arrivals  int
	marked    []uint32 // per object: the last phase in which it was requested
	startedIn []uint32 // per object: the last phase at whose start it was held
	window    uint32
	missing   []uint32 // per object: the last window at whose start it was in the cache of fpb, but neither held nor marked
	choice    []policies.Object
}

func newFollowRobust(c policies.Config) (policies.Policy, error) {
	followed, err := newSimulated(c, fpbAlone)
	if err != nil {
		return nil, err
	}
	recent, err := newSimulated(c, named("lru"))
	return &followRobust{
		predictor: c.Predictor, followed: followed, cache: newLazy(c.Objects, 1), simulated: newMembers(c.Objects),
		predicted: newMembers(c.Objects), recent: recent, optimum: newPrefixOptimum(c), capacity: int(c.Capacity),
		bits: rand.New(rand.NewPCG(c.Seed, 0)), marked: make([]uint32, c.Objects), startedIn: make([]uint32, c.Objects),
		missing: make([]uint32, c.Objects),
	}, err
}

func (p *followRobust) Hit(r policies.Request) {
	p.serve(r)
	p.predictor.Observe(r.Object, r.Pos)
}

func (p *followRobust) Miss(r policies.Request) { p.serve(r) }

func (p *followRobust) Victim(r policies.Request) policies.Object { return p.cache.evict(0, r.Pos) }

func (p *followRobust) Insert(r policies.Request) {
	p.cache.insert(r.Object)
	p.predictor.Observe(r.Object, r.Pos)
}

func (p *followRobust) Remove(o policies.Object) { p.cache.remove(o) }

// serve brings the simulated cache into its state after r.
func (p *followRobust) serve(r policies.Request) {
	o := r.Object
	optHit := p.optimum.request(o, r.Pos)
	p.followed.serve(r)
	switch {
	case p.robust:
		p.serveRobust(o)
	case !p.simulated.has(o):
		p.misses++
		if !optHit {
			p.optMisses++
		}
		p.follow(o)
	}
	p.recent.serve(r)
	p.cache.request(o, r.Pos)
}

// follow serves a miss of the follower.
func (p *followRobust) follow(o policies.Object) {
	switch {
	case len(p.simulated.list) < p.capacity:
		p.load(o)
		return
	case !p.predicted.has(o):
		p.lookAtPredicted()
		if p.misses > p.optMisses {
			p.turnRobust()
			p.serveRobust(o)
			return
		}
	}
	p.exchange(p.randomUnpredicted(), o)
}

// turnRobust begins robust mode with the last distinct objects in the simulated cache.
func (p *followRobust) turnRobust() {
	p.robust, p.arrivals = true, 0
	p.phase++
	p.choice = append(p.choice[:0], p.simulated.list...)
	for _, x := range p.choice {
		if !p.recent.has(x) {
			p.drop(x)
		}
	}
	for _, x := range p.recent.list {
		if !p.simulated.has(x) {
			p.load(x)
		}
		p.startedIn[x] = p.phase
	}
}

// serveRobust serves a request in robust mode, which ends with the arrival of as many distinct objects as fit.
func (p *followRobust) serveRobust(o policies.Object) {
	arrives := p.marked[o] != p.phase
	if arrives {
		p.marked[o] = p.phase
		p.arrivals++
		if p.beginsWindow() {
			p.startWindow()
		}
	}
	if !p.simulated.has(o) {
		p.exchange(p.robustVictim(o, arrives), o)
	}
	if p.arrivals == p.capacity {
		p.robust, p.misses, p.optMisses = false, 0, 0
	}
}

// robustVictim returns what leaves for o. Objects that are new, and those that fpb would have kept, cost what it did not keep.
func (p *followRobust) robustVictim(o policies.Object, arrives bool) policies.Object {
	clean := p.startedIn[o] != p.phase
	if arrives && (clean || p.missing[o] == p.window) {
		p.lookAtPredicted()
		return p.randomUnpredicted()
	}
	return p.random(func(x policies.Object) bool { return p.marked[x] != p.phase })
}

// beginsWindow reports whether a window begins with the latest arrival: the i-th begins with arrival k-k/2^i+1, for a cache of k objects.
func (p *followRobust) beginsWindow() bool {
	for rest := p.capacity; rest > 0; rest /= 2 {
		if p.arrivals == p.capacity-rest+1 {
			return true
		}
	}
	return false
}

func (p *followRobust) startWindow() {
	p.window++
	p.lookAtPredicted()
	for _, x := range p.predicted.list {
		if !p.simulated.has(x) && p.marked[x] != p.phase {
			p.missing[x] = p.window
		}
	}
}

// lookAtPredicted takes over what the cache of fpb holds now.
func (p *followRobust) lookAtPredicted() {
	p.predicted.clear()
	for _, x := range p.followed.list {
		p.predicted.add(x)
	}
}

// randomUnpredicted returns a random object that was not in the cache of fpb when it was last looked at. There is one where the object that is
// served was there, since it is not held.
func (p *followRobust) randomUnpredicted() policies.Object {
	return p.random(func(x policies.Object) bool { return !p.predicted.has(x) })
}

// random returns one of the held objects that are eligible, each with the same probability.
func (p *followRobust) random(eligible func(policies.Object) bool) policies.Object {
	p.choice = p.choice[:0]
	for _, x := range p.simulated.list {
		if eligible(x) {
			p.choice = append(p.choice, x)
		}
	}
	return p.choice[p.bits.IntN(len(p.choice))]
}

func (p *followRobust) exchange(leaves, comes policies.Object) {
	p.drop(leaves)
	p.load(comes)
}

func (p *followRobust) load(o policies.Object) {
	p.simulated.add(o)
	p.cache.targetLoads(0, o)
}

func (p *followRobust) drop(o policies.Object) {
	p.simulated.remove(o)
	p.cache.targetEvicts(0, o)
}
