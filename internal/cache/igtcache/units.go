package igtcache

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// unit is the share of a stream, the CacheManageUnit of the paper: a pool with a quota and the eviction of its pattern.
type unit struct {
	number  int32 // among the units
	stream  *streams.Stream
	pool    *cache.Pool
	members *cache.Members
	policy  *eviction
	readers readers // of a sequential stream
	expired bool    // its objects have been dropped because nothing was read for long
	resting bool    // a sequential stream has been read to its end: it keeps no more than it uses
	data    int64   // charges of what belongs to the stream and not to one below it
	benefit float64 // at the end of the last round
	use     use
	odds    float64 // see weigh

	round     tally // since the allocator was last called
	total     tally // all that counts
	ghostHits int64 // until the allocator was last called
}

type tally struct{ requests, hits int64 }

// newUnit returns a new unit without a quota for a stream, or for the objects that belong to none.
func (s *system) newUnit(of *streams.Stream) (*unit, error) {
	u := &unit{number: int32(len(s.units)), stream: of, use: use{last: s.seen}}
	if n := len(s.vacant); n > 0 {
		u.number = s.vacant[n-1]
		s.vacant = s.vacant[:n-1]
	} else {
		s.units = append(s.units, nil)
	}
	// A policy wants a capacity of at least 1: the unit gets its quota, 0 to begin with, by being resized.
	config := s.config.PolicyConfig()
	config.Capacity, config.Objects = 1, len(s.objects)
	config.Seed = s.config.Seed ^ random.Scramble(s.made)
	s.made++
	spec := policies.Spec{Entry: policies.Entry{New: func(c policies.Config) (policies.Policy, error) {
		var err error
		u.policy, err = newEviction(c, s.inside, &s.options, s.spare)
		return u.policy, err
	}}}
	u.members = cache.NewMembers(s.members)
	pool, err := cache.NewMemberPool(spec, config, u.members)
	if err != nil {
		return nil, err
	}
	u.pool = pool
	u.policy.charge = func(o policies.Object) int64 { return u.pool.Charge(u.members.Object(o)) }
	u.policy.full = func(size int64) bool { return u.pool.Used()+size > u.pool.Capacity() }
	pool.Resize(0)
	pool.Observe(s)
	pool.Remember(s.ghosts, int(u.number))
	s.units[u.number] = u
	s.dirty, s.undone = true, true
	return u, nil
}

func (s *system) spare() int64 { return s.free }

// opened gives a stream that has been recognised a unit, its objects with their quota, and at least the least share.
func (s *system) opened(of *streams.Stream) {
	if s.options.shared {
		return
	}
	u, err := s.newUnit(of)
	if err != nil {
		panic(err) // impossible: the first unit, for the objects without a stream, was made in the same way
	}
	of.Tag = u.number
	s.follow(u)
	parent := s.unitOf(of.Parent())
	moved := s.belonging(parent, of)
	var charges int64
	for _, m := range moved {
		charges += m.charge
	}
	if used := parent.pool.Used(); used > 0 {
		// In proportion to what moves: rounded up, so that all of it fits.
		given := int64(float64(parent.pool.Capacity()) * (float64(charges) / float64(used)))
		s.move(parent, u, moved, min(max(given, charges), parent.pool.Capacity()))
	}
	s.grant(u)
}

type resident struct {
	object policies.Object
	charge int64
	pos    uint32
	done   bool // its reader has gone on
}

// belonging returns the objects of a unit that belong to a stream, the least recent first.
func (s *system) belonging(to *unit, of *streams.Stream) (all []resident) {
	add := func(o policies.Object) {
		if s.tree.Owner(s.address(o)) == of {
			all = append(all, resident{o, to.pool.Charge(o), s.objects[o].pos, s.done.has[o]})
		}
	}
	// Whichever is shorter is gone through: the objects of the unit, or the blocks of the stream if their number is known.
	if blocks := s.layout.Blocks(of.Place); blocks < 0 || blocks > int64(to.pool.Len()) {
		to.policy.each(func(number policies.Object) { add(to.members.Object(number)) })
	} else {
		walk := s.layout.Walk(of.Place)
		for address, ok := walk.Next(); ok; address, ok = walk.Next() {
			if o, known := s.find(address); known && s.objects[o].unit == to.number && to.pool.Resident(o) {
				add(o)
			}
		}
	}
	slices.SortFunc(all, func(a, b resident) int {
		return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.object, b.object))
	})
	return all
}

