package igtcache

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
)

// second is a second on the clock of the streams.
const second = 1e9

// Rounds of allocators that have none of their own.
const (
	roundLength   = 60 * second
	roundRequests = 10_000
)

// leastShare is the least share of a unit where the allocator has none: about the paper's 640 MB of 150 GB.
const leastShare = 0.005

// rounds are the divisions of the capacity by the allocator.
type rounds struct {
	allocator allocate.Allocator // nil: units keep what they have
	once      bool               // it divides by the number of pools alone
	clock     bool               // requests have times
	period    int64              // nanoseconds between two rounds; 0 without a clock
	every     int64              // requests between two rounds; 0 with a clock
	state     allocate.State
	order     []*unit // in the order of State.Pools

	seen    int64 // requests so far
	next    int64 // the next round is before the request with this number, or at this time
	since   int64 // time of the previous round, or of the first request
	started bool
	dirty   bool // units have come or gone since their data was measured
	undone  bool // and since the last division
	guessed bool // the data of some is an estimate
	pos     int  // of the last request
	time    int64

	leastFor   int // units for which leastShare was computed
	leastShare int64
	quotaMoved int64
	divisions  int64
}

// prepareRounds makes the allocator, whose rounds are counted in time, or in requests where these have no times.
func (s *system) prepareRounds() error {
	s.clock = s.config.Trace.Times != nil || s.config.Asynchronous
	s.state = allocate.State{Capacity: s.config.Capacity, Unit: s.config.Unit, Epoch: 1}
	s.period, s.every = roundLength, roundRequests
	if spec := s.options.allocator; spec != nil {
		a, err := allocate.New(*spec, []string{"streams"})
		if err != nil {
			return err
		}
		needs := a.Needs()
		s.allocator, s.once = a, needs.Period == 0 && needs.Every == 0
		if needs.Period > 0 {
			s.period, s.every = needs.Period, needs.Unclocked
		}
	}
	if s.clock {
		s.every = 0
	} else {
		s.period, s.next = 0, s.every
	}
	return nil
}

func (s *system) ghostsPerUnit() int {
	if s.allocator == nil {
		return 0
	}
	return s.allocator.Needs().Ghosts
}

// advance does what is due before a request: streams expire, and then the allocator divides, including their share.
func (s *system) advance(r policies.Request) {
	s.pos, s.time = r.Pos, r.Time
	if s.clock && !s.started {
		s.started, s.begins, s.since, s.next = true, r.Time, r.Time, r.Time+s.period
	}
	s.expire(s.now(r))
	if s.clock && r.Time >= s.next || !s.clock && s.seen >= s.next {
		s.divide(r.Time)
		s.next = r.Time + s.period
		if !s.clock {
			s.next = s.seen + s.every
		}
	} else if s.undone && s.once { // its division depends on the number of units alone
		s.divide(r.Time)
	}
}

// inOrder returns the units in the order in which their streams were opened. Numbers do not have that order, because
// they are used again. The slice is valid until the next call.
func (s *system) inOrder() []*unit {
	s.order = s.order[:0]
	for _, u := range s.units {
		if u != nil {
			s.order = append(s.order, u)
		}
	}
	slices.SortFunc(s.order, func(a, b *unit) int { return cmp.Compare(a.id(), b.id()) })
	return s.order
}

// id identifies a unit to the allocator as long as the cache exists, unlike its number.
func (u *unit) id() int {
	if u.stream == nil {
		return 0
	}
	return u.stream.ID + 1
}

func (s *system) divide(now int64) {
	s.undone = false
	if s.allocator == nil {
		return
	}
	s.measure()
	s.describe(now)
	capacities := make([]int64, len(s.order))
	for i := range s.order {
		capacities[i] = s.state.Pools[i].Capacity
	}
	s.allocator.Allocate(&s.state, capacities)
	if valuing, ok := s.allocator.(allocate.Valuing); ok {
		for i, u := range s.order {
			u.benefit = valuing.Worth(i)
		}
	}
	s.apply(capacities)
	s.divisions++
	s.state.Epoch++
	s.since = now
}

