package policies

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/oracle"
)

// Kind says what an Entry knows and is.
type Kind int

const (
	Online  Kind = iota // sees the past only
	Offline             // sees the whole trace
	Bound               // no policy: a bound on misses that no policy can undercut
)

func (k Kind) String() string { return [...]string{"online", "offline", "bound"}[k] }

// Units says in which units of capacity an Entry works.
type Units int

const (
	UnitsBoth    Units = iota
	UnitsObjects       // capacity counts objects only
	UnitsBytes         // capacity counts bytes only
)

// Entry describes one policy for the registry.
type Entry struct {
	Name    string
	Aliases []string // other names that users know it by
	Summary string   // one line: what it evicts
	Source  string   // the paper or page that defines it
	Family  Family   // set by Register
	Kind    Kind
	Units   Units
	// Bypass says that a missed object may be left out of the cache, so that the optimum under the same rules is
	// opt-bypass.
	Bypass bool
	// BypassIf says the same where it depends on parameters; nil where it does not.
	BypassIf func(Values) bool
	// Unbounded says that capacity is ignored; its optimum has room for everything.
	Unbounded bool
	// ReuseDistances says that the policy is LRU and wants its counts at many capacities read off one pass over reuse
	// distances.
	ReuseDistances bool
	// OnePass says that the policy is LRU: its counts may be read off such a pass where a cell permits it.
	OnePass  bool
	Random   bool // makes random choices, so that its counts depend on the seed
	Holds    bool // New makes a Holder where Config.Holds is set
	Predicts bool // asks a predictor when objects come back: Config.Predictor
	Relates  bool // makes use of how objects relate: Config.Relations
	// SimilarFrom returns the least similarity that the policy asks for in a cache with these values of Relations.HitFrom
	// and Relations.Tau. Only with Relates.
	SimilarFrom func(v Values, hitFrom, tau float64) float64
	// Similar says that an Offline entry knows by similarity what will hit, and that a Bound holds where similar objects
	// answer each other. Others know when the same object is requested next, and work only in caches in which that is what
	// hits.
	Similar bool
	// NeedsTime reports whether it cannot work on a trace without a clock; nil: it can.
	NeedsTime func(Values) bool
	// Reference reports whether others are held against it by some rules: as the best policy that knows the whole trace
	// where its Kind is Offline, as the bound beside that where it is Bound. By any rules that is one of each Kind at
	// most; nil where it never is.
	Reference func(Rules) bool
	// Memory is what it takes beside the trace, with its default parameters; the zero Memory stands for that of a
	// policy that keeps little.
	Memory Memory
	// Look is how it looks in figures.
	Look Look
	// Guarantee returns what is proven of it with room for so many objects; nil where nothing is.
	Guarantee func(v Values, capacity int) Guarantee
	Params    []Param
	// Metrics are those that it reports beside the counts of the cache: its Counters.
	Metrics []metric.Metric
	// Check refuses values of Params that mean nothing, alone or together; nil where their types and ranges say all.
	Check func(Values) error
	New   func(Config) (Policy, error) // nil for a Bound
	// InSets makes one value for all sets of a set-associative cache; nil: such a cache has a policy for each set.
	InSets func(SetsConfig) (SetsPolicy, error)
	// LowerBound returns the least number of misses that any schedule can have on these requests; set for a Bound only.
	LowerBound func(BoundInput) (misses float64, err error)
}

// Memory is what a policy takes, in bytes.
type Memory struct {
	Fixed     float64
	PerObject float64 // of the trace
	PerSlot   float64 // for an object that fits into the cache
}

// sizeBytes is what sizes, and links between objects of different size, take per object where capacities count bytes.
const sizeBytes = 16

// Bytes returns what a policy takes for a trace with so many objects and a cache that holds so many of them.
func (m Memory) Bytes(objects, slots int64, bytes bool) int64 {
	if m.PerObject+m.PerSlot == 0 {
		m.PerObject, m.PerSlot = 32, 16
	}
	total := m.Fixed + m.PerObject*float64(objects) + m.PerSlot*float64(slots)
	if bytes {
		total += sizeBytes * float64(objects)
	}
	return int64(total)
}

// Signature implements params.Named.
func (e Entry) Signature() (string, []Param) { return e.Name, e.Params }

// Bypasses reports whether a missed object may be left out of the cache under these parameters.
func (e Entry) Bypasses(v Values) bool { return e.Bypass || e.BypassIf != nil && e.BypassIf(v) }

// CheckValues implements params.Checker.
func (e Entry) CheckValues(v Values) error {
	if e.Check == nil {
		return nil
	}
	return e.Check(v)
}

// NeedsClock reports whether the policy of a spec cannot work on a trace without a clock.
func NeedsClock(s Spec) bool { return s.Entry.NeedsTime != nil && s.Entry.NeedsTime(s.Params) }

// BoundInput is what a lower bound is computed from.
type BoundInput struct {
	oracle.BoundInput
	Relations *Relations // as in Config
}

// Family says by what idea a policy chooses.
type Family int

// The families, in the order in which `cachesim policies` prints them.
const (
	Queues     Family = iota // in order of arrival
	LastUse                  // by the last request
	Adaptive                 // by requests before the last, and by what the past says of their worth
	Frequency                // by the number of requests
	Experts                  // by the advice of several policies, weighed by regret
	Admission                // by the frequency at which a missed object must beat a resident one
	Sampled                  // by the value of a few residents
	Baselines                // at random, or nothing
	Foresight                // by what comes, and bounds on that
	Predicting               // by predictions of what comes
	Topics                   // by the topics of queries
)

// registry has every policy, family by family.
var registry []Entry

func init() {
	Register(Queues, fifoEntry, clockEntry, sieveEntry, s3fifoEntry, twoQEntry)
	Register(LastUse, lruEntry, lruStackEntry, mruEntry, slruEntry, ttlEntry)
	Register(Adaptive, arcEntry, carEntry, lirsEntry, lruKEntry, mqEntry)
	Register(Frequency, lfuEntry, lfuDAEntry, gdsfEntry)
	Register(Admission, tinyLFUEntry, wTinyLFUEntry)
	Register(Sampled, hyperbolicEntry, lhdEntry)
	Register(Baselines, randomEntry, markerEntry, uniformEntry, infiniteEntry)
}

// Register adds entries to a family, after those that it has. Packages of policies below this one call it when the
// program starts, each once; package all imports them.
func Register(family Family, entries ...Entry) {
	for _, e := range entries {
		if _, ok := Find(e.Name); ok {
			panic("policies: two policies are called " + e.Name)
		}
		e.Family = family
		registry = append(registry, e)
		metric.Register("policy "+e.Name, e.Metrics...)
	}
	slices.SortStableFunc(registry, func(a, b Entry) int { return cmp.Compare(a.Family, b.Family) })
}

// All returns every entry in the order of the registry.
func All() []Entry { return slices.Clone(registry) }

// Find returns the entry with that name or alias; case does not matter.
func Find(name string) (Entry, bool) {
	name = strings.ToLower(name)
	for _, e := range registry {
		if e.Name == name || slices.Contains(e.Aliases, name) {
			return e, true
		}
	}
	return Entry{}, false
}

// Names returns the names of all entries in the order of the registry.
func Names() []string {
	names := make([]string, len(registry))
	for i, e := range registry {
		names[i] = e.Name
	}
	return names
}
