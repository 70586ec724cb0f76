package igtcache

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// Metrics of streams.
var (
	streamRequests = metric.Metric{Name: "stream_requests", Unit: metric.Count, Labels: "stream",
		Doc: "requests to the blocks of a stream; the streams with the most requests, 20 at most, are reported one by " +
			"one, and (others) has what belongs to no stream"}
	streamHits = metric.Metric{Name: "stream_hits", Unit: metric.Count, Labels: "stream", Better: metric.Higher,
		Doc: "hits of a stream"}
	streamHitRatio = metric.Metric{Name: "stream_hit_ratio", Unit: metric.Share, Digits: 2, Labels: "stream",
		Better: metric.Higher, Merge: metric.Quotient(streamHits, streamRequests), Doc: "hits / requests of a stream"}
	streamQuota = metric.Metric{Name: "stream_quota", Unit: metric.Share, Digits: 1, Labels: "stream",
		Merge: metric.Apart, Doc: "a stream's share of the capacity at the end"}
	patternChanges = metric.Metric{Name: "pattern_changes", Unit: metric.Count,
		Doc: "how often the pattern of a stream changed"}
	ttlExpiries = metric.Metric{Name: "ttl_expiries", Unit: metric.Count,
		Doc: "how often all of a stream was dropped because nothing of it had been read for long"}
	falseExpiries = metric.Metric{Name: "false_expiries", Unit: metric.Count, Better: metric.Lower,
		Doc: "how often a stream was read again after all of it had been dropped"}
	firstExpiry = metric.Metric{Name: "first_expiry_s", Unit: metric.Seconds, Digits: 2, Merge: metric.Apart,
		Doc: "time of the first of ttl_expiries, from the first request; absent if there was none, or " +
			"requests have no times"}
	quotaMoved = metric.Metric{Name: "quota_moved", Unit: metric.Ratio, Digits: 2,
		Doc: "capacity moved between streams, as a multiple of the whole capacity"}
	outerChanges = metric.Metric{Name: "outer_changes", Unit: metric.Count,
		Doc: "how often igtcache with outer=true has followed units after one pool, or the reverse"}
	outerPool = metric.Metric{Name: "outer_pool", Unit: metric.Count, Merge: metric.Apart,
		Doc: "1 if it followed one pool at the end, 0 for units"}
	quotaRounds = metric.Metric{Name: "quota_rounds", Unit: metric.Count,
		Doc: "how often the allocator divided the capacity among streams"}
)

// metrics are the cache's own: the tree and the prefetcher have further ones.
var metrics = []metric.Metric{streamRequests, streamHits, streamHitRatio, streamQuota, patternChanges, ttlExpiries,
	falseExpiries, firstExpiry, quotaMoved, quotaRounds, outerChanges, outerPool, cache.NotAdmitted}

// noStream is the label of the objects that belong to no stream.
const noStream = "(others)"

type counts struct {
	evictions, oversized int64
	patternChanges       int64
	closedUnits          gone
}

// gone has the counts of closed streams by place, so that a stream that is opened again goes on counting.
type gone map[streams.Place]tally

func (g gone) add(u *unit) {
	if t := g[u.stream.Place].plus(u.total); t != (tally{}) {
		g[u.stream.Place] = t
	}
}

func (t tally) plus(o tally) tally {
	return tally{t.requests + o.requests, t.hits + o.hits}
}

func (s *system) count(u *unit, hit bool) {
	u.round.requests++
	u.total.requests++
	if hit {
		u.round.hits++
		u.total.hits++
	}
}

func (s *system) BeginCounting() {
	for _, u := range s.units {
		if u != nil {
			u.total = tally{}
		}
	}
	clear(s.closedUnits)
	s.expiry.expiries, s.expiry.returned, s.patternChanges, s.quotaMoved, s.divisions = 0, 0, 0, 0, 0
}

