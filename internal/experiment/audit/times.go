package audit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/traces"
)

// times are causes that go by the clock of the log.
func (l *Log) times(t *traces.Trace) (causes []Cause[Setup]) {
	if hasExpiries(t) {
		causes = append(causes, l.plain("expiry", "ttl=off", "times to live that the server does not follow",
			func(s *Setup) { *s = s.with(withoutExpiries) }))
	}
	switch {
	case t.Times != nil && l.totals == nil:
		causes = append(causes, l.restarts())
	case l.totals != nil && len(l.totals.restarts) > 0:
		causes = append(causes, l.plain("restarts", "restarts", "a cache that was emptied "+
			moments(l.totals.restarts, t.Times[0]), func(s *Setup) { s.restarts = l.totals.restarts }))
	}
	return causes
}

// limits are times after which objects expire. Those that people write into configurations come before other causes:
// at a steady rate of requests, a smaller cache looks like one that drops what nobody asks for in some odd time.
func (l *Log) limits(t *traces.Trace, usual bool) []Cause[Setup] {
	if t.Times == nil || l.totals != nil {
		return nil
	}
	stored := func(seen *seen, pos int) bool { return !seen.found(pos) }
	requested := func(*seen, int) bool { return true }
	exact := func(s *Setup, d life) {
		setLife(s, d.Duration, func(at int64) int64 { return at + int64(d.Duration) })
	}
	inSeconds := func(s *Setup, d life) {
		setLife(s, d.Duration, func(at int64) int64 { return wholeSeconds(at, d.Duration) })
		s.seconds = true
	}
	causes := []Cause[Setup]{
		l.limit("ttl", "a time to live of %s", usual, exact, stored),
		l.limit("ttl", "a time to live of %s in whole seconds", usual, inSeconds, stored),
		l.limit("inactive", "objects that are dropped when nobody asks for %s", usual, setIdle, requested),
	}
	if !usual {
		causes = append(causes, l.lateTTL())
	}
	return causes
}

func hasExpiries(t *traces.Trace) bool {
	expires := func(r traces.Removal) bool { return r.Why == traces.Expired }
	return t.Ends != nil || slices.ContainsFunc(t.Removals, expires)
}

func withoutExpiries(t *traces.Trace) *traces.Trace {
	other := *t
	other.Ends = nil
	other.Removals = slices.DeleteFunc(slices.Clone(t.Removals), func(r traces.Removal) bool {
		return r.Why == traces.Expired
	})
	return &other
}

// setLife lets objects expire some time after they were stored. Servers do that themselves, and know of stale objects
// and of short-lived ones; the longest life that the log shows has the grace of Varnish in it.
func setLife(s *Setup, d time.Duration, end func(at int64) int64) {
	if !cache.KeepsTime(s.Cell.Replayed().Cache) {
		s.ttl = d
		return
	}
	if changed, ok := withSetting(s.Cell.Policy, "grace", "0"); ok {
		s.Cell.Policy = changed
	}
	*s = s.with(func(t *traces.Trace) *traces.Trace {
		other := *t
		other.Ends = make([]int64, len(t.Times))
		for pos, at := range t.Times {
			other.Ends[pos] = end(at)
		}
		return &other
	})
}

// wholeSeconds returns when a life ends that a server counts in whole seconds of its clock, the last one included.
func wholeSeconds(at int64, d time.Duration) int64 {
	const second = int64(time.Second)
	return at/second*second + int64(d) + second
}

// setIdle drops what was not requested for a while. nginx has a setting for it.
func setIdle(s *Setup, limit life) {
	changed, ok := withSetting(s.Cell.Policy, "inactive", limit.Duration.String())
	if !ok {
		s.idle = limit.Duration
		return
	}
	s.Cell.Policy = changed
	if looked, ok := withSetting(changed, "first_look", limit.look); ok {
		s.Cell.Policy = looked
	}
}

