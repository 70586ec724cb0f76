package igtcache

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// eviction is the policy of a unit's pool. It follows the pattern of the stream. When the pattern changes, the
// residents stay, and the new rule applies to all of them.
//
//   - sequential: as otherwise, once the cache itself has removed what has been read; in the paper the object that was
//     loaded or requested longest ago.
//   - random: none for a request, since the cache bypasses what does not fit; a random one if the pool shrinks. A
//     prefetched object passes through a small part of a full pool: it takes the place of one that has passed.
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
	options   *options
	config    policies.Config
	other     policies.Policy // made by makeOther; nil unless the pattern uses it
	resizer   policies.Resizer
	follower  policies.SizeFollower
	admitter  policies.Admitter
	expirer   policies.Expirer
	proposed  policies.ProposalFollower
	charge    func(o policies.Object) int64 // of a resident object
	full      func(size int64) bool         // the pool has no room for an object of that size
	spare     func() int64                  // what the pool can take in addition to its capacity
	room      int64                         // the capacity that other was told last

	slots   dense.Slots[struct{}] // of the resident objects of a random stream that stay
	passing dense.Lists           // of those that pass: not yet read, and read, the most recent in front
	passed  [2]int                // how many of each there are
	where   []uint8               // per object: 1 + its list of passing, or what became of it; 0 for neither
	limit   int                   // how many may pass; it follows what is missed
	draws   random.Draws
	// displaces says that another object has made room for the prefetched one that is loaded now.
	displaces bool
}

// The lists of passing objects.
const (
	unread = iota
	read
)

// fewestPassing is how many objects may pass through a full pool at least.
const fewestPassing = 16

// Values of where for objects that left: one that passed, before it was read, or one that made room for such objects.
const (
	pushedOut = iota + 3
	displaced
)

// newEviction returns the policy of an empty unit. Objects are numbered by the unit's pool.
func newEviction(c policies.Config, makeOther func(policies.Config) (policies.Policy, error),
	o *options, spare func() int64) (*eviction, error) {
	e := &eviction{spare: spare, order: dense.NewLists(c.Objects, 1), objects: c.Objects, config: c, makeOther: makeOther,
		options: o, draws: random.NewDraws(c.Seed)}
	return e, e.follow(streams.Unknown)
}

func (e *eviction) random() bool { return e.pattern == streams.Random && !e.options.always }
func (e *eviction) eager() bool  { return e.pattern == streams.Sequential && !e.options.always }

func (e *eviction) follow(p streams.Pattern) error {
	e.pattern = p
	if e.random() {
		e.slots = dense.NewSlots[struct{}](e.objects)
		e.passing, e.where, e.passed = dense.NewLists(e.objects, 2), make([]uint8, e.objects), [2]int{}
		e.each(func(o policies.Object) { e.slots.Add(o, struct{}{}) })
	} else {
		e.slots, e.passing, e.where = dense.Slots[struct{}]{}, dense.Lists{}, nil
	}
	if e.makeOther == nil {
		return nil
	}
	if e.random() || e.eager() && e.options.eager {
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
	e.follower, _ = p.(policies.SizeFollower)
	e.admitter, _ = p.(policies.Admitter)
	e.expirer, _ = p.(policies.Expirer)
	e.proposed, _ = p.(policies.ProposalFollower)
}

// each calls f for all resident objects, the least recent first.
func (e *eviction) each(f func(o policies.Object)) {
	for o, ok := e.order.Back(0); ok; o, ok = e.order.Before(o) {
		f(o)
	}
}

// mostPassing returns how many objects may pass through a full pool.
func (e *eviction) mostPassing() int {
	all := len(e.slots.Dense()) + e.passed[unread] + e.passed[read]
	return min(max(fewestPassing, e.limit), int(e.options.passing*float64(all)))
}

// pass lets an object pass; move takes it to another list of those that do, and forget ends that.
func (e *eviction) pass(o policies.Object, list int) {
	e.passing.PushFront(list, o)
	e.where[o] = uint8(list) + 1
	e.passed[list]++
}

func (e *eviction) forget(o policies.Object) {
	e.passed[e.where[o]-1]--
	e.where[o] = 0
	e.passing.Unlink(o)
}

// randomVictim makes room in the pool of a random stream: for a prefetched object, one that has been read in passing,
// or the oldest of as many as may pass. Any other one, as when the pool shrinks, is drawn from those that stay.
func (e *eviction) randomVictim(r policies.Request) (v policies.Object) {
	e.displaces = r.Reason == policies.Prefetch
	slots := e.slots.Dense()
	passing := e.passed[unread] + e.passed[read]
	if passing > 0 && (len(slots) == 0 || r.Reason == policies.Prefetch &&
		(e.passed[read] > 0 || passing >= e.mostPassing())) {
		list := unread
		if e.passed[read] > 0 {
			list = read
		}
		v, _ = e.passing.Back(list)
		e.forget(v)
		if list == unread {
			e.where[v] = pushedOut
		}
		return v
	}
	v = e.slots.Objects[e.draws.Below(uint64(len(slots)))]
	e.slots.Remove(v)
	if r.Reason == policies.Prefetch {
		e.where[v] = displaced
	}
	return v
}

// learn lets more objects pass after a miss of one pushed out before it was read, and fewer if one had stayed before.
func (e *eviction) learn(o policies.Object) {
	switch e.where[o] {
	case pushedOut:
		e.limit = max(fewestPassing, e.limit) + 1
	case displaced:
		e.limit = max(fewestPassing, e.limit-1)
	}
	e.where[o] = 0
}

func (e *eviction) Hit(r policies.Request) {
	e.pos = r.Pos
	e.order.MoveToFront(0, r.Object)
	if e.random() && e.where[r.Object] == unread+1 {
		e.forget(r.Object)
		e.pass(r.Object, read)
	}
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

// Admit refuses what does not fit into the pool of a random stream, unless it passes through it.
func (e *eviction) Admit(r policies.Request) bool {
	if !e.random() {
		return e.admitter == nil || e.admitter.Admit(r)
	}
	if !e.full(r.Size) {
		return true
	}
	if r.Reason == policies.Demand {
		e.learn(r.Object)
	}
	return r.Reason == policies.Prefetch && e.options.passing > 0
}

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
		v = e.randomVictim(r)
	}
	if v == policies.NoObject { // lru, or a policy that loads nothing and forgets what was loaded under another rule
		v, _ = e.order.Back(0)
	}
	e.order.Unlink(v)
	return v
}

func (e *eviction) Insert(r policies.Request) {
	e.order.PushFront(0, r.Object)
	switch {
	case e.random() && e.displaces:
		e.displaces = false
		e.pass(r.Object, unread)
	case e.random():
		e.slots.Add(r.Object, struct{}{})
	}
	if e.other != nil {
		e.other.Insert(r)
	}
}

func (e *eviction) Remove(o policies.Object) {
	e.order.Unlink(o)
	switch {
	case e.random() && (e.where[o] == unread+1 || e.where[o] == read+1):
		e.forget(o)
	case e.random():
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

func (e *eviction) Resized(o policies.Object, size int64) {
	if e.follower != nil {
		e.follower.Resized(o, size)
	}
}

// Proposed implements policies.ProposalFollower.
func (e *eviction) Proposed(r policies.Request) {
	if e.proposed != nil {
		e.proposed.Proposed(r)
	}
}

func (e *eviction) Grow(objects int) {
	e.objects = objects
	e.order.Grow(objects)
	if e.random() {
		e.slots.Grow(objects)
		e.passing.Grow(objects)
		e.where = append(e.where, make([]uint8, objects-len(e.where))...)
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
