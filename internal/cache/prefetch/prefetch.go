// Package prefetch proposes what a cache should load besides the requested objects. A prefetcher sees the requests of a
// trace, hit or miss, and returns proposals; the cache (package cache) leaves out resident objects and loads the rest,
// under any policy. A prefetcher does not know the policy.
//
// To add a prefetcher, write one file with its type and its Entry, and add the Entry to the table in registry.go.
package prefetch

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/traces"
)

// Object is the dense number of an object, as in package policies.
type Object = uint32

// Access is one request of the trace, after the cache has served it.
type Access struct {
	Object Object
	Key    uint64 // the address of the object; 0 where the entry has no Addresses
	Pos    int    // number of requests before it
	At     int    // position in the trace, from 0: the same as Pos, unless a model of time changes the order of requests
	Size   int64  // what the object is charged: bytes, or 1 where the capacity is in objects
	Time   int64  // nanoseconds; 0 where the trace has no clock
	Hit    bool
	// Prefetched says that the request hits an object that was prefetched and has not been requested since.
	Prefetched bool
	// Resident says that the object is in the cache now: it hit, or the miss has loaded it. If objects arrive later, it is
	// true for an object that will probably be loaded.
	Resident bool
}

// Proposal is an object that should be loaded.
type Proposal struct {
	Object Object // where the entry has no Addresses
	Key    uint64 // the address, where the entry has Addresses
	// Size is what the object is charged; 0: its size in the trace, or the request's if the trace never requests it.
	Size int64
}

// Prefetcher proposes objects to load besides the requested ones.
type Prefetcher interface {
	// Request receives each request, in order, after it has been served, and appends proposals, resident ones or not.
	Request(a Access, proposals []Proposal) []Proposal
}

// Watcher is implemented by prefetchers that follow the loads and evictions of objects.
type Watcher interface {
	// Loaded reports that a proposal, or an object that Evicted requested back, has been loaded, or is being loaded if
	// objects arrive later. It is called before the next Request.
	Loaded(p Proposal)
	// Evicted reports that an object has left the cache, prefetched or not, or will not arrive. It returns whether one
	// that was prefetched in vain should be loaded again, as new as the current request. If that fails, Evicted is called
	// once more, with Unused raised by one.
	Evicted(e Eviction) (again bool)
}

// Backlog is implemented by prefetchers that also have proposals for when nothing else is to be loaded.
type Backlog interface {
	// More appends up to n of them; none if there are no more for now.
	More(n int, proposals []Proposal) []Proposal
}

// Measured is implemented by prefetchers with metrics of their own, which describe their state.
type Measured interface{ Measure() metric.Values }

// Eviction is an object that has left the cache.
type Eviction struct {
	Object Object
	Key    uint64 // the address of the object; 0 where the entry has no Addresses
	// Unused is how often the object has been loaded since its last request: 0 if it was requested after it was loaded, 1
	// if it was prefetched in vain, more if Evicted requested it back.
	Unused int
}

// Config is what a prefetcher is built from.
type Config struct {
	Params params.Values // every parameter of the Entry

	// Layout is for prefetchers with Layout. Capacity is the cache's, in bytes, or in objects if Unit is set.
	Layout   *streams.Layout
	Capacity int64
	Unit     bool
	// Asynchronous says that objects arrive later than they are requested: a transfer delays others.
	Asynchronous bool

	// Trace is what will be served. A prefetcher without Future uses only its data about the requests so far, and about
	// the files. It may be nil for prefetchers with neither Files nor Future.
	Trace *traces.Trace
}

// after returns the address n steps after key, false if there is none.
func after(key, step uint64, n int) (uint64, bool) {
	if n > 0 && step > (1<<64-1-key)/uint64(n) {
		return 0, false
	}
	return key + step*uint64(n), true
}

// before returns the address n steps before key, false if there is none.
func before(key, step uint64, n int) (uint64, bool) {
	if n > 0 && step > key/uint64(n) {
		return 0, false
	}
	return key - step*uint64(n), true
}

// proposeAhead proposes the next n addresses at a distance from key, forwards or backwards, as far as there are any.
func proposeAhead(proposals []Proposal, key uint64, distance int64, n int, size int64) []Proposal {
	for i := 1; i <= n; i++ {
		next, ok := after(key, uint64(distance), i)
		if distance < 0 {
			next, ok = before(key, uint64(-distance), i)
		}
		if !ok {
			break
		}
		proposals = append(proposals, Proposal{Key: next, Size: size})
	}
	return proposals
}
