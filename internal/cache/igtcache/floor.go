package igtcache

import (
	"math"

	"github.com/cachesim/cachesim/internal/cache/streams"
)

// What floor and idle=lend need to know of units, in requests.
const (
	followed  = 64  // readers of a unit that are known at a time; one that pauses for so many requests does not count
	idleAfter = 100 // a unit lends its room after so many times its usual gap
	smooth    = 16  // gaps over which that is averaged
)

// attention is what floor and idle=lend follow of all units.
type attention struct {
	asked   int64 // charges of all requests
	awake   int64 // no unit lends before that request
	lively  int64 // units that were read when they were last counted
	countAt int64 // the request before which they are counted again
}

// use is how a unit is read.
type use struct {
	last  int64   // its last request, among all
	gap   float64 // between its requests, on average, in requests of all
	idle  bool    // others have taken of its room since its last request
	floor int64   // what its readers need

	readers []follower // as many as followed; nil before the first request, and without floor
	tick    int64
}

// follower is a reader that may go on from block to block, forwards or backwards.
type follower struct {
	address uint64
	tick    int64 // of the last request; 0 for none
	goesOn  bool  // it has gone on from another block
}

// watch follows a request to a unit.
func (s *system) watch(u *unit, size int64, address uint64) {
	if u.use.idle {
		u.use.idle = false
		s.grant(u)
	}
	s.asked += size
	u.use.note(s.seen)
	if s.options.floor || s.options.fit {
		u.use.read(address)
	}
}

// note follows the gap between the requests of a unit. A long one counts little, so that a stream that was idle once
// does not seem slow.
func (x *use) note(now int64) {
	gap := float64(now - x.last)
	if x.gap > 0 {
		gap = min(gap, 4*x.gap)
	}
	x.gap += float64((gap - x.gap) / smooth)
	x.last = now
}

// read follows a request of a reader that is next to its block, or of a new one in the place of the one that stopped
// first.
func (x *use) read(address uint64) {
	if x.readers == nil {
		x.readers = make([]follower, followed)
	}
	x.tick++
	oldest := 0
	for i := range x.readers {
		r := &x.readers[i]
		if d := address - r.address; r.tick > 0 && d+1 <= 2 {
			*r = follower{address, x.tick, r.goesOn || d != 0}
			return
		}
		if r.tick < x.readers[oldest].tick {
			oldest = i
		}
	}
	x.readers[oldest] = follower{address, x.tick, false}
}

// goOn returns how many readers go on.
func (x *use) goOn() (n int64) {
	for i := range x.readers {
		if r := &x.readers[i]; r.goesOn && r.tick > x.tick-followed {
			n++
		}
	}
	return n
}

// following returns how many readers of a unit go on, or what the test of a sequential stream has found.
func (u *unit) following() int64 {
	readers := u.use.goOn()
	if u.stream != nil && u.stream.Pattern == streams.Sequential {
		readers = max(readers, int64(u.stream.Readers))
	}
	return readers
}

func (s *system) readersOf(of *streams.Stream) int64 { return s.unitOf(of).following() }

// floor returns what a unit needs for its readers: for each of them the block that it reads and those that are loaded
// ahead of it, and one more for any other request. It is at most an equal share among the units that are read, and half
// of the capacity. A unit that nobody reads needs nothing.
func (s *system) floor(u *unit) int64 {
	if !s.options.floor || u.expired || u.resting || u.use.idle {
		return 0
	}
	readers := u.following()
	charge := s.asked / max(1, s.seen)
	return min((readers*int64(s.options.ahead+1)+1)*charge, s.config.Capacity/max(2, s.live()))
}

// live returns how many units are read. They are counted now and then.
func (s *system) live() int64 {
	if s.seen >= s.countAt {
		s.countAt, s.lively = s.seen+followed, 0
		for _, u := range s.units {
			if u != nil && s.seen <= u.use.lendsFrom() {
				s.lively++
			}
		}
	}
	return s.lively
}

// lendsFrom returns the request from which on a unit lends its room if nobody reads it before.
func (x *use) lendsFrom() int64 { return x.last + int64(idleAfter*max(1, x.gap)) }

// leastOf returns what a unit keeps.
func (s *system) leastOf(u *unit) int64 { return max(s.least(), u.use.floor) }

// entitled reports whether a unit that needs room has a right to take it from others.
func (s *system) entitled(u *unit) bool {
	if s.options.floor {
		u.use.floor = s.floor(u)
		return u.pool.Capacity() < s.leastOf(u)
	}
	return u.policy.eager() && !s.options.eager && u.pool.Capacity() < s.least()
}

// borrow takes room from units that nobody has read for long, the longest first, until as much is free as another one
// needs. Sequential and random streams have a time to live.
func (s *system) borrow(u *unit, need int64) {
	for need > s.free && s.seen >= s.awake {
		from := s.lender(u)
		if from == nil {
			return
		}
		from.use.idle, from.use.floor = true, 0
		more := min(need-s.free, from.pool.Capacity())
		from.pool.Resize(from.pool.Capacity() - more)
		s.free += more
	}
}

// lender returns the unit that has been idle longest, nil if none is; there is none then for some time.
func (s *system) lender(but *unit) (from *unit) {
	next := int64(math.MaxInt64)
	for _, v := range s.units {
		if v == nil || v == but || v.pool.Capacity() == 0 || v.stream != nil && v.stream.Pattern != streams.Skewed {
			continue
		}
		if at := v.use.lendsFrom(); at > s.seen {
			next = min(next, at)
		} else if from == nil || v.use.last < from.use.last {
			from = v
		}
	}
	if from == nil {
		s.awake = min(next, s.seen+idleAfter) // a unit may become skewed, or get room, before
	}
	return from
}
