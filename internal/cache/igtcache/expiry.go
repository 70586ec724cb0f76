package igtcache

import (
	"math"

	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// expiry drops what a random stream has loaded when nothing of it has been read for long.
type expiry struct {
	due      int64 // nothing expires before that time
	expiries int64
	returned int64 // streams that were read again after they had expired
	begins   int64 // time of the first request
	first    int64 // time of the first expiry
}

// lifetime returns how long a random stream is kept after its last access, in nanoseconds. It is the fixed ttl, or base
// time plus the upper quantile of a Normal distribution fitted to the times between its transitions.
func (o *options) lifetime(s *streams.Stream) int64 {
	if o.ttl > 0 {
		return o.ttl
	}
	mean, deviation, _ := s.TemporalGaps()
	return Lifetime(o.base, mean, deviation, o.quantile)
}

// shortest is a lifetime that no stream falls below, if the base time is at least a second. With a shorter base time it
// is a second all the same, so that streams are not looked at before each request: they may expire up to a second late.
func (o *options) shortest() int64 {
	if o.ttl > 0 {
		return o.ttl
	}
	return max(o.base, second)
}

// Lifetime returns base + mean + quantile x deviation, rounded to the nanosecond: the adaptive time to live.
func Lifetime(base int64, mean, deviation, quantile float64) int64 {
	// The conversion rounds the product, which might be fused with the sum otherwise and differ between processors.
	ttl := float64(base) + mean + float64(quantile*deviation)
	if ttl >= math.MaxInt64/2 { // it is added to a time
		return math.MaxInt64 / 2
	}
	return int64(math.Round(ttl))
}

// quantile returns by how many standard deviations a normal value exceeds the mean with the given probability.
func quantile(probability float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*probability) }

// expires reports whether a stream is dropped when it has not been read for long: a random one if the trace has a
// clock, and any sequential one, because it keeps room for what comes next.
func (s *system) expires(of *streams.Stream) bool {
	return of.Pattern == streams.Random && s.clock || of.Pattern == streams.Sequential && !s.options.keepsIdle
}

// expire drops the streams that have not been read for longer than their lifetimes. A lifetime changes with every
// access, but is never below the shortest one, so that a stream need not be looked at again before that has passed.
func (s *system) expire(now int64) {
	if s.options.keeps || now < s.due {
		return
	}
	s.due = math.MaxInt64
	shortest := s.options.shortest()
	for _, u := range s.units {
		if u == nil || u.stream == nil || u.expired || !s.expires(u.stream) {
			continue
		}
		if now <= u.stream.Last+shortest {
			s.due = min(s.due, u.stream.Last+shortest+1)
			continue
		}
		if ends := u.stream.Last + s.options.lifetime(u.stream); now <= ends {
			s.due = min(s.due, ends+1, now+shortest+1)
			continue
		}
		s.drop(u)
	}
}

func (s *system) drop(u *unit) {
	var all []policies.Object // dropping one changes the order that each walks
	u.policy.each(func(number policies.Object) { all = append(all, u.members.Object(number)) })
	for _, o := range all {
		u.pool.Drop(o)
	}
	s.free += u.pool.Capacity()
	u.pool.Resize(0)
	u.expired, s.undone = true, true
	if s.expiries++; s.expiries == 1 {
		s.first = s.time
	}
	if s.restart != nil {
		s.restart(u.stream)
	}
}

// revive gives an expired stream that is read again the least share: it expired too early.
func (s *system) revive(u *unit) {
	u.expired, s.undone = false, true
	s.returned++
	s.due = 0
	s.grant(u)
}
