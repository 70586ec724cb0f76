package policies

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Object is the dense number of an object in the trace, or in the pool that the policy serves.
type Object = requests.Object

// NoObject is the object of a request that has none: see Shrink.
const NoObject = requests.NoObject

// Reason says why an object is requested or loaded.
type Reason = requests.Reason

const (
	Demand   = requests.Demand
	Prefetch = requests.Prefetch
	Restore  = requests.Restore
	Shrink   = requests.Shrink
)

// Request is one request. Its Query is set if Config.Relations is.
type Request = requests.Request

// Policy decides which object to evict. A cache serves a request with these calls:
//
//	resident:      Hit
//	not resident:  Miss, then Victim until there is room, then Insert
//
// An object that is loaded without a request of the trace (Prefetch, Restore) causes the calls of a miss. A policy must
// not learn from it as from a request: predictors do not see it, no phase begins, and frequency estimates and adaptive
// parameters stay as they are. A policy to which this makes no difference treats it as any other miss.
//
// A cache that has shrunk asks for victims with the reason Shrink and makes no other calls around that.
//
// The cache counts what is resident and how full it is. Objects larger than the cache never reach the policy.
type Policy interface {
	// Hit reports a request to a resident object. What it is charged stays as it is, unless the request writes and states
	// another size: see SizeFollower.
	Hit(r Request)
	// Miss reports a request to an object that is not resident. Ghosts and statistics are updated here, before room is
	// made.
	Miss(r Request)
	// Victim chooses one resident object to make room for r, and forgets it. The answer r.Object means: do not admit r;
	// the cache then neither asks again nor calls Insert. For Shrink there is no such answer: a resident object must be
	// evicted. Victim is called only while at least one object is resident.
	Victim(r Request) Object
	// Insert reports that r's object is now resident.
	Insert(r Request)
	// Remove reports that a resident object was dropped for a reason other than the policy's choice (expiry, a quota that
	// shrank).
	Remove(o Object)
}

// UnitReplayer is the batch path of an exact-match cache with a capacity in objects. The cache passes whole runs of
// requests, so that a policy's methods inline into its own loop. first is the position of objects[0] in the trace.
// ReplayUnit returns how many requests hit and how many objects were evicted. The suite checks that the one-by-one
// calls give the same. A policy value is driven in one way or the other, never both.
type UnitReplayer interface {
	Policy
	ReplayUnit(objects []Object, first int) (hits, evictions int)
}

// UnitServer is the batch path of a pool in which every object is charged 1, and which also changes between batches:
// by loads without requests, drops and new capacities. A policy value may be driven in both ways; a test of the suite
// checks that they have the same results. All requests must be admitted.
type UnitServer interface {
	Policy
	// ServeUnit serves requests of the trace in order. It keeps resident up to date, which says whether each object is
	// resident; room is the number of further objects that fit. It appends each object that is loaded or evicted to
	// changed, in order, and returns changed and the remaining room.
	ServeUnit(objects []Object, resident []bool, room int64, changed []Object) (left int64, all []Object)
}

// Admitter is implemented by policies that may refuse an object even if there is room, or that cap object sizes. The
// cache asks after Miss and before Victim. A refused request is a miss with no further effect.
type Admitter interface {
	Admit(r Request) bool
}

// Resizer is implemented by policies whose bookkeeping depends on the capacity: limits of segments and ghosts, targets,
// windows. Resize is called when the capacity changes, before the cache asks for the victims of a shrink, so that more
// may be resident than fits until then. A policy that is not a Resizer does not depend on its capacity.
type Resizer interface {
	// Resize sets the capacity, in the unit of Config.Capacity and at least 1. Setting the same capacity again changes
	// nothing.
	Resize(capacity int64)
}

// SizeFollower is implemented by policies that remember what objects are charged. A policy that is not one does not
// depend on sizes; a test of the suite checks that.
type SizeFollower interface {
	// Resized reports that a write has replaced the value of a resident object, which is charged size from now on, at
	// most the capacity. It follows the Hit of that write, whose Size it is. More may be resident now than fits: the
	// cache then asks for victims as for a shrink, and o itself may be one.
	Resized(o Object, size int64)
}

// ProposalFollower is implemented by policies that simulate others and follow one of them. What a prefetcher proposes
// is for all of these, whether or not the cache has it: else those that are not followed would look worse than they
// are.
type ProposalFollower interface {
	// Proposed reports that a prefetcher has proposed a resident object, by the request that would have loaded it.
	Proposed(r Request)
}

