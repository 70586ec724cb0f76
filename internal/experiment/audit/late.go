package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// lateLimit is a time to live that holds from a moment on.
type lateLimit struct {
	life  time.Duration
	from  int64
	fresh bool // only of what is stored from then on, as servers do that are told a new setting
}

// lateTTL is that a time to live began while the log was written, or became shorter. Without it, a cache that misses
// from a moment on what is old looks like one that is emptied again and again.
func (l *Log) lateTTL() Cause[Setup] {
	return l.cause("ttl", "ttl from a time on", func(ctx context.Context, at *Trial[Setup]) (string, error) {
		seen, err := l.evidence(ctx, at.Setup)
		if err != nil {
			return "", err
		}
		best, ok, err := nearest(ctx, at, seen.lateLimits(leastGain*float64(at.Outcome.Units)), setLate)
		if err != nil || !ok {
			return "", err
		}
		says := fmt.Sprintf("a time to live of %s that began %s", timeText(best.life),
			moments([]int64{best.from}, seen.trace.Times[0]))
		if best.fresh {
			says += ", for what was stored from then on"
		}
		return says, nil
	})
}

// setLate lets objects expire from a moment on.
func setLate(s *Setup, late lateLimit) {
	setLife(s, late.life, func(at int64) int64 {
		switch end := at + int64(late.life); {
		case at >= late.from:
			return end
		case late.fresh:
			return 0
		default:
			return max(end, late.from)
		}
	})
	s.from, s.fresh = late.from, late.fresh
}

// aged is a request for an object that the server has stored some time ago.
type aged struct {
	at, stored    int64
	found, replay bool // on the server, and in the replay
}

func (a aged) age() time.Duration { return time.Duration(a.at - a.stored) }

// ages returns the requests for what was stored before, as far as the log shows it.
func (s *seen) ages() (all []aged) {
	stored := make([]int64, s.trace.NumObjects)
	known := make([]bool, s.trace.NumObjects)
	for pos, o := range s.trace.Objects {
		if !s.reads(pos) {
			continue
		}
		now := s.trace.Times[pos]
		if known[o] && s.counts(pos) {
			all = append(all, aged{now, stored[o], s.found(pos), s.hits.Has(pos)})
		}
		if !known[o] || !s.found(pos) {
			stored[o], known[o] = now, true
		}
	}
	return all
}

// lateLimits returns the times to live that may have begun at a moment, the likeliest first: from then on the server
// hits nothing that is as old, and the replay does at least so often.
func (s *seen) lateLimits(least float64) (limits []lateLimit) {
	ages := s.ages()
	for _, fresh := range []bool{false, true} {
		moment := func(a aged) int64 { return a.at }
		if fresh {
			moment = func(a aged) int64 { return a.stored }
		}
		slices.SortStableFunc(ages, func(a, b aged) int { return cmp.Compare(moment(a), moment(b)) })
		scores := map[lateLimit]int{}
		var found []lateLimit
		for _, life := range usualTimes {
			from, score := lateMoment(ages, life, moment)
			if late := (lateLimit{life, from, fresh}); float64(score) >= max(least, 1) && from > s.trace.Times[0] {
				found, scores[late] = append(found, late), score
			}
		}
		slices.SortStableFunc(found, func(a, b lateLimit) int { return cmp.Compare(scores[b], scores[a]) })
		found = found[:min(mostCandidates/2, len(found))]
		if len(found) > 0 { // people may also have written an odd time
			odd := found[0]
			odd.life = longestSince(ages, odd.from, moment)
			found = append(found, odd)
		}
		limits = append(limits, found...)
	}
	return limits
}

// lateMoment returns the moment from which on the server seems to drop what has reached an age, and how many hits of
// the replay speak for it. ages are sorted by their moments.
func lateMoment(ages []aged, life time.Duration, moment func(aged) int64) (from int64, most int) {
	score := 0
	for i, a := range slices.Backward(ages) {
		if a.age() < life {
			continue
		}
		score += int(asNumber(a.replay)) - overlapping*int(asNumber(a.found))
		if score > most && (i == 0 || moment(ages[i-1]) < moment(a)) {
			from, most = moment(a), score
		}
	}
	return from, most
}

// longestSince returns the longest age at which the server hit from a moment on, apart from a few outliers.
func longestSince(ages []aged, from int64, moment func(aged) int64) time.Duration {
	var found []time.Duration
	for _, a := range ages {
		if a.found && moment(a) >= from {
			found = append(found, a.age())
		}
	}
	if len(found) == 0 {
		return time.Second
	}
	slices.Sort(found)
	return max(found[len(found)-1-int(outliers*float64(len(found)))], time.Millisecond)
}
