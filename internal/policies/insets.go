package policies

import (
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

// SetsPolicy is the batch path of set-associative caches: one value serves all sets and does its own replacement in
// their slots. A cache passes the requests of a batch to LookUp, in one call or several, and then loads what they
// missed. Positions grow from call to call, and no request comes twice.
//
// Each key of a batch is looked up as often as it is requested, but fetched only once: the first lookup of a missing
// key is a miss and the others are hits, since the same fetch serves them. So misses are fetches, as in the exact
// cache.
//
// Counters and predictions in the background work as for a Policy: Reporter, Background.
type SetsPolicy interface {
	// LookUp looks up requests of the current batch and returns how many objects must be fetched. first is the position
	// of objects[0] in the trace. times are the times of the requests in nanoseconds; nil without a clock.
	LookUp(objects []Object, first int, times []int64) (fetches int)
	// Missed returns what the current batch has missed so far, each object once. The slice is valid until Load.
	Missed() []Object
	// Keep lets Load load only those of Missed that are admitted. It is called once, at the end of a batch.
	Keep(admitted func(o Object) bool)
	// Load ends the batch before the request at end. It loads what was missed, in the order of the first lookups, and
	// returns how many objects were evicted.
	Load(end int) (evictions int)
	// Used returns how many slots are taken.
	Used() int64
}

// SetsConfig is what a SetsPolicy is built from.
type SetsConfig struct {
	Geometry  *slabs.Geometry
	Params    Values            // every parameter of the Entry
	Predictor predict.Predictor // as in Config
}

// Background is implemented by policies that can make predictions in the background, while requests go on.
type Background interface {
	// UseClock makes clock decide when the predictions made in the background are known. It returns false if the policy
	// waits for its predictions, and an error if a parameter already decides when they are known; the error names the
	// parameter. It is called before the first request.
	UseClock(clock predict.Worker) (background bool, err error)
}

// SetsDescription is a SetsPolicy as data.
type SetsDescription struct {
	slabs.Replacement
	Counters func(slabs.Tally) []Counter // as Reporter returns them; nil if there are none
}
