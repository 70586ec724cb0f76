package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
)

// Pool manages residency: a capacity that can change, the resident objects and their charged sizes, and a policy that
// chooses victims. Every cache is built on pools. The cache decides what counts as a hit; a pool has a requested object
// or loads it.
//
// Memory: 1 byte per object, 8 if sizes count, in addition to the policy's. It implements requests.Asynchronous.
type Pool struct {
	NoProposals
	policy   policies.Policy       // or a wrapper that reports its hits
	admitter policies.Admitter     // nil if the policy admits everything
	expirer  policies.Expirer      // nil if nothing expires
	members  *Members              // nil if objects are identified by their numbers in the trace
	observer Observer              // nil if nobody observes
	loads    LoadObserver          // nil if nobody observes loads
	resizer  policies.Resizer      // nil if the policy does not need to know its capacity
	follower policies.SizeFollower // nil if the policy does not depend on sizes

	proposed policies.ProposalFollower // nil if the policy ignores proposals of resident objects

	capacity int64
	used     int64
	here     []bool  // per object: it is resident; used while each is charged 1
	stored   []int64 // per object, once sizes count: its charged size while resident, at least 1; 0 otherwise

	ghosts    *Ghosts // nil if evicted objects are not remembered
	rank      int     // of the pool, among those with the same ghosts
	ghostHits int64

	loaded    int64 // objects that have become resident so far
	evictions int64
	oversized int64

	changed []policies.Object // a buffer

	pos  int   // of the last request
	time int64 // of the last request
}

// Observer is notified of objects that leave a pool, after the pool and its policy have recorded it. Objects are
// identified by their numbers in the trace; size is their charged size.
type Observer interface {
	Left(o policies.Object, size int64, why Departure)
}

// LoadObserver is an Observer that is also notified of loads.
type LoadObserver interface {
	Observer
	Loaded(o policies.Object, size int64, why policies.Reason)
}

// ChangeObserver is a LoadObserver that ignores why an object comes or goes. So it can be notified of many changes at
// once, in their order. The one that implements it is in internal/serving, which this room does not import.
type ChangeObserver interface {
	LoadObserver
	Changed(objects []policies.Object)
}

// HitObserver is an Observer that is also notified of requests for resident objects.
type HitObserver interface {
	Observer
	Hit(o policies.Object)
}

// TierObserver observes the tiers of a cache, and the cache as a whole.
type TierObserver interface {
	Observer
	// OfTier returns what observes one of the tiers.
	OfTier(at int, name string) LoadObserver
	// HitIn says that a request hits in a tier.
	HitIn(at int, o policies.Object)
	// Moved says that what left a tier without coming to another one has left the cache.
	Moved()
}

// RefusalObserver is an Observer that is also notified of missed objects that an admission keeps out of the pool.
type RefusalObserver interface {
	Observer
	NotAdmitted(o policies.Object)
}

// Departure says why an object left a pool.
type Departure uint8

const (
	ForDemand   Departure = iota // to make room for a requested object
	ForPrefetch                  // to make room for a prefetched object
	ForRestore                   // to make room for an object from another pool, or from an earlier state
	Shrunk                       // the pool has become smaller
	Expired                      // it expired
	Dropped                      // the cache removed it
)

var departures = [...]string{"demand", "prefetch", "restore", "shrink", "expiry", "drop"}

func (d Departure) String() string { return departures[d] }

// NewPool returns an empty pool over the objects 0..objects-1, identified by these numbers.
func NewPool(p policies.Policy, capacity int64, objects int) *Pool {
	pool := &Pool{policy: p, capacity: capacity, here: make([]bool, objects)}
	pool.admitter, _ = p.(policies.Admitter)
	pool.expirer, _ = p.(policies.Expirer)
	pool.resizer, _ = p.(policies.Resizer)
	pool.follower, _ = p.(policies.SizeFollower)
	pool.proposed, _ = p.(policies.ProposalFollower)
	return pool
}