// share is what a stream has and had.
type share struct {
	label string
	tally tally
	quota int64
	used  int64
	worth float64 // of one more unit, in hits per second
}

// label returns the path of a stream as records have it: valid text, whatever bytes a file system allows.
func (s *system) label(u *unit) string {
	if u.stream == nil {
		return noStream
	}
	return terminal.Label(s.layout.Path(u.stream.Place))
}

// shares returns what every stream has and had, by its label, those that are closed last. A stream that was closed and
// opened again counts once. So do a file and a directory with the same path, as the keys of object stores have.
func (s *system) shares() (all []share) {
	at := map[string]int{}
	add := func(of share) {
		i, known := at[of.label]
		if !known {
			at[of.label], all = len(all), append(all, of)
			return
		}
		all[i].tally = all[i].tally.plus(of.tally)
		all[i].quota += of.quota
		all[i].used += of.used
		all[i].worth = max(all[i].worth, of.worth)
	}
	for _, u := range s.inOrder() {
		add(share{s.label(u), u.total, u.pool.Capacity(), u.pool.Used(), u.benefit})
	}
	for _, place := range slices.Sorted(maps.Keys(s.closedUnits)) {
		add(share{label: terminal.Label(s.layout.Path(place)), tally: s.closedUnits[place]})
	}
	return all
}

func (s *system) Tenants() (all []cache.Tenant) {
	_, valued := s.allocator.(allocate.Valuing)
	for _, of := range s.shares() {
		all = append(all, cache.Tenant{Name: of.label, Requests: of.tally.requests, Hits: of.tally.hits, Used: of.used,
			Quota: of.quota, Valued: valued, Benefit: allocate.PerBlock(of.worth, s.config.Unit)})
	}
	return all
}

func (s *system) Counters() (all []policies.Counter) {
	all = append(policies.CountAll(s.tree.Measure()), policies.Count(patternChanges, float64(s.patternChanges)),
		policies.Count(ttlExpiries, float64(s.expiries)))
	if s.expiries > 0 && s.clock {
		all = append(all, policies.Count(firstExpiry, float64(s.first-s.begins)/second))
	}
	all = append(all, policies.Count(falseExpiries, float64(s.returned)),
		policies.Count(quotaRounds, float64(s.divisions)),
		policies.Count(quotaMoved, float64(s.quotaMoved)/float64(s.config.Capacity)))
	shares := s.shares()
	for _, i := range cache.Largest(len(shares), func(i int) int64 { return shares[i].tally.requests }) {
		of := shares[i]
		requests, hits := float64(of.tally.requests), float64(of.tally.hits)
		all = append(all, policies.CountOf(streamRequests, of.label, requests),
			policies.CountOf(streamHits, of.label, hits),
			policies.CountOf(streamHitRatio, of.label, hits/max(1, requests)),
			policies.CountOf(streamQuota, of.label, float64(of.quota)/float64(s.config.Capacity)))
	}
	for _, u := range s.inOrder() {
		all = cache.AddCounters(all, u.pool.Counters())
	}
	return append(all, s.guard.Counters()...)
}

func (c *Cache) Streams() (all []cache.StreamState) {
	s := c.system
	s.measure()
	for _, u := range s.inOrder() {
		state := cache.StreamState{Path: s.label(u), Stream: u.stream, Requests: u.total.requests, Hits: u.total.hits,
			Quota: u.pool.Capacity(), Used: u.pool.Used(), Data: u.data, Benefit: u.benefit, Expired: u.expired,
			Share: s.tree.Options().Share}
		if u.stream != nil && s.clock && !s.options.keeps && u.stream.Pattern == streams.Random {
			state.Lifetime = float64(s.options.lifetime(u.stream)) / second
		}
		all = append(all, state)
	}
	slices.SortStableFunc(all, func(a, b cache.StreamState) int { return cmp.Compare(b.Requests, a.Requests) })
	return all
}