// life is a limit that is tried, with the second at which the manager of nginx looks first: it looks again in whole
// seconds, and the log does not say when that is.
type life struct {
	time.Duration
	look string
}

// looks are when the manager may look first. The first is nginx' own, if it began with the log.
var looks = []string{"0", "9.25", "9.5", "9.75"}

// limit is that objects expire some time after a request that renews them. The longest time after which the server hit
// says how long that is at most: servers may look for what has expired only now and then.
func (l *Log) limit(kind, says string, usual bool, set func(*Setup, life),
	renews func(*seen, int) bool) Cause[Setup] {
	name := strings.TrimSpace(kind + strings.TrimPrefix(says, "a time to live of %s"))
	if kind == "inactive" {
		name = kind
	}
	if !usual {
		name += " of an odd time"
	}
	return l.cause(kind, name, func(ctx context.Context, at *Trial[Setup]) (string, error) {
		seen, err := l.evidence(ctx, at.Setup)
		if err != nil {
			return "", err
		}
		longest, beyond := seen.longestAge(renews)
		if longest <= 0 || float64(beyond) < leastGain*float64(at.Outcome.Units) {
			return "", nil
		}
		candidates := []time.Duration{longest}
		if usual {
			candidates = usualBelow(longest)
		}
		best, ok, err := nearest(ctx, at, lives(candidates, kind == "inactive" && hasManager(at.Setup)), set)
		if err != nil || !ok {
			return "", err
		}
		return fmt.Sprintf(says, timeText(best.Duration)), nil
	})
}

// hasManager reports whether a server looks for what is idle now and then.
func hasManager(s Setup) bool {
	_, has := withSetting(s.Cell.Policy, "first_look", looks[1])
	return has
}

// lives returns what is tried of some limits: each with each first look of a manager, if there is one.
func lives(limits []time.Duration, managed bool) (all []life) {
	for _, limit := range limits {
		for _, look := range looks[:max(1, len(looks)*int(asNumber(managed)))] {
			all = append(all, life{limit, look})
		}
	}
	return all
}

// nearest changes the setup of a trial to the candidate that comes nearest to the server, and returns that; ok is false
// without candidates.
func nearest[C any](ctx context.Context, at *Trial[Setup], candidates []C, set func(*Setup, C)) (best C, ok bool,
	err error) {
	var least Outcome
	stated := at.Setup
	for _, candidate := range candidates {
		changed := stated
		set(&changed, candidate)
		outcome, err := at.Replay(ctx, changed)
		if err != nil {
			return best, false, err
		}
		if !ok || outcome.distance() < least.distance() {
			best, ok, least, at.Setup = candidate, true, outcome, changed
		}
	}
	return best, ok, nil
}

// outliers is the share of the ages at which a server hit that are not trusted.
const outliers = 0.001

// longestAge returns the longest time after which the server hit an object that was renewed, apart from a few outliers,
// and how many hits of the replay are later than that.
func (s *seen) longestAge(renews func(*seen, int) bool) (longest time.Duration, beyond int) {
	renewed := make([]int64, s.trace.NumObjects)
	known := make([]bool, s.trace.NumObjects)
	var ages, replayed []time.Duration
	for pos, o := range s.trace.Objects {
		if !s.reads(pos) {
			continue
		}
		age := time.Duration(s.trace.Times[pos] - renewed[o])
		if known[o] && s.counts(pos) {
			if s.found(pos) {
				ages = append(ages, age)
			}
			if s.hits.Has(pos) {
				replayed = append(replayed, age)
			}
		}
		if !known[o] || renews(s, pos) {
			renewed[o], known[o] = s.trace.Times[pos], true
		}
	}
	if len(ages) == 0 {
		return 0, 0
	}
	slices.Sort(ages)
	longest = ages[len(ages)-1-int(outliers*float64(len(ages)))]
	for _, age := range replayed {
		if age > longest {
			beyond++
		}
	}
	return longest, beyond
}

// usualTimes are times that people write into configurations.
var usualTimes = []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second,
	15 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute,
	10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
	6 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour}

