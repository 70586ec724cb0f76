package learned

import (
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var followRobustEntry = policies.Entry{
	Name:    "follow-robust",
	Look:    policies.Look{Color: policies.Cyan, Mark: policies.Triangle},
	Memory:  policies.Memory{PerObject: 100, PerSlot: 76},
	Aliases: []string{"f&r"},
	Summary: "follows fpb while it misses only what the optimum of the past misses too; otherwise marks for a phase and " +
		"consults fpb at ever shorter intervals",
	Source: "Abdel Sadek and Elias, Algorithms for caching and MTS with reduced number of predictions, ICLR 2024 (F&R), " +
		"with a prediction for every decision",
	Units:  policies.UnitsObjects,
	Random: true,
	Type:   (*followRobust)(nil),
	Guarantee: func(policies.Values, int) policies.Guarantee {
		return policies.Guarantee{Consistency: "1", Robustness: "O(log k)"}
	},
	New: newFollowRobust,
}

// followRobust simulates the cache that it follows, in one of two modes. As a follower it evicts objects that were not
// in the cache of fpb when it last looked there. It looks again when it misses an object that was not there either. It
// then turns robust if it has missed an object that the optimum of the past did not miss. The simulated cache begins
// with the last distinct objects that fit, and marks, until as many distinct objects have arrived as fit.
//
// A request takes amortized logarithmic time in the capacity.
type followRobust struct {
	policies.ByPredictions
	following
	recent  *simulated // lru: the last distinct objects that fit
	optimum prefixOptimum
	bits    *rand.Rand

	predicted dense.Set // the objects in the cache of fpb when it was last looked at
	// objects that may have entered or left the cache of fpb since, the first `capacity` of them
	changed     []policies.Object
	unpredicted dense.Set // held, but not predicted

	// follower
	misses, optMisses int // since robust mode ended

	// robust mode
	robust    bool
	phase     uint32
	arrivals  int
	unmarked  dense.Set // held, but not requested in this phase
	marked    []uint32  // per object: the last phase in which it was requested
	startedIn []uint32  // per object: the last phase at whose start it was held
	window    uint32
	missing   []uint32 // per object: the last window at whose start it was predicted, but neither held nor marked
}

func newFollowRobust(c policies.Config) (policies.Policy, error) {
	f, err := newFollowing(c, false)
	if err != nil {
		return nil, err
	}
	recent, err := newSimulated(c, named("lru"))
	p := &followRobust{
		following:   f,
		recent:      recent,
		optimum:     newPrefixOptimum(c),
		bits:        rand.New(rand.NewPCG(c.Seed, 0)),
		predicted:   dense.NewSet(c.Objects),
		unpredicted: dense.NewSet(c.Objects),
		unmarked:    dense.NewSet(c.Objects),
		marked:      make([]uint32, c.Objects),
		startedIn:   make([]uint32, c.Objects),
		missing:     make([]uint32, c.Objects),
	}
	p.serve = p.simulate
	return p, err
}

// Resize starts again as a follower, with what fpb then holds.
func (p *followRobust) Resize(capacity int64) {
	if int(capacity) == p.capacity {
		return
	}
	p.lookAtPredicted() // now, because how many changes are remembered depends on the capacity
	for _, o := range slices.Clone(p.simulated.All) {
		p.release(o)
	}
	p.resize(capacity, p.change)
	p.lookAtPredicted()
	p.recent.resize(capacity, p.pos, func(policies.Object) {})
	p.optimum.restart(capacity)
	p.misses, p.optMisses, p.robust = 0, 0, false
}

func (p *followRobust) Grow(objects int) {
	p.following.Grow(objects)
	p.recent.grow(objects)
	p.optimum.grow(objects)
	for _, set := range []*dense.Set{&p.predicted, &p.unpredicted, &p.unmarked} {
		set.Grow(objects)
	}
	p.marked = dense.Grown(p.marked, objects)
	p.startedIn = dense.Grown(p.startedIn, objects)
	p.missing = dense.Grown(p.missing, objects)
}

func (p *followRobust) simulate(r policies.Request) {
	o := r.Object
	optHit := p.optimum.request(o)
	p.follow(r)
	switch {
	case p.robust:
		p.serveRobust(o)
	case !p.simulated.Has(o):
		p.misses++
		if !optHit {
			p.optMisses++
		}
		p.serveMiss(o)
	}
	p.recent.serve(r)
}

// follow serves r in the cache of fpb.
func (p *followRobust) follow(r policies.Request) {
	victim, evicted, hit := p.followed.serve(r)
	if !hit {
		p.change(r.Object)
	}
	if evicted {
		p.change(victim)
	}
}

// change remembers that o has entered or left the cache of fpb. With more changes than objects fit, lookAtPredicted is
// faster if it compares the caches.
func (p *followRobust) change(o policies.Object) {
	if len(p.changed) < p.capacity {
		p.changed = append(p.changed, o)
	}
}

// serveMiss serves a miss of the follower.
func (p *followRobust) serveMiss(o policies.Object) {
	switch {
	case len(p.simulated.All) < p.capacity:
		p.hold(o)
		return
	case !p.predicted.Has(o):
		p.lookAtPredicted()
		if p.misses > p.optMisses {
			p.turnRobust()
			p.serveRobust(o)
			return
		}
	}
	p.exchange(p.random(&p.unpredicted), o)
}

// turnRobust begins robust mode with the last distinct objects in the simulated cache.
func (p *followRobust) turnRobust() {
	p.robust, p.arrivals = true, 0
	p.phase++
	for i := len(p.simulated.All) - 1; i >= 0; i-- { // a dropped object is replaced by one behind it
		if x := p.simulated.All[i]; !p.recent.Has(x) {
			p.release(x)
		}
	}
	p.unmarked.Clear()
	for _, x := range p.recent.All {
		if !p.simulated.Has(x) {
			p.hold(x)
		}
		p.startedIn[x] = p.phase
		p.unmarked.Add(x)
	}
}

// serveRobust serves a request in robust mode, which ends once as many distinct objects as fit have arrived.
func (p *followRobust) serveRobust(o policies.Object) {
	arrives := p.marked[o] != p.phase
	if arrives {
		p.marked[o] = p.phase
		p.arrivals++
		if p.unmarked.Has(o) {
			p.unmarked.Remove(o)
		}
		if p.beginsWindow() {
			p.startWindow()
		}
	}
	if !p.simulated.Has(o) {
		p.exchange(p.robustVictim(o, arrives), o)
	}
	if p.arrivals == p.capacity {
		p.robust, p.misses, p.optMisses = false, 0, 0
	}
}

// robustVictim returns the victim for o. If o is new in the phase, or fpb would have kept it, it replaces one that fpb
// did not keep. Otherwise it replaces an unmarked one.
func (p *followRobust) robustVictim(o policies.Object, arrives bool) policies.Object {
	clean := p.startedIn[o] != p.phase
	if arrives && (clean || p.missing[o] == p.window) {
		p.lookAtPredicted()
		return p.random(&p.unpredicted)
	}
	return p.random(&p.unmarked)
}

// beginsWindow reports whether a window begins with the latest arrival: the i-th begins with arrival k-k/2^i+1, for a
// cache of k objects.
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
	for _, x := range p.predicted.All {
		if !p.simulated.Has(x) && p.marked[x] != p.phase {
			p.missing[x] = p.window
		}
	}
}

