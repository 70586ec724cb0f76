package cache

import (
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/allocate"
	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/prefetch"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// Entry describes one kind of cache.
type Entry struct {
	Name    string
	Summary string // one line: what a hit is and what may leave
	Source  string
	Params  []params.Param
	// Metrics are those of its own, beside what every cache counts and its policy reports.
	Metrics []metric.Metric
	// Measure makes those of Metrics that follow from its counts; nil where none does.
	Measure func(c Counts, v *metric.Values)
	// ObjectsOnly says that capacities count objects, whatever their sizes.
	ObjectsOnly bool
	// Keys says that it hashes the keys of the trace, which must be loaded for it.
	Keys bool
	// Prompts says that it serves prompts, chains of blocks, and so needs a trace of them; a warm-up then counts prompts.
	Prompts bool
	// Queries says that it serves queries with embeddings, and so needs a trace of them.
	Queries bool
	// Exact says that a request hits where its own object is resident, and any object may leave: what is known of such
	// caches, Belady's optimum and the reuse distances of LRU, holds.
	Exact bool
	// Divides says that the cache can have a pool for each tenant, among which an allocator divides the capacity.
	Divides bool
	// Similarity returns which entries answer a query; nil where a request asks for its own object alone.
	Similarity func(params.Values) Similarity
	// References returns the parameters with which references are replayed; nil: the same.
	References func(params.Values) params.Values
	// CheckTrace refuses a trace that says nothing in such a cache; nil where none does.
	CheckTrace func(params.Values, *traces.Trace) error
	// Prefetches says that a prefetcher can have it load what it is not asked for.
	Prefetches bool
	// OneByOne says that it serves each request by itself, so that what a policy decides belongs to one request.
	OneByOne bool
	// CheckModel refuses parameters that a model of time decides itself; nil where there are none.
	CheckModel func(model string, values params.Values) error
	// Check refuses a policy that cannot work in such a cache; nil where all can.
	Check func(values params.Values, policy policies.Entry) error
	New   func(Config) (Cache, error)
}

// Signature implements params.Named.
func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

// Config is what a cache is built from.
type Config struct {
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
	// Prefetcher proposes what to load besides; nil: nothing is. It is set for caches with Prefetches alone. Addresses
	// finds the objects of the trace by their keys, where the prefetcher computes with them.
	Prefetcher *prefetch.Spec
	Addresses  *prefetch.Addresses
	// Predictor is the one that all policies of the cache share; nil where the policy asks none.
	Predictor predict.Predictor
	// Observer is told what happens in the pool of the cache; nil: nobody. Only caches with OneByOne have one to tell of.
	Observer Observer
	// Occupancy says that the cache will be asked how full it is: see Occupied.
	Occupancy bool
	// Allocator divides the capacity among the tenants of Trace; nil: the cache is not divided. It is set for caches with
	// Divides alone.
	Allocator *allocate.Spec
	Warmup    int // requests of Trace at the start that do not count
}

// objects returns how many objects a cache can hold one of: those of the trace, and the strangers that a prefetcher
// may propose.
func (c Config) objects() int {
	if c.Addresses == nil {
		return c.Trace.NumObjects
	}
	return c.Trace.NumObjects + c.Addresses.Strangers()
}

// PolicyConfig returns what the policy of a cache that has only one is built from.
func (c Config) PolicyConfig() policies.Config {
	config := policies.Config{
		Capacity:  c.Capacity,
		Unit:      c.Unit,
		Objects:   c.objects(),
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

// Spec is a kind of cache with its parameters: what a user writes as `sets(ways=64)`.
type Spec = params.Spec[Entry]

// registry lists the caches of this package; those of the packages below this one come after them.
var registry []Entry

func init() { Register(exactEntry) }

// Register adds entries to the registry. Packages of caches below this one call it when the program starts, each once;
// package all imports them.
func Register(entries ...Entry) {
	for _, e := range entries {
		if _, ok := Find(e.Name); ok {
			panic("cache: two caches are called " + e.Name)
		}
		registry = append(registry, e)
		metric.Register("cache "+e.Name, e.Metrics...)
	}
}

var caches = params.Family[Entry]{Kind: "cache", Example: "exact", Find: Find, Names: Names}

// All returns every entry in the order in which `cachesim caches` prints them.
func All() []Entry { return slices.Clone(registry) }

// Find returns the entry with that name; case does not matter.
func Find(name string) (Entry, bool) {
	i := slices.IndexFunc(registry, func(e Entry) bool { return strings.EqualFold(e.Name, name) })
	if i < 0 {
		return Entry{}, false
	}
	return registry[i], true
}

// Parse reads one kind of cache.
func Parse(text string) (Spec, error) { return caches.Parse(text) }

// ParseList reads a comma-separated list of kinds of caches.
func ParseList(text string) ([]Spec, error) { return caches.ParseList(text) }

// Names returns the names of the kinds of caches.
func Names() []string {
	names := make([]string, len(registry))
	for i, e := range registry {
		names[i] = e.Name
	}
	return names
}

// IsExact reports whether a request hits where its own object is resident, and any object may leave.
func IsExact(c Spec) bool { return c.Entry.Exact }

// ExactSpec is the cache in which a request hits where its own object is resident.
func ExactSpec() Spec { return Spec{Entry: exactEntry, Params: params.Values{}} }

// Similarity says which entries answer a query.
type Similarity struct {
	// HitFrom is the similarity from which on an entry answers: IdentityOnly where only that of the query itself does.
	HitFrom float64
	// Tau is the threshold that the cache names, whether queries hit by it or by identity.
	Tau float64
}

// IdentityOnly is a threshold that no similarity reaches: only the entry of the same query answers.
const IdentityOnly = 2

// SimilarityOf returns which entries answer a request in a cache.
func SimilarityOf(c Spec) Similarity {
	if c.Entry.Similarity == nil {
		return Similarity{IdentityOnly, IdentityOnly}
	}
	return c.Entry.Similarity(c.Params)
}

// AnswersSimilar reports whether entries answer other queries than their own in a cache.
func AnswersSimilar(c Spec) bool { return SimilarityOf(c).HitFrom <= 1 }

// ForReferences returns the cache that what a policy is held against is replayed in.
func ForReferences(c Spec) Spec {
	if c.Entry.References != nil {
		c.Params = c.Entry.References(c.Params)
	}
	return c
}
