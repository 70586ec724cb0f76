package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
)

// Pool is residency: a capacity that can change, what is resident and what it is charged, and a policy that says who
// leaves. Every cache is built on pools. What a hit is, the cache decides; a pool is asked for an object and has it or
// loads it.
//
// Memory: 1 byte per object that it can name, 9 where sizes count, beside that of the policy.
type Pool struct {
	policy   policies.Policy
	admitter policies.Admitter // nil where the policy admits everything
	expirer  policies.Expirer  // nil where nothing expires
	observer Observer          // nil where nobody is told
	members  *Members          // nil where objects go by their numbers in the trace
	onCall   bool              // what has expired leaves only when the cache asks for it
	plain    bool              // a request needs no preparation: it neither expires objects nor numbers its own

	capacity  int64
	used      int64
	residents int
	here      []bool  // per object: it is resident
	sizes     []int64 // per object: what it is charged while resident; nil as long as each is charged 1

	evictions int64
	oversized int64

	pos  int   // of the last request
	time int64 // of the last request
}

// Observer is told what happens in a pool, after the pool and its policy have noted it. Objects go by their numbers in
// the trace.
type Observer interface {
	// Hit reports a request to a resident object.
	Hit(r policies.Request)
	// Loaded reports that r's object has become resident; r.Reason says why.
	Loaded(r policies.Request)
	// Left reports that o is resident no longer.
	Left(o policies.Object, why Departure)
}

// Departure says why an object left a pool.
type Departure uint8

const (
	ForDemand   Departure = iota // to make room for what the trace asks for
	ForPrefetch                  // to make room for what is loaded before it is asked for
	ForRestore                   // to make room for what comes from another pool, or from an earlier state
	Shrunk                       // the pool has become smaller
	Expired                      // its time was over
	Dropped                      // the cache took it out
)

var departures = [...]string{"demand", "prefetch", "restore", "shrink", "expiry", "drop"}

func (d Departure) String() string { return departures[d] }

// NewPool returns an empty pool over the objects 0..objects-1, which go by these numbers.
func NewPool(p policies.Policy, capacity int64, objects int) *Pool {
	pool := &Pool{policy: p, capacity: capacity, here: make([]bool, objects)}
	pool.admitter, _ = p.(policies.Admitter)
	pool.expirer, _ = p.(policies.Expirer)
	pool.plain = pool.expirer == nil
	return pool
}

// ExpireOnCall has objects expire only where Expire is called, not before each request: for a cache that looks up a
// batch of requests before it serves the first of them. It is called before the first request.
func (p *Pool) ExpireOnCall() { p.onCall, p.plain = true, p.members == nil }

// Observe has the pool tell an observer what happens from now on; nil: nobody. There is one at a time.
func (p *Pool) Observe(o Observer) { p.observer = o }

// Capacity returns how much fits, in the unit of the sizes of requests.
func (p *Pool) Capacity() int64 { return p.capacity }

// Used returns how much of the capacity is taken. It is never more than the capacity.
func (p *Pool) Used() int64 { return p.used }

// Len returns the number of resident objects.
func (p *Pool) Len() int { return p.residents }

// Evictions returns how many objects have left so far, for whatever reason.
func (p *Pool) Evictions() int64 { return p.evictions }

// Oversized returns how many requests so far were to objects larger than the capacity: misses that pass by.
func (p *Pool) Oversized() int64 { return p.oversized }

// Counters implements Reporting: they are those of the policy.
func (p *Pool) Counters() []policies.Counter { return CountersOf(p.policy) }

// Resident reports whether o is in the pool.
func (p *Pool) Resident(o policies.Object) bool {
	if p.members != nil {
		return p.residentMember(o)
	}
	return p.here[o]
}

func (p *Pool) residentMember(o policies.Object) bool {
	n, ok := p.members.find(o)
	return ok && p.here[n]
}

