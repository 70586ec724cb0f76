package sim

import (
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// storageCache is a cache into which the model of storage loads objects when they arrive. It counts the requests.
type storageCache struct {
	cache    cache.Asynchronous
	trace    *traces.Trace
	unit     bool          // capacities count objects
	start    int64         // time of the trace at which the model's clock starts
	known    []int64       // per object: its size
	stranger int64         // size of an object that the trace never requests, if the capacity counts objects
	pos      int           // position of the next request that a policy sees
	asked    int           // requests
	fetches  []cache.Fetch // a buffer
	progress func(n int)   // may be nil
	told     int           // requests that progress knows of
	total    cache.Counts
	warm     cache.Counts // the part of total from the warm-up
}

// progressEvery is the number of requests between two calls of progress.
const progressEvery = 1 << 10

func newStorageCache(c cache.Cache, t *traces.Trace, unit bool, progress func(n int)) (*storageCache, error) {
	asynchronous, ok := c.(cache.Asynchronous)
	if !ok {
		return nil, fmt.Errorf("a cache of type %T loads objects when they are requested, not when they arrive", c)
	}
	s := &storageCache{cache: asynchronous, trace: t, unit: unit, known: t.ObjectSizes, progress: progress}
	if len(t.Times) > 0 {
		s.start = t.Times[0]
	}
	for _, size := range t.ObjectSizes {
		s.stranger = max(s.stranger, size)
	}
	return s, nil
}

// request returns request i of the trace at a time.
func (s *storageCache) request(i int, now time.Duration) policies.Request {
	o := s.trace.Objects[i]
	r := policies.Request{Object: o, Query: o, Pos: s.pos, Size: 1, Time: s.start + int64(now)}
	if !s.unit {
		r.Size = s.trace.Size(i)
	}
	return r
}

// Ask implements storage.Cache.
func (s *storageCache) Ask(i int, now time.Duration) (hit bool) {
	r := s.request(i, now)
	hit = s.cache.Ask(r, i)
	size := s.trace.Size(i)
	s.total.Requests++
	s.total.Bytes += size
	if hit {
		s.pos++
		s.total.Hits++
		s.total.HitBytes += size
	}
	if s.asked++; s.asked-s.told == progressEvery {
		s.tell()
	}
	return hit
}

// tell reports progress.
func (s *storageCache) tell() {
	if s.progress != nil {
		s.progress(s.asked - s.told)
	}
	s.told = s.asked
}

// Proposals implements storage.Cache.
func (s *storageCache) Proposals(fetch func(object uint32, bytes int64)) {
	s.fetches = s.cache.Proposals(s.fetches[:0])
	s.fetchAll(fetch)
}

// More implements storage.Cache.
func (s *storageCache) More(n int, fetch func(object uint32, bytes int64)) {
	s.fetches = s.cache.More(n, s.fetches[:0])
	s.fetchAll(fetch)
}

// fetchAll fetches what was proposed, with its size in bytes.
func (s *storageCache) fetchAll(fetch func(object uint32, bytes int64)) {
	for _, f := range s.fetches {
		bytes := f.Size
		switch {
		case !s.unit:
		case int(f.Object) < len(s.known):
			bytes = s.known[f.Object]
		default:
			bytes = s.stranger
		}
		fetch(f.Object, bytes)
	}
}

// Arrive implements storage.Cache.
func (s *storageCache) Arrive(i int, now time.Duration) {
	s.cache.Arrive(s.request(i, now))
	s.pos++
}

// ArrivePrefetch implements storage.Cache.
func (s *storageCache) ArrivePrefetch(o uint32, bytes int64, now time.Duration) {
	r := policies.Request{Object: o, Query: o, Pos: max(0, s.pos-1), Size: 1, Time: s.start + int64(now),
		Reason: policies.Prefetch}
	if !s.unit {
		r.Size = bytes
	}
	s.cache.Arrive(r)
}

// Waited implements storage.Cache.
func (s *storageCache) Waited(i int, now time.Duration) {
	s.cache.Waited(s.request(i, now))
	s.pos++
}

// Cancelled implements storage.Cache.
func (s *storageCache) Cancelled(o uint32) { s.cache.Cancelled(o) }

// counts returns the counts so far.
func (s *storageCache) counts() cache.Counts {
	s.total.Evictions, s.total.Oversized = s.cache.Evictions(), s.cache.Oversized()
	return s.total
}

func (s *storageCache) endWarmup() {
	s.warm = s.counts()
	beginCounting(s.cache)
}
