package igtcache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// system is the cache without its prefetcher: a tree that recognises streams of accesses, and a unit for each of them.
// An object is resident in one unit at most. Capacity without a unit is free, and full units take what they need of it.
//
// Memory in addition to the tree and the units: 8 bytes per object, and 12 for objects that were evicted. It implements
// cache.Warming and cache.Reporting.
type system struct {
	config  cache.Config
	options options
	inside  func(policies.Config) (policies.Policy, error) // makes the policy inside; nil for LRU
	tree    *streams.Tree
	layout  *streams.Layout
	numbers *prefetch.Numbers     // nil if only objects of the trace are loaded
	restart func(*streams.Stream) // shows the prefetcher that a stream has been dropped; may be nil

	units    []*unit // by number, nil for the vacant ones; 0 is for objects without a stream
	vacant   []int32 // numbers without a unit
	objects  []place
	ghosts   *cache.Ghosts
	members  *cache.Partition
	done     readBlocks // of sequential streams
	fresh    []bool     // per object: it was loaded ahead and has not been requested since; nil without weigh
	free     int64      // capacity that no unit has
	observer cache.Observer
	guard    *cache.Guard
	owner    *streams.Stream // of the last request; nil for none
	made     uint64          // units so far
	moving   bool            // objects move from one unit to another: they stay in the cache

	rounds
	attention
	expiry
	counts
}

// place is where an object is, or was last.
type place struct {
	unit int32
	pos  uint32 // of its last request or load
}

func newSystem(c cache.Config, o options, objects int) (*system, error) {
	guard, err := cache.NewGuard(c)
	if err != nil {
		return nil, err
	}
	tree := prefetch.NewTree(c.Layout, o.values)
	s := &system{
		config: c, options: o, guard: guard, layout: tree.Layout(), tree: tree, objects: make([]place, objects),
		members: cache.NewPartition(objects), done: newReadBlocks(objects, c.Unit), free: c.Capacity,
		counts: counts{closedUnits: gone{}},
	}
	if o.weigh {
		s.fresh = make([]bool, objects)
	}
	if !c.Policy.Entry.OnePass { // the order that each share has anyway
		s.inside = func(config policies.Config) (policies.Policy, error) { return newInside(c.Policy, config) }
	}
	if err := s.prepareRounds(); err != nil {
		return nil, err
	}
	s.ghosts = cache.NewGhosts(objects, s.ghostsPerUnit())
	s.tree.Opened, s.tree.Changed, s.tree.Closed, s.tree.Pinned = s.opened, s.changed, s.closed, s.pinned
	_, err = s.newUnit(nil)
	return s, err
}

func newInside(spec policies.Spec, c policies.Config) (policies.Policy, error) {
	p, err := spec.Entry.New(c)
	if err != nil {
		return nil, err
	}
	if _, ok := p.(policies.Grower); !ok {
		return nil, fmt.Errorf("policy %s cannot serve a share whose objects are not known in advance", spec.Name())
	}
	return p, nil
}

func (s *system) SetNumbers(n *prefetch.Numbers) { s.numbers = n }
func (s *system) Observe(o cache.Observer)       { s.observer = o }
func (s *system) Capacity() int64                { return s.config.Capacity }

func (s *system) address(o policies.Object) uint64 {
	if s.numbers == nil {
		return s.config.Addresses.Key(o)
	}
	return s.numbers.Key(o)
}

func (s *system) find(address uint64) (o policies.Object, ok bool) {
	if s.numbers == nil {
		return s.config.Addresses.Find(address)
	}
	return s.numbers.Known(address)
}

// unitOf returns the unit of a stream; nil stands for the objects without one.
func (s *system) unitOf(of *streams.Stream) *unit {
	if of == nil || s.options.shared {
		return s.units[0]
	}
	return s.units[of.Tag]
}

// holder returns the unit in which an object is resident, nil if it is in none.
func (s *system) holder(o policies.Object) *unit {
	if u := s.units[s.objects[o].unit]; u != nil && u.pool.Resident(o) {
		return u
	}
	return nil
}

func (s *system) Resident(o policies.Object) bool { return s.holder(o) != nil }

func (s *system) Request(r policies.Request) (hit bool) {
	u := s.record(r)
	if hit = s.hit(u, r); !hit {
		s.load(u, r)
	}
	s.dropRead(u, r)
	return hit
}