// Grower is implemented by policies with memory per object. A pool numbers its objects in the order in which it meets
// them, starts with a small Config.Objects, and calls Grow before it names a further one. So thousands of pools need
// memory only for the objects that each has met.
type Grower interface {
	// Grow makes room for objects up to objects-1. A policy with Config.Grows behaves as if Config.Objects had been
	// that large from the start. Grow is not called between batches of ReplayUnit.
	Grow(objects int)
}

// Expirer is implemented by policies with timers. Before each request the cache calls Expired with the request's time
// until it returns false, and drops each object returned. The policy has already forgotten the object: Remove is not
// called.
type Expirer interface {
	Expired(now int64) (o Object, ok bool)
}

// Counter is one number that a part reports about itself after a replay: the value of a metric that its entry declares.
type Counter struct {
	name  string
	Value float64
}

func Count(m metric.Metric, value float64) Counter { return Counter{m.Name, value} }

// CountOf returns the counter of a metric with labels for one of them.
func CountOf(m metric.Metric, label string, value float64) Counter {
	return Counter{m.Of(label), value}
}

// CountAll returns the counters of measured values, by name.
func CountAll(v metric.Values) (all []Counter) {
	for name := range v.Names() {
		value, _ := v.Get(name)
		all = append(all, Counter{name, value})
	}
	return all
}

// MergeCounters adds the counters of one part to those of others, each by the rule of its metric.
func MergeCounters(sum metric.Values, part []Counter) metric.Values {
	var own metric.Values
	for _, c := range part {
		own.SetNamed(c.name, c.Value)
	}
	return sum.Merge(own)
}

// Name is the name of the metric, with its label.
func (c Counter) Name() string { return c.name }

// Reporter is implemented by policies with counters of their own.
type Reporter interface {
	Counters() []Counter
}

// Remarker is implemented by policies that may have to say, after a replay, that they did something else than their
// name promises.
type Remarker interface {
	Remark() string // "" for nothing
}

// Never is the next-use position of an object that is not requested again.
const Never = oracle.Never

// Config is what a policy is built from.
type Config struct {
	Capacity int64  // objects if Unit, otherwise bytes; at least 1
	Unit     bool   // every object is charged 1
	Objects  int    // number of distinct objects; every Object is below it, until Grow raises it
	Grows    bool   // Objects is small at first, and Grow will be called
	Requests int    // length of the trace
	Seed     uint64 // the only source of randomness
	Params   Values // every parameter of the Entry, defaults filled in

	// Holds says that the cache holds objects, so that it needs a Holder. Set only for entries that make one.
	Holds bool

	// NextUse gives, for each position of the trace, the position of the next request to the same object, or Never. Set
	// only for entries of kind Offline, nil for all others.
	NextUse []uint32
	// Sequence lists the requested object at each position of the trace, in caches that number objects as the trace does.
	// It is set for entries of kind Offline, and with Holds where each request has its position in the trace. Without it
	// the first do not know the first request to an object that is loaded before that request, and treat the object as
	// never needed; and both take 4 bytes more per request.
	Sequence []Object

	// Groups are the positions at which groups of requests that come together begin, such as the keys of a batch. Nil:
	// each request comes alone.
	Groups []int

	// BlockTokens is the number of tokens in a block, where requests are blocks of prompts and the cache knows it.
	BlockTokens int

	// Uncounted says that a PromptHolder must not count how many prompts have had a block.
	Uncounted bool

	// MoreEvents says that a PromptHolder is told of a prompt's begin and end twice each, and of the begin again for each
	// part of the prompt that is loaded later.
	MoreEvents bool

	// Key returns the key of an object in the trace, an integer of 64 bits whose sign is flipped, so that the smaller key
	// is the smaller number. Set only for entries with Keys; nil if keys are unknown, or not all of them are integers.
	Key func(Object) uint64

	// Relations is set in every cache for entries with Relates, and for no others.
	Relations *Relations

	// Predictor is set for policies that are a PredictorUser, and for no others.
	Predictor predict.Predictor

	// Life is how long the policy is used; nil if nobody knows that. Only policies that are more than memory need it.
	Life *Life
}

// Room returns how many objects fit, at most all of them.
func (c Config) Room() int { return int(min(c.Capacity, int64(c.Objects))) }
