package learned

import (
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var trustDoubtEntry = policies.Entry{
	Name:    "trust-doubt",
	Look:    policies.Look{Color: policies.Magenta, Mark: policies.Plus},
	Memory:  policies.Memory{PerObject: 61, PerSlot: 50},
	Aliases: []string{"trust-and-doubt"},
	Summary: "trusts fpb to choose the victim for an object that is new in the phase, and doubts it for twice as long " +
		"after each error",
	Source: "Antoniadis, Coester, Elias, Polak and Simon, Online metric algorithms with untrusted predictions, ICML " +
		"2020, section 4 (Trust&Doubt); choices that it leaves open as LazyTrustDoubt of adampolak/mts-with-predictions",
	Units:  policies.UnitsObjects,
	Params: []policies.Param{lazyParam},
	Random: true,
	Type:   (*trustDoubt)(nil),
	New:    newTrustDoubt,
}

// trustDoubt simulates the cache that it follows.
//
// A phase ends when more distinct objects were requested in it than fit. At its start the simulated cache holds ancient
// objects, requested neither in the previous phase nor now, and stale ones. First the ancient ones are evicted,
// beginning with those that fpb does not hold. From then on an object that arrives and is not stale is clean. Each
// clean object has a proxy, an object that fpb does not hold; while the clean object is trusted, its proxy must be out
// of the cache. A request to a proxy shows that fpb was wrong: another proxy takes its place, and the clean object is
// doubted until as many objects have arrived as in its current interval, which then doubles. Otherwise, stale objects
// that were not requested in the phase are evicted in random order.
//
// A request takes time proportional to the number of clean objects of the phase, or to the capacity if it needs a proxy
// or loads a stale object again.
type trustDoubt struct {
	policies.ByPredictions
	following
	bits *rand.Rand

	phase     uint32
	filling   bool              // no phase has ended
	marked    []policies.Object // requested in this phase
	stale     []policies.Object // in the order of eviction, requested in this phase or not
	ancient   []policies.Object // still held
	clean     []cleanObject
	markedIn  []uint32 // per object: 1 + the last phase in which it was requested
	staleIn   []uint32 // per object: 1 + the last phase at whose start it was stale
	requested []uint32 // per object: the position of its last request
	proxyOf   []uint32 // per object: index in clean of the object whose proxy it last was
}

// cleanObject is the state of an object that is new in the phase.
type cleanObject struct {
	proxy   policies.Object
	trusted bool
	since   int // objects that had arrived in the phase when the current interval began
	length  int // of the interval, in arrivals
}

func newTrustDoubt(c policies.Config) (policies.Policy, error) {
	f, err := newFollowing(c, c.Params.Text(lazyParam.Name) == byLoad)
	p := &trustDoubt{
		following: f, filling: true, bits: rand.New(rand.NewPCG(c.Seed, 0)), markedIn: make([]uint32, c.Objects),
		staleIn: make([]uint32, c.Objects), requested: make([]uint32, c.Objects), proxyOf: make([]uint32, c.Objects),
	}
	p.serve = p.simulate
	return p, err
}

// Resize starts again, with an empty simulated cache and the first phase.
func (p *trustDoubt) Resize(capacity int64) {
	if int(capacity) == p.capacity {
		return
	}
	p.resize(capacity, func(policies.Object) {})
	p.phase += 2 // nothing is marked or stale in it
	p.filling = true
	p.marked, p.stale, p.ancient, p.clean = p.marked[:0], p.stale[:0], p.ancient[:0], p.clean[:0]
}

func (p *trustDoubt) Grow(objects int) {
	p.following.Grow(objects)
	p.markedIn = dense.Grown(p.markedIn, objects)
	p.staleIn = dense.Grown(p.staleIn, objects)
	p.requested = dense.Grown(p.requested, objects)
	p.proxyOf = dense.Grown(p.proxyOf, objects)
}

func (p *trustDoubt) simulate(r policies.Request) {
	o := r.Object
	p.followed.serve(r)
	arrives := !p.isMarked(o)
	if arrives && len(p.marked) == p.capacity {
		p.startPhase(o)
	}
	if arrives {
		p.marked = append(p.marked, o)
		p.markedIn[o] = p.phase + 1
	}
	p.requested[o] = uint32(r.Pos)
	switch {
	case p.filling:
		if arrives {
			p.load(o)
		}
	case len(p.ancient) > 0:
		p.serveAmongAncient(o)
	default:
		p.serveAmongStale(o, arrives)
	}
}

func (p *trustDoubt) isMarked(o policies.Object) bool { return p.markedIn[o] == p.phase+1 }
func (p *trustDoubt) isStale(o policies.Object) bool  { return p.staleIn[o] == p.phase+1 }

// startPhase begins a phase with a request to o, which was not requested in the previous one.
func (p *trustDoubt) startPhase(o policies.Object) {
	p.ancient, p.stale = p.ancient[:0], p.stale[:0]
	for _, x := range p.simulated.All {
		if p.isMarked(x) || x == o {
			p.stale = append(p.stale, x)
			p.staleIn[x] = p.phase + 2
		} else {
			p.ancient = append(p.ancient, x)
		}
	}
	p.bits.Shuffle(len(p.stale), func(i, j int) { p.stale[i], p.stale[j] = p.stale[j], p.stale[i] })
	p.phase++
	p.filling = false
	p.marked, p.clean = p.marked[:0], p.clean[:0]
}

// serveAmongAncient serves o while there are ancient objects.
func (p *trustDoubt) serveAmongAncient(o policies.Object) {
	gone := o // no longer ancient: o itself, if it was, or the victim
	if !p.simulated.Has(o) {
		gone = p.leastRecentAncient()
		p.drop(gone)
		p.load(o)
	}
	for i, x := range p.ancient {
		if x == gone {
			p.ancient[i] = p.ancient[len(p.ancient)-1]
			p.ancient = p.ancient[:len(p.ancient)-1]
			return
		}
	}
}

// leastRecentAncient returns the least recently requested ancient object, among those that fpb does not hold if there
// are any.
func (p *trustDoubt) leastRecentAncient() policies.Object {
	first := p.ancient[0]
	for _, x := range p.ancient[1:] {
		if held := p.followed.Has(x); held != p.followed.Has(first) && !held ||
			held == p.followed.Has(first) && p.requested[x] < p.requested[first] {
			first = x
		}
	}
	return first
}

// serveAmongStale serves o when no ancient objects are left. o arrives if it was not requested in the previous phase.
func (p *trustDoubt) serveAmongStale(o policies.Object, arrives bool) {
	if !p.simulated.Has(o) {
		p.drop(p.firstStale())
		p.load(o)
	}
	if arrives && !p.isStale(o) {
		// The first interval is one arrival long, this one: endIntervals ends it, which evicts the proxy.
		proxy := p.newProxy()
		p.proxyOf[proxy] = uint32(len(p.clean))
		p.clean = append(p.clean, cleanObject{proxy: proxy, trusted: true, since: len(p.marked) - 1, length: 1})
	}
	if p.isProxy(o) {
		c := &p.clean[p.proxyOf[o]]
		proxy := p.newProxy()
		p.proxyOf[proxy] = p.proxyOf[o]
		c.proxy, c.trusted, c.since = proxy, false, len(p.marked)
	}
	if arrives {
		p.endIntervals()
	}
}

func (p *trustDoubt) isProxy(o policies.Object) bool {
	i := int(p.proxyOf[o])
	return i < len(p.clean) && p.clean[i].proxy == o
}

// firstStale returns the first, in their order, of the held stale objects that were not requested in this phase. There
// is one: otherwise all held objects would be marked, and the request being served would be one more than fit.
func (p *trustDoubt) firstStale() policies.Object {
	for _, x := range p.stale {
		if !p.isMarked(x) && p.simulated.Has(x) {
			return x
		}
	}
	panic("trust-doubt: every object is marked")
}

// newProxy returns the least recently requested stale or marked object that fpb does not hold and that is not a proxy.
// There is one: the stale and marked objects are as many as fit plus the clean objects, one of which has no proxy.
func (p *trustDoubt) newProxy() (proxy policies.Object) {
	best := uint32(policies.Never)
	consider := func(x policies.Object) {
		if !p.followed.Has(x) && !p.isProxy(x) && p.requested[x] < best {
			proxy, best = x, p.requested[x]
		}
	}
	for _, x := range p.stale {
		consider(x)
	}
	for _, x := range p.marked {
		consider(x)
	}
	return proxy
}

// endIntervals begins a new interval for each clean object whose current one is over: the object is trusted, its proxy
// is evicted, and a stale object takes the proxy's room.
func (p *trustDoubt) endIntervals() {
	for i := range p.clean {
		c := &p.clean[i]
		if len(p.marked)-c.since != c.length {
			continue
		}
		c.since = len(p.marked)
		if !c.trusted {
			c.length *= 2
			c.trusted = true
		}
		if p.simulated.Has(c.proxy) {
			p.drop(c.proxy)
			p.bringBackStale()
		}
	}
}

// bringBackStale loads the stale object that is last in the order of eviction, among those that are neither marked nor
// held nor the proxy of a trusted object.
func (p *trustDoubt) bringBackStale() {
	for i := len(p.stale) - 1; i >= 0; i-- {
		x := p.stale[i]
		if !p.isMarked(x) && !p.simulated.Has(x) && !(p.isProxy(x) && p.clean[p.proxyOf[x]].trusted) {
			p.load(x)
			return
		}
	}
}