// move moves objects with a quota from one unit to another. They are out of the first one before it shrinks, which
// would evict some of them otherwise; what shrinking evicts leaves the cache, and is reported.
func (s *system) move(from, to *unit, all []resident, quota int64) {
	s.moving = true
	for _, m := range all {
		from.pool.Drop(m.object)
	}
	s.moving = false
	from.pool.Resize(from.pool.Capacity() - quota)
	to.pool.Resize(to.pool.Capacity() + quota)
	s.moving = true
	for _, m := range all {
		s.objects[m.object].unit = to.number
		to.pool.Load(policies.Request{Object: m.object, Query: m.object, Pos: s.pos, Size: m.charge, Time: s.time,
			Reason: policies.Restore})
		if m.done && to.policy.eager() && to.pool.Resident(m.object) {
			s.done.add(m.object, m.charge)
		}
	}
	s.moving = false
}

func (s *system) follow(u *unit) {
	if err := u.policy.follow(u.stream.Pattern); err != nil {
		panic(err)
	}
	u.readers, u.resting = readers{}, false
	s.due = 0 // it may expire now
}

func (s *system) changed(of *streams.Stream, _ streams.Pattern) {
	if !s.options.shared {
		u := s.units[of.Tag]
		u.policy.each(func(number policies.Object) { s.done.remove(u.members.Object(number)) })
		s.follow(u)
		s.patternChanges++
	}
}

// pinned reports whether the node of a stream must stay: its unit, which is closed with it, is not empty.
func (s *system) pinned(of *streams.Stream) bool {
	return !s.options.shared && s.units[of.Tag].pool.Used() > 0
}

// closed is called when the node of a stream is removed; its unit is empty.
func (s *system) closed(of *streams.Stream) {
	if s.options.shared {
		return
	}
	u := s.units[of.Tag]
	s.free += u.pool.Capacity()
	s.closedUnits.add(u)
	s.ghosts.Clear(int(u.number))
	s.units[u.number] = nil
	s.vacant = append(s.vacant, u.number)
	s.dirty, s.undone = true, true
}

// grant gives a unit what it keeps at least if it has less. It takes free capacity first, then that of the unit of
// objects without a stream, then from all others in proportion to what they have above the least share.
func (s *system) grant(u *unit) {
	u.use.floor = s.floor(u)
	missing := s.leastOf(u) - u.pool.Capacity()
	if missing <= 0 {
		return
	}
	if missing > s.free {
		s.reclaim(nil, missing)
	}
	if from := min(missing, s.free); from > 0 {
		s.free -= from
		missing -= from
		u.pool.Resize(u.pool.Capacity() + from)
	}
	if base := s.units[0]; base != u && missing > 0 {
		if from := min(missing, base.pool.Capacity()-s.leastOf(base)); from > 0 {
			s.transfer(base, u, from)
			missing -= from
		}
	}
	if missing <= 0 {
		return
	}
	var above int64
	for _, other := range s.units {
		if other != nil && other != u {
			above += max(0, other.pool.Capacity()-s.leastOf(other))
		}
	}
	if above == 0 {
		return
	}
	share := min(1, float64(missing)/float64(above))
	for _, other := range s.units {
		if other == nil || other == u {
			continue
		}
		if from := int64(share * float64(max(0, other.pool.Capacity()-s.leastOf(other)))); from > 0 {
			s.transfer(other, u, from)
		}
	}
}

func (s *system) transfer(from, to *unit, quota int64) {
	s.quotaMoved += quota
	from.pool.Resize(from.pool.Capacity() - quota)
	to.pool.Resize(to.pool.Capacity() + quota)
}
