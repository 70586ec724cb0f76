package cache

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/traces"
)

// Associative describes a set-associative cache as data, for devices that replay sets on their own. The cache hashes
// the keys of the trace, so these must be loaded.
type Associative struct {
	// Describe describes the cache of a cell whose policy has a description. If there is none with these parameters, why
	// says the reason.
	Describe func(capacity int64, v params.Values, policy policies.Spec) (d AssociativeCache, why string)
	// Places returns two numbers for each object of a trace. The first, modulo the number of sets, is its set; the second,
	// modulo the number of slabs, is the slab to probe first.
	Places func(t *traces.Trace) (sets []uint32, slabs []uint64)
	// Batches returns how many batches the requests of a trace come in.
	Batches func(t *traces.Trace, v params.Values) int
}

// AssociativeCache is a set-associative cache as data.
type AssociativeCache struct {
	slabs.Geometry     // without Home
	Batch          int // requests that are looked up together, if the trace does not group them
	slabs.Replacement
	// Counters returns the counters of the cache and its policy.
	Counters func(batches int, t slabs.Tally) []policies.Counter
}
