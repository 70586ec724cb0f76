package igtcache

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/shadow"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// member is the cache with units, or with one pool, of which only the directory is kept: what it would load is there at
// once. It implements shadow.Member for the objects of the trace. Other addresses have other numbers in each cache, and
// are left out, since none of them is ever missed.
type member struct {
	cache   cache.Prefetching
	system  *system
	objects int                 // of the trace
	last    policies.Request    // with the reason Prefetch
	ahead   []prefetch.Proposal // what it loaded ahead, or in the background
	entered []policies.Object
	evicted []policies.Object
	others  []uint64 // addresses that the trace never requests, and that came or left
	fetches []requests.Fetch
	at      int // position in the trace of the present request
}

func newMember(c cache.Config, o options) (*member, error) {
	s, prefetcher, err := newParts(c, o)
	if err != nil {
		return nil, err
	}
	m := &member{system: s, objects: c.Trace.NumObjects}
	c.Asynchronous, c.Observer = true, m
	m.cache = cache.NewPrefetching(c, s, prefetcher)
	return m, nil
}

func (m *member) Entered() []policies.Object { return m.entered }
func (m *member) Evicted() []policies.Object { return m.evicted }

// Serve implements shadow.Member. What the request loads ahead comes after it.
func (m *member) Serve(r policies.Request, _ int64) (hit bool) {
	m.begin()
	if hit = m.cache.Ask(r, m.at); !hit {
		m.cache.Arrive(r)
	}
	r.Reason, r.Write = policies.Prefetch, false
	m.fetches = m.cache.Proposals(m.fetches[:0])
	m.last = r
	m.fetch()
	return hit
}

// more loads up to n objects in the background.
func (m *member) more(n int) {
	m.begin()
	m.fetches = m.cache.More(n, m.fetches[:0])
	m.fetch()
}

// fetch loads what is proposed.
func (m *member) fetch() {
	r := m.last
	for _, f := range m.fetches {
		r.Object, r.Query, r.Size = f.Object, f.Object, f.Size
		if m.cache.Arrive(r) {
			m.ahead = append(m.ahead, prefetch.Proposal{Object: f.Object, Key: m.system.address(f.Object), Size: f.Size})
		}
	}
}

func (m *member) begin() {
	m.ahead, m.entered, m.evicted, m.others = m.ahead[:0], m.entered[:0], m.evicted[:0], m.others[:0]
}

func (m *member) Loaded(o policies.Object, _ int64, _ policies.Reason) {
	if int(o) < m.objects {
		m.entered = append(m.entered, o)
	} else {
		m.others = append(m.others, m.system.address(o))
	}
}

func (m *member) Left(o policies.Object, _ int64, _ cache.Departure) {
	if int(o) < m.objects {
		m.evicted = append(m.evicted, o)
	} else {
		m.others = append(m.others, m.system.address(o))
	}
}

func (m *member) Has(o policies.Object) bool { return m.system.Resident(o) }

func (m *member) hasAddress(address uint64) bool {
	o, ok := m.system.find(address)
	return ok && m.system.Resident(o)
}

func (m *member) Drop(o policies.Object) {
	m.begin()
	m.cache.Drop(o)
}

// Resize and Grow: the cache keeps its capacity, and its objects are known.
func (m *member) Resize(int64) {}
func (m *member) Grow(int)     {}

// outer is a cache that follows whichever of the cache with units and the one with a single pool would have hit more.
// It loads what the leader loads, and evicts first what the leader does not hold.
type outer struct {
	*cache.Pool
	race      shadow.Race[*member]
	residents shadow.Residents
	objects   int
	numbers   *prefetch.Numbers
}

