// Package policies holds the replacement policies and the registry that names them. A policy chooses which resident
// object leaves; it does not know what a hit is, which is the cache's part (package sim).
//
// To add a policy, write one file with its type and its Entry, and add the Entry to the table in registry.go; one of a
// system with a folder of its own is registered there. It then appears in `cachesim policies`, in the shared test suite
// and in every comparison.
package policies

import (
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/predict"
)

// Object is the dense number of an object: 0 to n-1 in order of first appearance in the trace.
type Object = uint32

// Request is one request as a policy sees it.
type Request struct {
	Object Object
	// Query is the object that is asked for, where Config.Relations is set; Object is then the entry that answers it, or
	// Query itself where none does.
	Query Object
	Pos   int   // position in the replayed trace, from 0
	Size  int64 // what the object is charged: bytes, or 1 where the capacity is in objects
	Time  int64 // nanoseconds, never decreasing within a well-formed trace; 0 where the trace has no clock
}

// Policy decides who leaves. A cache serves a request with these calls:
//
//	resident:      Hit
//	not resident:  Miss, then Victim as often as room is missing, then Insert
//
// The cache counts what is resident and how full it is. Objects larger than the cache never reach the policy.
type Policy interface {
	// Hit reports a request to a resident object. The stored size stays what it was at Insert.
	Hit(r Request)
	// Miss reports a request to an object that is not resident. Ghosts and statistics are updated here, before room is
	// made.
	Miss(r Request)
	// Victim chooses and forgets one resident object to make room for r. The answer r.Object means: do not admit r;
	// then the cache neither asks again nor calls Insert. It is called only while at least one object is resident,
	// except that a policy may also refuse through Admitter.
	Victim(r Request) Object
	// Insert reports that r's object is now resident.
	Insert(r Request)
	// Remove reports that a resident object left for a reason that is not the policy's (expiry, a quota that shrank).
	Remove(o Object)
}

// UnitReplayer is the batch path: an exact-match cache whose capacity counts objects hands over whole runs of requests,
// so that a policy's own methods inline into its own loop. first is the position of objects[0] in the trace.
// It returns how many requests hit and how many objects were evicted. The answers equal those of the one-by-one calls;
// one test in package sim holds every policy to that. One value of a policy is driven either way, never both.
type UnitReplayer interface {
	Policy
	ReplayUnit(objects []Object, first int) (hits, evictions int)
}

// Admitter is implemented by policies that may refuse an object although there is room, or that cap object sizes.
// The cache asks after Miss and before Victim; a refused request is a miss that changes nothing further.
type Admitter interface {
	Admit(r Request) bool
}

// Expirer is implemented by policies with timers. Before each request the cache calls Expired with the request's time
// until it answers false, and drops each object it gets. The policy has forgotten the object already: Remove is not
// called.
type Expirer interface {
	Expired(now int64) (o Object, ok bool)
}

// Counter is one number that a policy reports about itself after a replay: a metric that its entry declares.
type Counter struct {
	Name  string
	Value float64
}

// Reporter is implemented by policies with counters of their own.
type Reporter interface {
	Counters() []Counter
}

// Never is the next-use position of an object that is not requested again.
const Never = oracle.Never

// Config is what a policy is built from.
type Config struct {
	Capacity int64  // objects if Unit, otherwise bytes; at least 1
	Unit     bool   // every object is charged 1
	Objects  int    // number of distinct objects; every Object is below it
	Requests int    // length of the trace
	Seed     uint64 // the only source of randomness
	Params   Values // every parameter of the Entry, defaults filled in

	// Holds says that the cache holds objects, so that a Holder is wanted. Only entries with Holds are told.
	Holds bool

	// NextUse gives, for each position of the trace, the position of the next request to the same object, or Never.
	// Only entries of kind Offline get it; it is nil for all others.
	NextUse []uint32

	// Groups are the positions at which requests that come together begin, the keys of a batch, say. Nil: each comes
	// alone.
	Groups []int

	// Relations is set for entries with Relates in every cache, and for no others.
	Relations *Relations

	// Predictor is set for entries with Predicts, and for no others. The policy reports each request to it, after the
	// eviction that it caused.
	Predictor predict.Predictor
}