// mostCandidates is how many usual times are tried below the longest one after which the server hit.
const mostCandidates = 5

// usualBelow returns the usual times that are nearly as long as a time, or shorter, the longest first.
func usualBelow(d time.Duration) (times []time.Duration) {
	for _, usual := range slices.Backward(usualTimes) {
		if float64(usual) <= 1.1*float64(d) && len(times) < mostCandidates {
			times = append(times, usual)
		}
	}
	return times
}

func timeText(d time.Duration) string {
	text := d.Round(time.Duration(math.Pow10(int(math.Log10(float64(d)))) / 100)).String()
	text = strings.TrimSuffix(strings.TrimSuffix(text, "0s"), "m0s")
	switch {
	case strings.HasSuffix(text, "h0m"):
		return strings.TrimSuffix(text, "0m")
	case text == d.String() || !strings.ContainsAny(text[len(text)-1:], "0123456789"):
		return text
	}
	return d.String()
}

// restarts is that the cache was emptied at some times.
func (l *Log) restarts() Cause[Setup] {
	return l.cause("restarts", "restarts", func(ctx context.Context, at *Trial[Setup]) (string, error) {
		seen, err := l.evidence(ctx, at.Setup)
		if err != nil {
			return "", err
		}
		positions := seen.emptied()
		if len(positions) == 0 {
			return "", nil
		}
		var times []int64
		for _, pos := range positions {
			times = append(times, seen.trace.Times[pos])
		}
		at.Setup.restarts = times
		return "a cache that was emptied " + moments(times, seen.trace.Times[0]), nil
	})
}

// moments writes times of a log that begins at a time: as dates, if its clock has dates.
func moments(times []int64, begin int64) string {
	var texts []string
	for _, at := range times {
		if traces.IsDate(at) {
			texts = append(texts, "at "+time.Unix(0, at).Round(time.Second).UTC().Format("2006-01-02 15:04:05")+" UTC")
		} else {
			texts = append(texts, time.Duration(at-begin).Round(time.Second).String()+" after the beginning")
		}
	}
	return listed(texts)
}

// overlapping is how many hits of the replay outweigh one of the server, which may be of requests that overlapped.
const overlapping = 25

// mostRestarts is how many times are looked for at which the cache was emptied.
const mostRestarts = 8

// emptied returns positions at which the cache seems to have been emptied, in their order. No object that was requested
// before such a position hits at its first request behind it, while in the replay many do.
func (s *seen) emptied() (positions []int) {
	const least = 15
	server, replay := s.pairs(s.found), s.pairs(s.hits.Has)
	for len(positions) < mostRestarts {
		held, expected, best, at := 0, 0, least, -1
		from, to := changes(server, s.trace), changes(replay, s.trace)
		for pos := range s.trace.Objects {
			held, expected = held+from[pos], expected+to[pos]
			if score := expected - overlapping*held; score > best {
				best, at = score, pos
			}
		}
		if at < 0 {
			break
		}
		positions = append(positions, at)
		replay = slices.DeleteFunc(replay, func(p pair) bool { return p.from < at && at <= p.to })
	}
	slices.Sort(positions)
	return positions
}

// pair is two requests for an object, one after the other, of which the second hits.
type pair struct{ from, to int }

func (s *seen) pairs(hit func(pos int) bool) (pairs []pair) {
	last := make([]int, s.trace.NumObjects) // plus one
	for pos, o := range s.trace.Objects {
		if last[o] > 0 && s.counts(pos) && hit(pos) {
			pairs = append(pairs, pair{last[o] - 1, pos})
		}
		last[o] = pos + 1
	}
	return pairs
}

// changes returns by how many the pairs change at each position that begin before it and end there or behind it.
func changes(pairs []pair, t *traces.Trace) (by []int) {
	by = make([]int, len(t.Objects)+1)
	for _, p := range pairs {
		by[p.from+1]++
		by[p.to+1]--
	}
	return by
}