// describe shows the units to the allocator, and begins the next round.
func (s *system) describe(now int64) {
	s.state.Requests, s.state.Time, s.state.Elapsed = s.seen, now, 0
	if s.clock {
		s.state.Elapsed = now - s.since
	}
	s.state.Pools = s.state.Pools[:0]
	s.order = slices.DeleteFunc(s.inOrder(), func(u *unit) bool {
		return u.expired && u.pool.Capacity() == 0 // it has a quota again if something was prefetched for it
	})
	for _, u := range s.order {
		p := allocate.Pool{ID: u.id(), Capacity: u.pool.Capacity(), Used: u.pool.Used(), Requests: u.round.requests,
			Hits: u.round.hits, Objects: int64(u.pool.Len()), Data: u.data, GhostHits: u.pool.GhostHits() - u.ghostHits}
		u.use.floor = s.floor(u)
		p.Floor = u.use.floor
		if u.stream != nil {
			p.Pattern = u.stream.Pattern
		}
		s.state.Pools = append(s.state.Pools, p)
		u.round, u.ghostHits = tally{}, u.pool.GhostHits()
	}
}

// apply resizes the pools. A stream whose quota has changed is classified again (section 4).
func (s *system) apply(capacities []int64) {
	units := slices.Clone(s.order)
	left := s.state.Capacity
	for _, c := range capacities {
		if left -= c; c < 0 || left < 0 {
			panic(fmt.Sprintf("allocator %T divides %d into %v", s.allocator, s.state.Capacity, capacities))
		}
	}
	var pools []*cache.Pool
	for _, u := range units {
		pools = append(pools, u.pool)
	}
	s.quotaMoved += cache.ResizeAll(pools, capacities)
	s.free = left
	for i, u := range units {
		if u.stream != nil && capacities[i] != s.state.Pools[i].Capacity {
			u.stream.Reclassify()
		}
	}
}

// least returns the least share of a unit, which depends on how many there are.
func (s *system) least() int64 {
	if units := len(s.units) - len(s.vacant); units != s.leastFor {
		s.leastFor, s.leastShare = units, s.computeLeast()
	}
	return s.leastShare
}

func (s *system) computeLeast() int64 {
	if keeper, ok := s.allocator.(allocate.Valuing); ok {
		// Between rounds, State has the units of the last one: Least needs no more than how many there are now.
		s.state.Pools = s.state.Pools[:0]
		for range len(s.units) - len(s.vacant) {
			s.state.Pools = append(s.state.Pools, allocate.Pool{})
		}
		return keeper.Least(&s.state)
	}
	// With many units, half of the capacity is kept for shares above the least one.
	return min(int64(leastShare*float64(s.config.Capacity)), s.config.Capacity/int64(2*(len(s.units)-len(s.vacant))))
}

// measure computes what data belongs to each unit: its directory or file without the streams below it.
func (s *system) measure() {
	if !s.dirty && !s.guessed {
		return
	}
	s.dirty, s.guessed = false, false
	whole := make([]int64, len(s.units))
	for _, u := range s.units {
		if u != nil && u.stream != nil {
			whole[u.number] = s.dataOf(u)
			u.data = whole[u.number]
		}
	}
	for _, u := range s.units {
		if u == nil || u.stream == nil {
			continue
		}
		if above := u.stream.Parent(); above != nil {
			s.units[above.Tag].data -= whole[u.number]
		}
	}
	for _, u := range s.units {
		if u != nil {
			u.data = max(u.data, 0) // an estimate may be less than what is below
		}
	}
}

// dataOf returns the charges of all that is in the place of a stream, or an estimate from its children.
func (s *system) dataOf(u *unit) int64 {
	place := u.stream.Place
	data := s.layout.Size(place)
	if s.config.Unit {
		data = s.layout.Blocks(place)
	}
	if data >= 0 {
		return data
	}
	s.guessed = true
	each := 1.0
	if n := u.pool.Len(); n > 0 {
		each = float64(u.pool.Used()) / float64(n)
	}
	return int64(u.stream.Items * each)
}
