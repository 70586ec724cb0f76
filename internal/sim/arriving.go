package sim

import (
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/clock/storage"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// arriving is a cache in the form in which a model of time loads objects that arrive later. It counts the requests.
type arriving struct {
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

func newArriving(c cache.Cache, t *traces.Trace, unit bool, progress func(n int)) (*arriving, error) {
	asynchronous, ok := c.(cache.Asynchronous)
	if !ok {
		return nil, fmt.Errorf("a cache of type %T loads objects when they are requested, not when they arrive", c)
	}
	a := &arriving{cache: asynchronous, trace: t, unit: unit, known: t.ObjectSizes, progress: progress}
	if len(t.Times) > 0 {
		a.start = t.Times[0]
	}
	for _, size := range t.ObjectSizes {
		a.stranger = max(a.stranger, size)
	}
	return a, nil
}

// request returns request i of the trace at a time.
func (a *arriving) request(i int, now time.Duration) policies.Request {
	o := a.trace.Objects[i]
	r := policies.Request{Object: o, Query: o, Pos: a.pos, Size: 1, Time: a.start + int64(now)}
	if !a.unit {
		r.Size = a.trace.Size(i)
	}
	return r
}

// Ask implements storage.Cache.
func (a *arriving) Ask(i int, now time.Duration) (hit bool) {
	r := a.request(i, now)
	hit = a.cache.Ask(r, i)
	size := a.trace.Size(i)
	a.total.Requests++
	a.total.Bytes += size
	if hit {
		a.pos++
		a.total.Hits++
		a.total.HitBytes += size
	}
	if a.asked++; a.asked-a.told == progressEvery {
		a.tell()
	}
	return hit
}

// tell reports progress.
func (a *arriving) tell() {
	if a.progress != nil {
		a.progress(a.asked - a.told)
	}
	a.told = a.asked
}

// Proposals implements storage.Cache.
func (a *arriving) Proposals(to []storage.Fetch) []storage.Fetch {
	a.fetches = a.cache.Proposals(a.fetches[:0])
	return a.sized(to)
}

// More implements storage.Cache.
func (a *arriving) More(n int, to []storage.Fetch) []storage.Fetch {
	a.fetches = a.cache.More(n, a.fetches[:0])
	return a.sized(to)
}

// sized appends the fetches with their sizes in bytes.
func (a *arriving) sized(to []storage.Fetch) []storage.Fetch {
	for _, f := range a.fetches {
		bytes := f.Size
		switch {
		case !a.unit:
		case int(f.Object) < len(a.known):
			bytes = a.known[f.Object]
		default:
			bytes = a.stranger
		}
		to = append(to, storage.Fetch{Object: f.Object, Bytes: bytes})
	}
	return to
}

// Arrive implements storage.Cache.
func (a *arriving) Arrive(i int, now time.Duration) {
	a.cache.Arrive(a.request(i, now))
	a.pos++
}

// ArrivePrefetch implements storage.Cache.
func (a *arriving) ArrivePrefetch(f storage.Fetch, now time.Duration) {
	r := policies.Request{Object: f.Object, Query: f.Object, Pos: max(0, a.pos-1), Size: 1, Time: a.start + int64(now),
		Reason: policies.Prefetch}
	if !a.unit {
		r.Size = f.Bytes
	}
	a.cache.Arrive(r)
}

// Waited implements storage.Cache.
func (a *arriving) Waited(i int, now time.Duration) {
	a.cache.Waited(a.request(i, now))
	a.pos++
}

// Cancelled implements storage.Cache.
func (a *arriving) Cancelled(o uint32) { a.cache.Cancelled(o) }

// counts returns the counts so far.
func (a *arriving) counts() cache.Counts {
	a.total.Evictions, a.total.Oversized = a.cache.Evictions(), a.cache.Oversized()
	return a.total
}

func (a *arriving) endWarmup() {
	a.warm = a.counts()
	beginCounting(a.cache)
}