// Observe notifies an observer of changes from now on; nil: no observer. There is one at a time.
func (p *Pool) Observe(o Observer) {
	p.observer = o
	p.loads, _ = o.(LoadObserver)
	if told, ok := p.policy.(observedPolicy); ok {
		p.policy = told.Policy
	}
	if hits, ok := o.(HitObserver); ok {
		p.policy = observedPolicy{p.policy, p, hits}
	}
}

// observedPolicy notifies an observer of hits, so that a pool without an observer need not check for one.
type observedPolicy struct {
	policies.Policy
	pool     *Pool
	observer HitObserver
}

func (t observedPolicy) Hit(r policies.Request) {
	t.Policy.Hit(r)
	t.observer.Hit(t.pool.name(r.Object))
}

func (p *Pool) Capacity() int64 { return p.capacity }

// Used returns how much of the capacity is used. It never exceeds the capacity.
func (p *Pool) Used() int64 { return p.used }

// Remember makes g remember what the pool evicts, under its number among those with the same ghosts; nil: nothing.
func (p *Pool) Remember(g *Ghosts, number int) { p.ghosts, p.rank = g, number }
func (p *Pool) GhostHits() int64               { return p.ghostHits }
func (p *Pool) Len() int                       { return int(p.loaded - p.evictions) }
func (p *Pool) Evictions() int64               { return p.evictions }

// Oversized returns how many requests so far were for objects larger than the capacity: misses that bypass the pool.
func (p *Pool) Oversized() int64             { return p.oversized }
func (p *Pool) Counters() []policies.Counter { return CountersOf(p.named()) }
func (p *Pool) Remark() string               { return RemarkOf(p.named()) }

func (p *Pool) named() policies.Policy {
	if told, ok := p.policy.(observedPolicy); ok {
		return told.Policy
	}
	return p.policy
}

func (p *Pool) Resident(o policies.Object) bool {
	if p.members != nil {
		return p.residentMember(o)
	}
	return p.Has(o)
}

func (p *Pool) Holds(o policies.Object) bool { return p.Resident(o) }
func (p *Pool) LookAll(w Window, n *Counts)  { LookEach(p, w, n) }

// Look serves a request that loads nothing where it misses.
func (p *Pool) Look(r policies.Request) (hit bool) {
	p.Expire(r.Time)
	return p.Resident(r.Object) && p.Request(r)
}

// Has is Resident for a pool without members. It is short enough to be inlined into the loops of caches.
func (p *Pool) Has(o policies.Object) bool {
	if p.stored != nil {
		return p.stored[o] != 0
	}
	return p.here[o]
}

// Charge returns the charged size of an object, 0 if it is not resident.
func (p *Pool) Charge(o policies.Object) int64 {
	if o, ok := p.find(o); ok {
		return p.charge(o)
	}
	return 0
}

// find returns the number of an object in the pool, if it may be resident.
func (p *Pool) find(o policies.Object) (number policies.Object, ok bool) {
	if p.members == nil {
		return o, true
	}
	return p.members.find(o)
}

func (p *Pool) charge(o policies.Object) int64 {
	switch {
	case p.stored != nil:
		return p.stored[o]
	case p.here[o]:
		return 1
	}
	return 0
}

// residentMember is Resident for members.
//
//go:noinline
func (p *Pool) residentMember(o policies.Object) bool {
	n, ok := p.members.find(o)
	return ok && p.Has(n)
}

// Request serves a request of the trace: a resident object hits, any other is loaded, unless it is larger than the
// capacity or the policy bypasses it. A write that hits changes what its object is charged.
func (p *Pool) Request(r policies.Request) (hit bool) {
	p.prepare(&r)
	if !p.Has(r.Object) {
		p.Miss(r)
		return false
	}
	p.pos, p.time = r.Pos, r.Time
	p.hit(r)
	return true
}

// prepare removes what expires before a request, and numbers its object as the pool does.
func (p *Pool) prepare(r *policies.Request) {
	if p.expirer != nil {
		p.expire(r.Time)
	}
	if p.members != nil {
		r.Object = p.number(r.Object)
		r.Query = r.Object
	}
}

func (p *Pool) hit(r policies.Request) {
	if r.Write {
		p.rewrite(r)
	} else {
		p.policy.Hit(r)
	}
}

