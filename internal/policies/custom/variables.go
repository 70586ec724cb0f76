package custom

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/formula"
	"github.com/cachesim/cachesim/internal/policies"
)

// resident is what a ranked policy knows about an object in the cache.
type resident struct {
	loaded, last   uint32 // positions of its load and of its last request, or of a load without one
	hits           uint32 // since its load
	requests       uint32 // the same, and the request that loaded it
	ghostRequests  uint32 // of its time in the cache before, if it was remembered when it was loaded
	ghostAge       uint32
	ghost          bool
	loadedAt, used int64   // the same moments as loaded and last, in nanoseconds
	victim         float64 // rank of the last victim at its last request
}

// variable is a number that a formula may use.
type variable struct {
	name, doc string
	// changes says that it may change without a request to the object; shared that it is the same for all objects.
	changes, shared bool
	value           func(p *ranked, o policies.Object, r *resident) float64
}

// Variables that need more than others.
const (
	nextName   = "next"
	victimName = "victim"
)

// variables are all of them. Positions count the requests before one.
var variables = []variable{
	{"hits", "hits since the object was loaded", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return float64(r.hits) }},
	{"requests", "the same, and the request that loaded it", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return float64(r.requests) }},
	{"total", "its requests so far, those before it was loaded too", false, false,
		func(p *ranked, o policies.Object, _ *resident) float64 { return float64(p.history.total[o]) }},
	{"size", "its size in bytes; 1 if capacities count objects", false, false,
		func(p *ranked, o policies.Object, _ *resident) float64 { return float64(p.charges.Of(o)) }},
	{"now", "the position of the current request", true, true,
		func(p *ranked, _ policies.Object, _ *resident) float64 { return float64(p.now) }},
	{"loaded", "the position at which the object was loaded", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return float64(r.loaded) }},
	{"last", "the position of its last request", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return float64(r.last) }},
	{"now_s", "the time of the current request, in seconds", true, true,
		func(p *ranked, _ policies.Object, _ *resident) float64 { return seconds(p.clock) }},
	{"loaded_s", "the time at which the object was loaded, in seconds", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return seconds(r.loadedAt) }},
	{"last_s", "the time of its last request, in seconds", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return seconds(r.used) }},
	{"ghost", "1 if it was evicted not long before it was loaded, else 0: see the parameter ghosts", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 {
			if r.ghost {
				return 1
			}
			return 0
		}},
	{"ghost_requests", "its requests in its time in the cache before, if ghost is 1, else 0", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return float64(r.ghostRequests) }},
	{"ghost_age", "how many requests that time lasted, if ghost is 1, else 0", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return float64(r.ghostAge) }},
	{victimName, "the rank that the last victim had when the object was last requested, 0 before the first", false, false,
		func(_ *ranked, _ policies.Object, r *resident) float64 { return r.victim }},
	{"residents", "the number of objects in the cache", true, true,
		func(p *ranked, _ policies.Object, _ *resident) float64 { return float64(p.slots.Len()) }},
	{nextName, "the predicted position of the next request to the object, as the predictor of --predictor says; " +
		"infinite for never", true, false, nil}, // predicted for all rows at once
}

// timed are the variables that need a trace with a clock, ghostly those that need what is known of evicted objects.
var (
	timed   = []string{"now_s", "loaded_s", "last_s"}
	ghostly = []string{"ghost", "ghost_requests", "ghost_age"}
)

func seconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e9 }

// Functions of a formula beside those of numbers.
const (
	gapName      = "gap"
	quantileName = "quantile"
)

// mostGaps is the largest k of gap(k).
const mostGaps = 32

// names are what formulas may use.
func names() formula.Names {
	n := formula.Names{Indexed: []string{gapName}, Shares: []string{quantileName}, MaxIndex: mostGaps,
		Missing: map[string]string{
			"cost": "traces do not say what a miss costs; write what it costs by size, as 2 + size/536",
			"age":  "write now - loaded, or now - last for the time since the last request",
			"idle": "write now - last",
			"key":  "a rank that depends on names would be one trace's alone",
		}}
	for _, v := range variables {
		n.Values = append(n.Values, v.name)
	}
	return n
}

// history is what is known of all objects, resident or not.
type history struct {
	total []uint32   // requests
	past  [][]uint32 // per k: 1 + the position of the k-th last request; 0 if there was none
	// of the last eviction
	evicted  []uint32 // how many objects had been evicted before, and it; 0 if it never was
	requests []uint32 // in that time in the cache
	age      []uint32 // how long that was, in requests
}

// request reports a request at a position.
func (h *history) request(o policies.Object, pos uint32) {
	h.total[o]++
	for k := len(h.past) - 1; k > 0; k-- {
		h.past[k][o] = h.past[k-1][o]
	}
	if len(h.past) > 0 {
		h.past[0][o] = pos + 1
	}
}

// gap returns how many requests there were from the (k+1)-th last request to the k-th last; infinity if there are
// fewer.
func (h *history) gap(o policies.Object, k int) float64 {
	later, earlier := h.past[k-1][o], h.past[k][o]
	if earlier == 0 {
		return math.Inf(1)
	}
	return float64(later - earlier)
}
