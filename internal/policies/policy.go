// Package policies holds the replacement policies and the registry that names them. A policy chooses which resident
// object leaves; it does not know what a hit is, which is the cache's part (package cache).
//
// To add a policy, write one file with its type and its Entry, and add the Entry to its family in registry.go; one
// with a folder of its own is registered there. It then appears in `cachesim policies`, in the shared test suite
// and in every comparison.
package policies

import (
	"math"

	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/predict"
)

// Object is the dense number of an object: 0 to n-1 in order of first appearance in the trace, or in the pool that the
// policy serves.
type Object = uint32

// NoObject is the object of a request that nobody makes: see Shrink.
const NoObject Object = math.MaxUint32

// Reason says why an object is asked for or loaded.
type Reason uint8

const (
	Demand   Reason = iota // the trace asks for it
	Prefetch               // it is loaded before it is asked for
	Restore                // it is loaded from another pool, or from an earlier state of this one
	Shrink                 // nobody asks: a pool that has become smaller makes room. Object and Query are NoObject
)

var reasonNames = [...]string{"demand", "prefetch", "restore", "shrink"}

func (r Reason) String() string { return reasonNames[r] }

// Request is one request as a policy sees it.
type Request struct {
	Object Object
	// Query is the object that is asked for, where Config.Relations is set; Object is then the entry that answers it, or
	// Query itself where none does.
	Query Object
	// Pos is the position in the replayed trace, from 0. Where Reason is not Demand, it is that of the last request that
	// was served, 0 before the first.
	Pos    int
	Size   int64 // what the object is charged: bytes, or 1 where the capacity is in objects; 0 for Shrink
	Time   int64 // nanoseconds, never decreasing within a well-formed trace; 0 where the trace has no clock
	Reason Reason
}

// Policy decides who leaves. A cache serves a request with these calls:
//
//	resident:      Hit
//	not resident:  Miss, then Victim as often as room is missing, then Insert
//
// An object that is loaded without a request of the trace (Prefetch, Restore) comes with the calls of a miss. What a
// policy learns from requests must not take it for one: predictors are not told, phases do not begin, estimates of
// frequency and parameters that adapt stay. Where it makes no difference to the policy it is a miss like others.
//
// A cache that has become smaller asks for victims with the reason Shrink and makes no other call around it.
//
// The cache counts what is resident and how full it is. Objects larger than the cache never reach the policy.
type Policy interface {
	// Hit reports a request to a resident object. The stored size stays what it was at Insert.
	Hit(r Request)
	// Miss reports a request to an object that is not resident. Ghosts and statistics are updated here, before room is
	// made.
	Miss(r Request)
	// Victim chooses and forgets one resident object to make room for r. The answer r.Object means: do not admit r;
	// then the cache neither asks again nor calls Insert. For Shrink there is no such answer: a resident object has to
	// leave. Victim is called only while at least one object is resident.
	Victim(r Request) Object
	// Insert reports that r's object is now resident.
	Insert(r Request)
	// Remove reports that a resident object left for a reason that is not the policy's (expiry, a quota that shrank).
	Remove(o Object)
}

// UnitReplayer is the batch path: an exact-match cache whose capacity counts objects hands over whole runs of requests,
// so that a policy's own methods inline into its own loop. first is the position of objects[0] in the trace.
// It returns how many requests hit and how many objects were evicted. The answers equal those of the one-by-one calls;
// one test of the suite holds every policy to that. One value of a policy is driven either way, never both.
type UnitReplayer interface {
	Policy
	ReplayUnit(objects []Object, first int) (hits, evictions int)
}

// Admitter is implemented by policies that may refuse an object although there is room, or that cap object sizes.
// The cache asks after Miss and before Victim; a refused request is a miss that changes nothing further.
type Admitter interface {
	Admit(r Request) bool
}

// Resizer is implemented by policies whose bookkeeping depends on the capacity: the limits of segments and ghosts,
// targets, windows. Resize is called when the capacity changes, before the victims of a shrink are asked for, so that
// more may be resident than fits until then. A policy that is not a Resizer needs to know nothing of its capacity.
type Resizer interface {
	// Resize sets the capacity, in the unit of Config.Capacity and at least 1. The same capacity again changes nothing.
	Resize(capacity int64)
}

// Grower is implemented by policies with memory per object. A pool numbers its objects in the order in which it meets
// them, begins with a Config.Objects of few and calls Grow before it names a further one, so that thousands of pools
// take memory by what each has met and not by all objects of the trace.
type Grower interface {
	// Grow makes room for objects up to objects-1. What a policy with Config.Grows does is the same as if Config.Objects
	// had been as many from the start. Grow is not called between batches of ReplayUnit.
	Grow(objects int)
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
	Objects  int    // number of distinct objects; every Object is below it, until Grow says otherwise
	Grows    bool   // Objects are few at first, and Grow will be called
	Requests int    // length of the trace
	Seed     uint64 // the only source of randomness
	Params   Values // every parameter of the Entry, defaults filled in

	// Holds says that the cache holds objects, so that a Holder is wanted. Only entries with Holds are told.
	Holds bool

	// NextUse gives, for each position of the trace, the position of the next request to the same object, or Never.
	// Only entries of kind Offline get it; it is nil for all others.
	NextUse []uint32
	// Sequence are the objects by position: what will be asked. Only entries of kind Offline get it, and from caches whose
	// objects are numbered as in the trace. Without it they do not know when an object is needed that is loaded before the
	// trace asks for it the first time, and take it for one that is not needed.
	Sequence []Object

	// Groups are the positions at which requests that come together begin, the keys of a batch, say. Nil: each comes
	// alone.
	Groups []int

	// Relations is set for entries with Relates in every cache, and for no others.
	Relations *Relations

	// Predictor is set for entries with Predicts, and for no others. The policy reports each request to it, after the
	// eviction that it caused.
	Predictor predict.Predictor
}

// room returns how many objects fit, at most all of them.
func (c Config) room() int { return int(min(c.Capacity, int64(c.Objects))) }