// Hit is Request for an object that the cache knows to be resident, in a pool without members. It must not be inlined:
// copying a request that has just been written field by field is slower.
//
//go:noinline
func (p *Pool) Hit(r policies.Request) { p.hit(r) }

// rewrite serves a write to a resident object, which is charged the new size, and evicts until that fits. Nothing asks
// whether the object is admitted again. The policy may evict the object itself, and it leaves if it is larger than the
// pool: both are evictions. It must not be inlined, to keep it out of the path of reads.
//
//go:noinline
func (p *Pool) rewrite(r policies.Request) {
	r.Size = max(r.Size, 1) // a charge of 0 is that of an object that is not resident
	fits := r.Size <= p.capacity
	if fits {
		p.policy.Hit(r)
	}
	was := p.charge(r.Object)
	if r.Size == was {
		return
	}
	if p.stored == nil {
		p.weigh()
	}
	p.stored[r.Object] = r.Size
	p.used += r.Size - was
	switch {
	case !fits: // so that the policy never sees it
		p.policy.Remove(r.Object)
		p.leave(r.Object, ForDemand)
		return
	case p.follower != nil:
		p.follower.Resized(r.Object, r.Size)
	}
	p.pos, p.time = r.Pos, r.Time
	p.makeRoom(0, ForDemand)
}

// Load makes an object resident without a request of the trace; r.Reason says why, and r.Pos and r.Time are the last
// served request's. It returns false if the object is already resident, is larger than the capacity, or is bypassed by
// the policy. A policy that follows proposals is told of one for a resident object.
func (p *Pool) Load(r policies.Request) (loaded bool) {
	p.prepare(&r)
	if !p.Has(r.Object) {
		return p.Miss(r)
	}
	if p.proposed != nil && r.Reason == policies.Prefetch {
		p.proposed.Proposed(r)
	}
	return false
}

// Miss is Request for an object that the cache knows not to be resident, in a pool without members. It reports whether
// the object is resident now: not if it is too large, or the policy bypasses it.
func (p *Pool) Miss(r policies.Request) bool {
	p.pos, p.time = r.Pos, r.Time
	if p.ghosts != nil {
		p.recall(r)
	}
	if r.Size > p.capacity {
		if r.Reason == policies.Demand {
			p.oversized++
		}
		return false
	}
	p.policy.Miss(r)
	if p.admitter != nil && !p.admitter.Admit(r) {
		return false
	}
	for room := p.capacity - r.Size; p.used > room; {
		v := p.policy.Victim(r)
		// The policy bypasses the object. What it has evicted for it so far stays evicted.
		if v == r.Object {
			return false
		}
		p.leave(v, Departure(r.Reason))
	}
	p.policy.Insert(r)
	switch {
	case p.stored != nil:
		p.stored[r.Object] = r.Size
	case r.Size == 1:
		p.here[r.Object] = true
	default:
		p.weigh()
		p.stored[r.Object] = r.Size
	}
	p.used += r.Size
	p.loaded++
	if p.loads != nil {
		p.loads.Loaded(p.name(r.Object), r.Size, r.Reason)
	}
	return true
}

// RequestAll is Request for many objects, each charged 1, in a pool without members. r is the first request without its
// object; the others follow it, at the same time.
func (p *Pool) RequestAll(objects []policies.Object, r policies.Request) {
	if policy, ok := p.policy.(policies.UnitServer); ok && p.plain() && len(objects) > 0 {
		p.serveUnit(policy, objects)
		p.pos, p.time = r.Pos+len(objects)-1, r.Time
		return
	}
	for _, o := range objects {
		r.Object, r.Query, r.Size = o, o, 1
		p.Request(r)
		r.Pos++
	}
}

// plain reports whether the pool has nothing that the batch path does not know.
func (p *Pool) plain() bool {
	_, changes := p.observer.(ChangeObserver)
	return p.stored == nil && p.ghosts == nil && p.expirer == nil && p.capacity > 0 && (changes || p.observer == nil)
}