// Look serves a request that loads nothing where it misses. A miss counts for the stream of its object, but is no part
// of the pattern of its reads.
func (s *system) Look(r policies.Request) (hit bool) {
	s.advance(r)
	if holder := s.holder(r.Object); holder != nil {
		holder.pool.Expire(r.Time)
		if holder.pool.Resident(r.Object) {
			return s.Ask(r, r.Pos)
		}
	}
	s.count(s.ownerOf(r.Object), false)
	return false
}

func (s *system) Holds(o policies.Object) bool { return s.Resident(o) }

func (s *system) Drop(o policies.Object) bool {
	holder := s.holder(o)
	return holder != nil && holder.pool.Drop(o)
}

// record shows a request to the tree and to the clocks, and returns the unit of its stream. What is due comes first, so
// that a stream expires before it is read again.
func (s *system) record(r policies.Request) *unit {
	s.guard.See(r)
	s.advance(r)
	s.owner = s.tree.Access(s.address(r.Object), s.now(r))
	u := s.unitOf(s.owner)
	if u.expired {
		s.revive(u)
	} else if u.resting {
		u.resting = false
		s.grant(u)
	}
	if s.options.floor || s.options.lends || s.options.fit {
		s.watch(u, r.Size, s.address(r.Object))
	}
	s.seen++
	return u
}

// now returns the time on the clock of the streams; in a trace without a clock, a request takes a second.
func (s *system) now(r policies.Request) int64 {
	if s.clock {
		return r.Time
	}
	return int64(r.Pos) * second
}

// hit serves a request if its object is resident; u is the unit of its stream.
func (s *system) hit(u *unit, r policies.Request) bool {
	holder := s.holder(r.Object)
	if holder != nil && holder.policy.expirer != nil { // the policy may let the requested object expire
		holder.pool.Expire(r.Time)
		holder = s.holder(r.Object)
	}
	s.objects[r.Object].pos = uint32(r.Pos)
	s.done.remove(r.Object)
	s.count(u, holder != nil)
	if s.options.weigh {
		s.weigh(u, r.Object, holder != nil)
	}
	if holder == nil {
		return false
	}
	if r.Write {
		s.makeRoomFor(holder, r.Size-holder.pool.Charge(r.Object))
	}
	holder.pool.Request(r)
	return true
}

// makeRoomFor gives a unit more capacity if an addition does not fit.
func (s *system) makeRoomFor(u *unit, size int64) {
	if need := u.pool.Used() + size - u.pool.Capacity(); need > 0 {
		s.makeRoom(u, need)
	}
	if u.policy.resizer != nil {
		u.policy.Resize(u.pool.Capacity()) // what is free may have changed
	}
}

// Load loads an object without a request. It is charged to its stream, that of the proposal or one below.
func (s *system) Load(r policies.Request) (loaded bool) {
	if holder := s.holder(r.Object); holder != nil {
		return holder.pool.Load(r) // nothing; its policy may follow proposals
	}
	return s.load(s.ownerOf(r.Object), r)
}

func (s *system) ownerOf(o policies.Object) *unit {
	return s.unitOf(s.tree.Owner(s.address(o)))
}

// Ask serves a request without loading. A reader that misses goes on with Arrive or Waited.
func (s *system) Ask(r policies.Request, _ int) (hit bool) {
	u := s.record(r)
	if hit = s.hit(u, r); hit {
		s.dropRead(u, r)
	}
	return hit
}

func (s *system) Arrive(r policies.Request) (resident bool) {
	s.pos, s.time = r.Pos, r.Time
	u := s.ownerOf(r.Object)
	loaded := s.Resident(r.Object) || s.load(u, r)
	if r.Reason == policies.Demand {
		s.dropRead(u, r)
	}
	return loaded && s.Resident(r.Object)
}

func (s *system) Waited(r policies.Request) {
	u := s.ownerOf(r.Object)
	if holder := s.holder(r.Object); holder != nil {
		holder.pool.Request(r)
	} else { // it was not admitted, or has been evicted since
		s.load(u, r)
	}
	s.dropRead(u, r)
}