// lookAtPredicted takes over what the cache of fpb holds now. If it may have changed in more places than are
// remembered, it looks at all objects.
func (p *followRobust) lookAtPredicted() {
	if len(p.changed) >= p.capacity {
		p.changed = append(p.changed, p.predicted.All...)
		p.changed = append(p.changed, p.followed.All...)
	}
	for _, x := range p.changed {
		if now := p.followed.Has(x); now != p.predicted.Has(x) {
			p.predict(x, now)
		}
	}
	p.changed = p.changed[:0]
}

// predict adds x to the predicted objects or removes it, as the cache of fpb holds it or not.
func (p *followRobust) predict(x policies.Object, now bool) {
	if now {
		p.predicted.Add(x)
	} else {
		p.predicted.Remove(x)
	}
	switch {
	case !p.simulated.Has(x):
	case now:
		p.unpredicted.Remove(x)
	default:
		p.unpredicted.Add(x)
	}
}

// random returns a random member of a set, uniformly. The set is never empty: the object being served is not held, and
// it is predicted or marked.
func (p *followRobust) random(set *dense.Set) policies.Object {
	return set.All[p.bits.IntN(len(set.All))]
}

func (p *followRobust) exchange(victim, loaded policies.Object) {
	p.release(victim)
	p.hold(loaded)
}

// hold loads o into the simulated cache.
func (p *followRobust) hold(o policies.Object) {
	p.load(o)
	if !p.predicted.Has(o) {
		p.unpredicted.Add(o)
	}
}

// release drops o from the simulated cache.
func (p *followRobust) release(o policies.Object) {
	p.drop(o)
	for _, set := range []*dense.Set{&p.unpredicted, &p.unmarked} {
		if set.Has(o) {
			set.Remove(o)
		}
	}
}
