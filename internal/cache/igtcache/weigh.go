package igtcache

import (
	"math"

	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// The test of hits: whether they are more, or fewer, by this factor than in a random order, at these odds. A test that
// is repeated for ever errs about once in so many requests as the odds say.
const (
	factor = 1.5
	sure   = 1e5
)

// weigh compares the hits of a stream with what a random order can reach. With a share f of its data in the cache, a
// random order hits that with the probability f, whatever it is. What was loaded ahead says nothing, nor do further
// blocks of an entry that is read in a row.
//
// As long as the stream is random, the likelihood of 1.5 times as many hits is compared with that of f, beginning anew
// wherever it falls behind. Those that are found are skewed until they hit less than a random order would: then the
// policy inside is worse than the rule for random streams, and 1/1.5 as many hits are tested in the same way.
func (s *system) weigh(u *unit, o policies.Object, hit bool) {
	hit = hit && !s.fresh[o]
	s.fresh[o] = false
	of := u.stream
	if of == nil || of.Pattern != streams.Random && !of.Weighted || !s.moved(of) {
		return
	}
	if s.dirty {
		s.measure()
	}
	if u.data == 0 {
		return
	}
	by := factor
	if of.Weighted {
		by = 1 / factor
	}
	share := min(1, float64(u.pool.Used())/float64(u.data))
	u.odds -= float64(share * (by - 1))
	if hit {
		u.odds += math.Log(by)
	}
	if u.odds = max(0, u.odds); u.odds > math.Log(sure) {
		u.odds = 0
		of.Weigh(!of.Weighted)
	}
}

// moved reports whether the last access has moved a stream to another child.
func (s *system) moved(of *streams.Stream) bool {
	for _, m := range s.tree.Moves() {
		if m.Stream == of {
			return true
		}
	}
	return false
}