// Request serves a request of the trace: a resident object hits, any other is loaded, unless it is larger than the
// capacity or the policy refuses it.
func (p *Pool) Request(r policies.Request) (hit bool) {
	p.pos, p.time = r.Pos, r.Time
	if !p.plain {
		r = p.prepare(r)
	}
	if !p.here[r.Object] {
		p.load(r)
		return false
	}
	p.policy.Hit(r)
	if p.observer != nil {
		p.observer.Hit(p.named(r))
	}
	return true
}

// Load makes an object resident without a request of the trace; r.Reason says why, and r.Pos and r.Time are those of
// the last request that was served. It reports whether it did: not if the object is resident already, is larger
// than the capacity, or is refused by the policy.
func (p *Pool) Load(r policies.Request) (loaded bool) {
	if !p.plain {
		r = p.prepare(r)
	}
	return !p.here[r.Object] && p.load(r)
}

// load makes r's object, which is not resident, resident unless it is too large or the policy refuses it.
func (p *Pool) load(r policies.Request) bool {
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
	for p.used+r.Size > p.capacity {
		v := p.policy.Victim(r)
		if v == r.Object {
			return false
		}
		p.leave(v, Departure(r.Reason))
	}
	p.policy.Insert(r)
	p.charge(r.Object, r.Size)
	if p.observer != nil {
		p.observer.Loaded(p.named(r))
	}
	return true
}

// Resize changes the capacity, and has as many objects leave as no longer fit. A pool of capacity 0 holds nothing.
func (p *Pool) Resize(capacity int64) {
	if capacity < 0 {
		panic(fmt.Sprintf("a pool of capacity %d", capacity))
	}
	if capacity == p.capacity {
		return
	}
	p.capacity = capacity
	if resizer, ok := p.policy.(policies.Resizer); ok {
		resizer.Resize(max(capacity, 1))
	}
	for p.used > p.capacity {
		p.leave(p.policy.Victim(policies.Request{
			Object: policies.NoObject, Query: policies.NoObject, Pos: p.pos, Time: p.time, Reason: policies.Shrink,
		}), Shrunk)
	}
}

// Drop takes an object out, and tells the policy. It reports whether the object was resident.
func (p *Pool) Drop(o policies.Object) bool {
	if p.members != nil {
		n, ok := p.members.find(o)
		if !ok {
			return false
		}
		o = n
	}
	if !p.here[o] {
		return false
	}
	p.policy.Remove(o)
	p.leave(o, Dropped)
	return true
}

// Expire takes out what has expired by a time. Request and Load do so first, unless ExpireOnCall says otherwise; a cache
// calls it where it looks at what is resident before that.
func (p *Pool) Expire(now int64) {
	if p.expirer == nil {
		return
	}
	for {
		o, ok := p.expirer.Expired(now)
		if !ok {
			return
		}
		p.leave(o, Expired)
	}
}

// prepare does what comes before a request or load, and returns it with the numbers that the policy knows.
func (p *Pool) prepare(r policies.Request) policies.Request {
	if !p.onCall {
		p.Expire(r.Time)
	}
	if p.members != nil {
		r.Object = p.number(r.Object)
		r.Query = r.Object
	}
	return r
}

// charge takes an object into the accounts.
func (p *Pool) charge(o policies.Object, size int64) {
	p.here[o] = true
	p.used += size
	p.residents++
	if p.sizes != nil {
		p.sizes[o] = size
	} else if size != 1 {
		p.weigh()
		p.sizes[o] = size
	}
}

// weigh begins to keep what each object is charged. Until now that was 1.
func (p *Pool) weigh() {
	p.sizes = make([]int64, len(p.here))
	for o := range p.sizes {
		p.sizes[o] = 1
	}
}

// leave takes an object that the policy has forgotten out of the accounts. A policy that names an object twice, or one
// that is not here, is broken.
func (p *Pool) leave(o policies.Object, why Departure) {
	if int64(o) >= int64(len(p.here)) || !p.here[o] {
		panic(fmt.Sprintf("policy %T evicts object %d, which is not resident", p.policy, o))
	}
	p.here[o] = false
	p.residents--
	p.evictions++
	if p.sizes != nil {
		p.used -= p.sizes[o]
	} else {
		p.used--
	}
	if p.observer != nil {
		p.observer.Left(p.name(o), why)
	}
}