// serveUnit serves requests by the batch path of the policy. What changes is loaded or evicted.
func (p *Pool) serveUnit(policy policies.UnitServer, objects []policies.Object) {
	room := p.capacity - p.used
	left, changed := policy.ServeUnit(objects, p.here, room, p.changed[:0])
	// len(changed) is loads plus evictions, and room - left is loads minus evictions.
	p.used += room - left
	p.loaded += (int64(len(changed)) + room - left) / 2
	p.evictions += (int64(len(changed)) - room + left) / 2
	p.changed = changed
	if p.observer != nil {
		p.observer.(ChangeObserver).Changed(changed)
	}
}

// recall forgets a ghost that is requested or loaded. It must not be inlined, to keep it out of the path of a pool
// without ghosts.
//
//go:noinline
func (p *Pool) recall(r policies.Request) {
	if p.ghosts.Take(p.rank, p.name(r.Object)) && r.Reason == policies.Demand {
		p.ghostHits++
	}
}

// Resize changes the capacity, and evicts as many objects as no longer fit. A pool of capacity 0 is empty.
func (p *Pool) Resize(capacity int64) {
	if capacity < 0 {
		panic(fmt.Sprintf("a pool of capacity %d", capacity))
	}
	if capacity == p.capacity {
		return
	}
	p.capacity = capacity
	if p.resizer != nil {
		p.resizer.Resize(max(capacity, 1))
	}
	p.MakeRoom(0)
}

// MakeRoom evicts until so much would fit in addition. The room is not reserved: the next load may take it.
func (p *Pool) MakeRoom(size int64) { p.makeRoom(size, Shrunk) }

func (p *Pool) makeRoom(size int64, why Departure) {
	for p.used > p.capacity-size {
		p.leave(p.policy.Victim(policies.Request{
			Object: policies.NoObject, Query: policies.NoObject, Pos: p.pos, Time: p.time, Reason: policies.Shrink,
		}), why)
	}
}

// Drop removes an object, and notifies the policy. It reports whether the object was resident.
func (p *Pool) Drop(o policies.Object) bool {
	o, ok := p.find(o)
	if !ok || !p.Has(o) {
		return false
	}
	p.policy.Remove(o)
	p.leave(o, Dropped)
	return true
}

// Forget is Drop for a resident object that the cache has already removed from the policy, in a pool without members.
// The observer is not notified, since the cache knows.
func (p *Pool) Forget(o policies.Object) { p.discharge(o) }

// Expire removes what has expired by a time. Request and Load call it first, Hit and Miss do not; a cache must call it
// if it looks at residency before them.
func (p *Pool) Expire(now int64) {
	if p.expirer != nil {
		p.expire(now)
	}
}

func (p *Pool) expire(now int64) {
	for {
		o, ok := p.expirer.Expired(now)
		if !ok {
			return
		}
		p.leave(o, Expired)
	}
}

// leave removes an object that the policy has forgotten, and notifies those who want to know.
func (p *Pool) leave(o policies.Object, why Departure) {
	size := p.discharge(o)
	// What expired or was dropped would not have hit with more capacity either.
	if p.ghosts != nil && why <= Shrunk {
		p.ghosts.Add(p.rank, p.name(o))
	}
	if p.observer != nil {
		p.observer.Left(p.name(o), size, why)
	}
}

// discharge removes an object from the accounts, and returns its charge. It panics if the object is not resident.
func (p *Pool) discharge(o policies.Object) (size int64) {
	if int(o) < len(p.stored) {
		size, p.stored[o] = p.stored[o], 0
	} else if int(o) < len(p.here) && p.here[o] {
		size, p.here[o] = 1, false
	}
	if size == 0 {
		p.accuse(o)
	}
	p.used -= size
	p.evictions++
	return size
}

// accuse panics because of a broken policy. It must not be inlined, to keep it out of the eviction path.
//
//go:noinline
func (p *Pool) accuse(o policies.Object) {
	panic(fmt.Sprintf("policy %T evicts object %d, which is not resident", p.policy, o))
}

// weigh starts to store the charged size of each object. Until then that was 1. It must not be inlined: it is called
// once.
//
//go:noinline
func (p *Pool) weigh() {
	p.stored = make([]int64, len(p.here))
	for o, here := range p.here {
		if here {
			p.stored[o] = 1
		}
	}
	p.here = nil
}
