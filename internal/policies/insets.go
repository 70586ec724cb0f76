package policies

import (
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/predict"
)

// SetsPolicy is the batch path of set-associative caches: one value has all sets, with its own replacement in their
// slots. A cache hands over the requests of a batch, in one call of LookUp or several, and then has what they missed
// loaded. It never sees a request twice, and positions grow from call to call.
//
// Each key of a batch is looked up as often as it is requested, but what it misses is fetched once: of the lookups of a
// missing key the first is a miss, the others hit, since that fetch serves them. So misses are fetches, as they are in
// the exact cache.
//
// Counters and predictions in the background are as those of a Policy: Reporter, Background.
type SetsPolicy interface {
	// LookUp looks requests of the present batch up, the first of them at a position of the trace, and returns how many
	// objects must be fetched. times are those of the requests, in nanoseconds; nil without a clock.
	LookUp(objects []Object, first int, times []int64) (fetches int)
	// Missed returns what the present batch has missed so far, each object once. The slice is good until Load.
	Missed() []Object
	// Load ends the batch before the request at end: it loads what was missed, in the order of the first lookups, and
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

// Background is implemented by policies that may make predictions in the background, while requests go on.
type Background interface {
	// UseClock has clock say when predictions are known that are made in the background. It returns false where the
	// policy waits for its predictions, and an error that names the parameter that says already when they are known. It is
	// called before the first request.
	UseClock(clock predict.Worker) (background bool, err error)
}

// lruInSets is lru for caches of sets: of the objects of a set, the least recently used by batches leaves.
func lruInSets(c SetsConfig) (SetsPolicy, error) { return slabs.NewLRU(c.Geometry), nil }