// load loads an object that is not resident into a unit, if it fits there and the unit's rule admits it.
func (s *system) load(u *unit, r policies.Request) (loaded bool) {
	if r.Size > s.config.Capacity && r.Reason == policies.Demand {
		s.oversized++
		return false
	}
	if !s.guard.Admits(r) {
		return false
	}
	s.makeRoomFor(u, r.Size)
	if r.Size > u.pool.Capacity() {
		return false
	}
	s.objects[r.Object] = place{u.number, uint32(r.Pos)}
	loaded = u.pool.Load(r)
	if s.options.weigh {
		s.fresh[r.Object] = loaded && r.Reason == policies.Prefetch
	}
	return loaded
}

// dropRead drops the block that a reader of a sequential stream has gone on from.
func (s *system) dropRead(u *unit, r policies.Request) {
	if !u.policy.eager() {
		return
	}
	at := s.positionIn(u.stream, s.address(r.Object))
	left, has, others := u.readers.read(r.Object, at, perReader*max(fewestReaders, u.stream.Readers))
	dropped := false
	if has && !(others && s.options.trailing) {
		// The block may have moved to the share of another stream, which drops what was read only if it is sequential too.
		if holder := s.holder(left); holder != nil && holder.policy.eager() {
			if dropped = true; s.options.eager {
				holder.pool.Drop(left)
			} else {
				s.done.add(left, holder.pool.Charge(left))
			}
		}
	}
	u.resting = !s.options.keepsIdle && at.last && at.child == s.layout.Entries(u.stream.Place)-1 && !u.readers.goOn(at)
	if dropped || u.resting {
		s.shed(u)
	}
}

// makeRoom gives a unit more capacity: free capacity, then that of blocks that their readers have left. A sequential
// stream has a right to its least share.
func (s *system) makeRoom(u *unit, need int64) {
	need = s.reclaim(u, need)
	if s.options.lends {
		s.borrow(u, need)
	}
	if need > s.free && s.entitled(u) {
		s.grant(u)
		return
	}
	if more := min(need, s.free); more > 0 {
		s.free -= more
		u.pool.Resize(u.pool.Capacity() + more)
	}
}

// reclaim drops blocks which their readers have gone on from, until as much is free as a unit needs. It returns what
// the unit still needs: less if some of the blocks were its own.
func (s *system) reclaim(u *unit, need int64) int64 {
	for need > s.free {
		o, ok := s.done.oldest()
		if !ok {
			break
		}
		holder := s.holder(o)
		used := holder.pool.Used()
		holder.pool.Drop(o)
		freed := used - holder.pool.Used()
		if holder == u {
			need -= freed
			continue
		}
		holder.pool.Resize(holder.pool.Capacity() - freed)
		s.free += freed
	}
	return need
}

// shed frees the part of a sequential unit's quota that it does not use, except for the least share: such a stream
// reads nothing again. One that rests keeps only what it uses.
func (s *system) shed(u *unit) {
	least := s.leastOf(u)
	if u.resting {
		least = 0
	}
	if more := u.pool.Capacity() - max(u.pool.Used(), least); more > 0 {
		u.pool.Resize(u.pool.Capacity() - more)
		s.free += more
	}
}

func (s *system) positionIn(of *streams.Stream, address uint64) position {
	file, block := s.layout.Find(address)
	p := position{file: file, block: block, last: int64(block)+1 == s.layout.Blocks(file)}
	if file == of.Place {
		p.child = int64(block)
		return p
	}
	entry := file
	for parent := s.layout.Parent(entry); parent != of.Place; parent = s.layout.Parent(entry) {
		entry = parent
	}
	p.child = int64(of.Position(uint64(s.layout.Index(entry))))
	return p
}

func (s *system) Left(o policies.Object, size int64, why cache.Departure) {
	s.done.remove(o)
	if s.moving {
		return
	}
	s.evictions++
	if s.observer != nil {
		s.observer.Left(o, size, why)
	}
}

func (s *system) Loaded(o policies.Object, size int64, why policies.Reason) {
	if loads, ok := s.observer.(cache.LoadObserver); ok && !s.moving {
		loads.Loaded(o, size, why)
	}
}

func (s *system) Evictions() int64 { return s.evictions }
func (s *system) Oversized() int64 { return s.oversized }

func (s *system) Used() (used int64) {
	for _, u := range s.units {
		if u != nil {
			used += u.pool.Used()
		}
	}
	return used
}
