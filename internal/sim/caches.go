package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// CacheEntry describes one kind of cache.
type CacheEntry struct {
	Name    string
	Summary string // one line: what a hit is and what may leave
	Source  string
	Params  []params.Param
	// Metrics are those of its own, beside what every cache counts and its policy reports.
	Metrics []metric.Metric
	// ObjectsOnly says that capacities count objects, whatever their sizes.
	ObjectsOnly bool
	// Keys says that it hashes the keys of the trace, which must be loaded for it.
	Keys bool
	// Prompts says that it serves prompts, chains of blocks, and so needs a trace of them; a warm-up then counts prompts.
	Prompts bool
	// Queries says that it serves queries with embeddings, and so needs a trace of them.
	Queries bool
	// Check refuses a policy that cannot work in such a cache; nil where all can.
	Check func(values params.Values, policy policies.Entry) error
	New   func(CacheConfig) (Cache, error)
}

// Signature implements params.Named.
func (e CacheEntry) Signature() (string, []params.Param) { return e.Name, e.Params }

// CacheConfig is what a cache is built from.
type CacheConfig struct {
	Trace    *traces.Trace // what will be served; a cache must not look ahead
	Capacity int64
	Unit     bool // capacity counts objects
	Params   params.Values
	Policy   policies.Spec
	// Seed is that of the policy's random choices. A cache that has several policies makes one for each from it.
	Seed    uint64
	NextUse func() []uint32 // per position of Trace; only for policies that are offline
	// Relations is what policies with Relates get to see; nil for others. Neighbours is set in caches of queries, and for
	// no others.
	Relations  *policies.Relations
	Neighbours *similarity.Neighbours
	// Predictor is the one that all policies of the cache share; nil where the policy asks none.
	Predictor predict.Predictor
}

// policyConfig returns what the policy of a cache that has only one is built from.
func (c CacheConfig) policyConfig() policies.Config {
	config := policies.Config{
		Capacity:  c.Capacity,
		Unit:      c.Unit,
		Objects:   c.Trace.NumObjects,
		Requests:  len(c.Trace.Objects),
		Seed:      c.Seed,
		Params:    c.Policy.Params,
		Groups:    c.Trace.Groups,
		Predictor: c.Predictor,
		Relations: c.Relations,
	}
	if c.Policy.Entry.Kind == policies.Offline {
		config.NextUse, config.Sequence = c.NextUse(), c.Trace.Objects
	}
	return config
}

// CacheSpec is a kind of cache with its parameters: what a user writes as `sets(ways=64)`.
type CacheSpec = params.Spec[CacheEntry]

var cacheEntries = []CacheEntry{exactEntry, setsEntry, prefixEntry, semanticEntry}

func init() {
	for _, e := range cacheEntries {
		metric.Register("cache "+e.Name, e.Metrics...)
	}
}

var caches = params.Table("cache", "exact", cacheEntries)

// Caches returns every entry in the order in which `cachesim caches` prints them.
func Caches() []CacheEntry { return slices.Clone(cacheEntries) }

// ParseCache reads one kind of cache.
func ParseCache(text string) (CacheSpec, error) { return caches.Parse(text) }

// ParseCaches reads a comma-separated list of kinds of caches.
func ParseCaches(text string) ([]CacheSpec, error) { return caches.ParseList(text) }

// CacheNames returns the names of the kinds of caches.
func CacheNames() []string { return caches.Names() }

// ExactCache is the cache in which a request hits where its own object is resident.
func ExactCache() CacheSpec { return CacheSpec{Entry: exactEntry, Params: params.Values{}} }

// Needs returns what the cells of these caches and policies need of their trace; bytes says that a capacity counts
// bytes. Keys are for caches that hash them, and for policies that make topics of their prefixes in caches that know
// nothing better of the objects.
func Needs(caches []CacheSpec, specs []policies.Spec, bytes bool) (needs traces.Needs) {
	needs.Sizes = bytes
	for _, c := range caches {
		for _, p := range specs {
			relates, queries := p.Entry.Relates, c.Entry.Queries
			needs = needs.Union(traces.Needs{
				Times: policies.NeedsClock(p), Keys: c.Entry.Keys || relates && !queries,
				Kind: queries || relates, Embeddings: queries,
			})
		}
	}
	return needs
}
