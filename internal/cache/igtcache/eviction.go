package igtcache

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// eviction is the policy of a unit's pool. It follows the pattern of the stream, which may change while objects are
// resident: none is evicted because of that, and the new rule applies to all of them.
//
//   - sequential: the object that was loaded or requested longest ago. The cache itself removes what has been read.
//   - random: none for a request or a prefetch, since the cache bypasses what does not fit; a random one if the pool
//     shrinks.
//   - otherwise: lru, or any other policy.
//
// Memory: 8 bytes per object that the unit has met; 8 more while the stream is random; and what the policy of skewed
// streams needs, unless it is lru.
type eviction struct {
	order   dense.Lists // of resident objects, the most recent in front
	pattern streams.Pattern
	objects int
	pos     int

	makeOther func(c policies.Config) (policies.Policy, error) // the policy of skewed streams; nil for lru
	always    bool                                             // it evicts in all streams, not only in skewed ones
	config    policies.Config
	other     policies.Policy // made by makeOther; nil unless the pattern uses it
	resizer   policies.Resizer
	admitter  policies.Admitter
	expirer   policies.Expirer
	charge    func(o policies.Object) int64 // of a resident object
	spare     func() int64                  // what the pool can take in addition to its capacity
	room      int64                         // the capacity that other was told last

	slots dense.Slots[struct{}] // of the resident objects of a random stream
	draws random.Draws
}

// newEviction returns the policy of an empty unit. Objects are numbered by the unit's pool.
func newEviction(c policies.Config, makeOther func(policies.Config) (policies.Policy, error),
	always bool, spare func() int64) (*eviction, error) {
	e := &eviction{spare: spare, order: dense.NewLists(c.Objects, 1), objects: c.Objects, config: c, makeOther: makeOther,
		always: always, draws: random.NewDraws(c.Seed)}
	return e, e.follow(streams.Unknown)
}

// random reports whether the rule of random streams applies.
func (e *eviction) random() bool { return e.pattern == streams.Random && !e.always }

// eager reports whether the rule of sequential streams applies.
func (e *eviction) eager() bool { return e.pattern == streams.Sequential && !e.always }

func (e *eviction) follow(p streams.Pattern) error {
	e.pattern = p
	if e.random() {
		e.slots = dense.NewSlots[struct{}](e.objects)
		e.each(func(o policies.Object) { e.slots.Add(o, struct{}{}) })
	} else {
		e.slots = dense.Slots[struct{}]{}
	}
	if e.makeOther == nil {
		return nil
	}
	if e.random() || e.eager() {
		e.use(nil)
		return nil
	}
	if e.other != nil {
		return nil
	}
	// A new policy, since an earlier one would not know what was loaded under another pattern.
	c := e.config
	e.room = max(1, c.Capacity+e.spare())
	c.Objects, c.Capacity = e.objects, e.room
	other, err := e.makeOther(c)
	if err != nil {
		return err
	}
	e.use(other)
	e.each(func(o policies.Object) { // as if they were loaded now, the most recent one last
		r := policies.Request{Object: o, Query: o, Pos: e.pos, Size: e.charge(o), Reason: policies.Restore}
		other.Miss(r)
		other.Insert(r)
	})
	return nil
}

// use sets the policy that chooses, nil for none.
func (e *eviction) use(p policies.Policy) {
	e.other = p
	e.resizer, _ = p.(policies.Resizer)
	e.admitter, _ = p.(policies.Admitter)
	e.expirer, _ = p.(policies.Expirer)
}

// each calls f for all resident objects, the least recent first.
func (e *eviction) each(f func(o policies.Object)) {
	for o, ok := e.order.Back(0); ok; o, ok = e.order.Before(o) {
		f(o)
	}
}

func (e *eviction) Hit(r policies.Request) {
	e.pos = r.Pos
	e.order.MoveToFront(0, r.Object)
	if e.other != nil {
		e.other.Hit(r)
	}
}

func (e *eviction) Miss(r policies.Request) {
	e.pos = r.Pos
	if e.other != nil {
		e.other.Miss(r)
	}
}

func (e *eviction) Admit(r policies.Request) bool { return e.admitter == nil || e.admitter.Admit(r) }

func (e *eviction) Expired(now int64) (o policies.Object, ok bool) {
	if e.expirer == nil {
		return 0, false
	}
	if o, ok = e.expirer.Expired(now); ok {
		e.order.Unlink(o)
	}
	return o, ok
}

func (e *eviction) Victim(r policies.Request) policies.Object {
	v := policies.NoObject
	switch {
	case e.other != nil:
		// The requested object is not resident: it is refused, and nothing is evicted. A pool that shrinks requests none.
		if v = e.other.Victim(r); v == r.Object && v != policies.NoObject {
			return v
		}
	case e.random():
		slots := e.slots.Dense()
		v = e.slots.Objects[e.draws.Below(uint64(len(slots)))]
		e.slots.Remove(v)
	}
	if v == policies.NoObject { // lru, or a policy that loads nothing and forgets what was loaded under another rule
		v, _ = e.order.Back(0)
	}
	e.order.Unlink(v)
	return v
}

func (e *eviction) Insert(r policies.Request) {
	e.order.PushFront(0, r.Object)
	if e.random() {
		e.slots.Add(r.Object, struct{}{})
	}
	if e.other != nil {
		e.other.Insert(r)
	}
}

func (e *eviction) Remove(o policies.Object) {
	e.order.Unlink(o)
	if e.random() {
		e.slots.Remove(o)
	}
	if e.other != nil {
		e.other.Remove(o)
	}
}

// Resize tells the policy of skewed streams the capacity with all that is spare. While some is, the pool grows instead
// of evicting, and a policy that refuses objects larger than a part of its capacity would not let it.
func (e *eviction) Resize(capacity int64) {
	e.config.Capacity = capacity
	if e.resizer == nil {
		return
	}
	if room := max(1, capacity+e.spare()); room != e.room {
		e.room = room
		e.resizer.Resize(room)
	}
}

func (e *eviction) Grow(objects int) {
	e.objects = objects
	e.order.Grow(objects)
	if e.random() {
		e.slots.Grow(objects)
	}
	if e.other != nil {
		e.other.(policies.Grower).Grow(objects)
	}
}

func (e *eviction) Counters() []policies.Counter {
	if reporter, ok := e.other.(policies.Reporter); ok {
		return reporter.Counters()
	}
	return nil
}
