// Package requests has the requests that caches serve, and the interface between a cache and a model of time in which
// objects arrive later than they are requested.
package requests

import "math"

// Object is the dense number of an object: 0 to n-1 in order of first appearance in the trace, or in the pool that a
// policy serves.
type Object = uint32

// NoObject is the object of a request that has none: see Shrink.
const NoObject Object = math.MaxUint32

// Reason says why an object is requested or loaded.
type Reason uint8

const (
	Demand   Reason = iota // the trace requests it
	Prefetch               // it is loaded ahead of its request
	Restore                // it is loaded from another pool, or from an earlier state of this one
	Shrink                 // no request: a pool that has shrunk makes room. Object and Query are NoObject
)

var reasonNames = [...]string{"demand", "prefetch", "restore", "shrink"}

func (r Reason) String() string { return reasonNames[r] }

// Request is one request as a cache and its policy see it.
type Request struct {
	Object Object
	// Query is the requested object if similar ones may answer it. Object is then the entry that answers it, or Query
	// itself if none does.
	Query Object
	// Pos is the number of requests before it: its position in the replayed trace, unless a model of time changes the
	// order of requests. If Reason is not Demand, or the object arrives later than it was requested, it is the position
	// of the last request, 0 before the first.
	Pos    int
	Size   int64 // what the object is charged: bytes, or 1 if the capacity is in objects; 0 for Shrink
	Time   int64 // nanoseconds, never decreasing within a well-formed trace; 0 if the trace has no clock
	Reason Reason
	// Write says that the request replaces the value of its object: from then on a resident object is charged Size. A
	// read never changes what its object is charged.
	Write bool
}

// Asynchronous is implemented by caches into which a model of time loads objects: other requests are served between a
// request and the arrival of what it misses. A cache is either driven in this way or by Serve, never both.
//
// Positions are not the trace's, because a model may change the order: a hit, an arrival with the reason Demand and a
// request that waited each have the next position. Times are on the model's clock. What is requested again before it
// has arrived waits for the same arrival (a delayed hit; Atre et al., SIGCOMM 2020).
type Asynchronous interface {
	// Ask serves a request at a position in the trace if its object is resident, and reports whether it is. Otherwise
	// nothing is loaded: the caller fetches the object, unless it is being fetched, and then calls Arrive, or Cancelled.
	Ask(r Request, at int) (hit bool)
	// Proposals appends what to prefetch after the last request: objects that are neither resident nor being fetched. The
	// caller fetches them, and calls Arrive or Cancelled for each.
	Proposals(to []Fetch) []Fetch
	// More appends up to n further proposals for when nothing else is to be prefetched, as Proposals does.
	More(n int, to []Fetch) []Fetch
	// Arrive loads an object that has arrived, and reports whether it is now resident. r is the first request that waited
	// for it, with the reason Demand. If none waited, r has the reason Prefetch and the last position. Its time is when
	// the object arrived.
	Arrive(r Request) (resident bool)
	// Waited serves, after Arrive, a further request that waited for the same object. Ask has counted it as a miss.
	Waited(r Request)
	// Cancelled reports that an object will not arrive.
	Cancelled(o Object)
	// Evictions and Oversized return how many objects were evicted so far, and how many requests were for objects
	// larger than the cache.
	Evictions() int64
	Oversized() int64
}

// Fetch is an object that is to be prefetched.
type Fetch struct {
	Object Object
	Size   int64 // as it is charged: bytes, or 1 if the capacity counts objects
}