func newOuter(c cache.Config, o options) (*outer, error) {
	x := &outer{residents: shadow.NewResidents(c.Room()), objects: c.Trace.NumObjects}
	var all []*member
	for _, shared := range []bool{false, true} {
		o.shared = shared
		m, err := newMember(c, o)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	x.race = shadow.NewRace(all, x.objects)
	x.Pool = cache.NewPool(imitation{x}, c.Capacity, c.Room())
	return x, nil
}

func (x *outer) SetNumbers(n *prefetch.Numbers) { x.numbers = n }

// serve shows a request to both, and follows the leader.
func (x *outer) serve(r policies.Request, at int) {
	for _, m := range x.race.Members() {
		m.at = at
	}
	if x.race.Serve(r, x.Capacity()) {
		x.residents.Follow(x.holds)
	}
	x.catchUp()
}

// catchUp notes what the leader holds now.
func (x *outer) catchUp() {
	leader := x.race.Ahead()
	for _, o := range leader.entered {
		x.follow(o)
	}
	for _, o := range leader.evicted {
		x.follow(o)
	}
	for _, address := range leader.others {
		if o, ok := x.numbers.Known(address); ok {
			x.follow(o)
		}
	}
}

// follow notes whether the leader holds an object that is resident.
func (x *outer) follow(o policies.Object) {
	if x.residents.Has(o) && x.residents.IsHeld(o) != x.holds(o) {
		x.residents.Use(o, x.holds(o))
	}
}

// holds reports whether the leader holds an object.
func (x *outer) holds(o policies.Object) bool {
	if int(o) < x.objects {
		return x.race.Ahead().Has(o)
	}
	return x.race.Ahead().hasAddress(x.numbers.Key(o))
}

func (x *outer) Request(r policies.Request) (hit bool) {
	x.serve(r, r.Pos)
	return x.Pool.Request(r)
}

func (x *outer) Ask(r policies.Request, at int) (hit bool) {
	x.serve(r, at)
	return x.Pool.Ask(r, at)
}

// Look serves a request that loads nothing where it misses.
func (x *outer) Look(r policies.Request) (hit bool) {
	for _, m := range x.race.Members() {
		m.system.Look(r)
	}
	return x.Pool.Look(r)
}

// Counters are the pool's, those of the cache with units, and how the race went.
func (x *outer) Counters() []policies.Counter {
	return append(x.race.Members()[0].system.Counters(), policies.Count(outerChanges, float64(x.race.Changes)),
		policies.Count(outerPool, float64(x.race.Leader)))
}

func (x *outer) Drop(o policies.Object) bool {
	dropped := x.Pool.Drop(o)
	if int(o) < x.objects {
		x.race.Drop(o)
	}
	return dropped
}

// imitation is the policy of the pool.
type imitation struct{ of *outer }

func (f imitation) Hit(r policies.Request) { f.of.residents.Use(r.Object, f.of.holds(r.Object)) }
func (f imitation) Miss(policies.Request)  {}

// Admit refuses what the leader does not hold: it has bypassed that, or let it go before it arrived.
func (f imitation) Admit(r policies.Request) bool { return f.of.holds(r.Object) }

func (f imitation) Insert(r policies.Request) {
	f.of.residents.Use(r.Object, true)
	if int(r.Object) < f.of.objects {
		f.of.race.Enter(r.Object)
	}
}

func (f imitation) Victim(policies.Request) policies.Object {
	v := f.of.residents.Victim()
	f.Remove(v)
	return v
}

func (f imitation) Remove(o policies.Object) {
	f.of.residents.Take(o)
	if int(o) < f.of.objects {
		f.of.race.Leave(o)
	}
}

// leading is the prefetcher: what the leader loads ahead is loaded.
type leading struct{ of *outer }

func (l leading) Request(_ prefetch.Access, proposals []prefetch.Proposal) []prefetch.Proposal {
	return append(proposals, l.of.race.Ahead().ahead...)
}

func (l leading) More(n int, proposals []prefetch.Proposal) []prefetch.Proposal {
	for _, m := range l.of.race.Members() {
		m.more(n)
	}
	l.of.race.Note()
	l.of.catchUp()
	return l.Request(prefetch.Access{}, proposals)
}
