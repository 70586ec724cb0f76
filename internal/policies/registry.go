package policies

import (
	"cmp"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/oracle"
)

// Kind says what an Entry is and how much of the trace it sees.
type Kind int

const (
	Online  Kind = iota // sees the past only
	Offline             // sees the whole trace
	Bound               // not a policy: a lower bound on misses
)

func (k Kind) String() string { return [...]string{"online", "offline", "bound"}[k] }

// Units says which units of capacity an Entry supports.
type Units int

const (
	UnitsBoth    Units = iota
	UnitsObjects       // capacity counts objects only
	UnitsBytes         // capacity counts bytes only
)

// Entry describes one policy for the registry. It implements params.Named, params.Aliased, params.Checker,
// params.Resolver and params.Open.
type Entry struct {
	Name    string
	Aliases []string // other names that users know it by
	Summary string   // one line: what it evicts
	Source  string   // the paper or page that defines it
	Family  Family   // set by Register
	Kind    Kind
	Units   Units
	// Bypass says that a missed object need not be loaded, so that the optimum under the same rules is opt-bypass.
	Bypass bool
	// BypassIf is Bypass if that depends on parameters; otherwise nil.
	BypassIf func(Values) bool
	// Idle says that it loads nothing: every request misses.
	Idle bool
	// Unbounded says that the capacity is ignored: its optimum has room for everything.
	Unbounded bool
	// ReuseDistances says that the policy is LRU with its counts at many capacities computed in one pass over reuse
	// distances.
	ReuseDistances bool
	// OnePass says that the policy is LRU: its counts may come from such a pass if a cell allows it.
	OnePass bool
	Random  bool // makes random choices, so that its counts depend on the seed
	// IgnoresHits says that a hit changes nothing, so that a cache has no list to update.
	IgnoresHits bool
	Relates     bool // uses how objects relate: Config.Relations
	// ShortFor says that the name is short for a kind of cache with a policy inside: it returns the name of the cache, its
	// parameters, and the policy. New is nil then, and nothing can use it as a policy. Nil for all others.
	ShortFor func(Values) (cache string, in Values, inside Spec)
	// ShortInside says that the name also works in that cache. It then sets the parameters that ShortFor returns, and no
	// others.
	ShortInside bool
	// InGroups says that the cache of prompts keeps a model with several kinds of layers in groups, as the engine of the
	// policy does, and evicts as that does.
	InGroups bool
	// InStates says the same of a model whose layers keep states beside keys and values.
	InStates bool
	// Resolve changes the fields that depend on the parameters, in the entry of one spec; nil if none do.
	Resolve func(*Entry, Values)
	// SimilarFrom returns the least similarity that the policy needs in a cache with these values of Relations.HitFrom
	// and Relations.Tau. Set only with Relates.
	SimilarFrom func(v Values, hitFrom, tau float64) float64
	// Similar says that an Offline entry takes similarity into account, or that a Bound holds if similar objects answer
	// each other. Other offline entries work only in caches where an object answers only its own requests.
	Similar bool
	// NeedsTime reports whether it needs a trace with a clock; nil if it never does.
	NeedsTime func(Values) bool
	// Prompts says that a Bound holds in caches that serve prompts, and only there.
	Prompts bool
	// Keys reports whether it depends on the keys of objects; nil if it never does.
	Keys func(Values) bool
	// Reference reports whether others are compared with it under some rules: with the best offline policy (Kind Offline),
	// or with a bound (Kind Bound). Each Kind has at most one under any rules. Nil: never.
	Reference func(Rules) bool
	// Memory is what it takes beside the trace, with its default parameters; the zero Memory says that it keeps little.
	Memory Memory
	// Look is how it looks in figures.
	Look Look
	// Guarantee returns what is proven about it with room for capacity objects; nil if nothing is.
	Guarantee func(v Values, capacity int) Guarantee
	// Game returns how it chooses victims with room for capacity objects; nil, or false, if a Game does not say that.
	Game   func(v Values, capacity int) (Game, bool)
	Params []Param
	// OpenParams says that it takes further parameters, which are numbers. Check must refuse those that it does not know.
	OpenParams bool
	// Metrics are what it reports in its Counters, beside the counts of the cache.
	Metrics []metric.Metric
	// Check refuses values of Params that make no sense, alone or together; nil if their types and ranges suffice.
	Check func(Values) error
	// New makes the policy; nil for a Bound, with ShortFor, for a HeadServer, and where only Resolve can set it.
	New func(Config) (Policy, error)
	// Introduce asks a policy from outside of the program what it is called, and where it is from; each "" if it does not
	// say. Nil for all others.
	Introduce func(Values) (name, source string, err error)
	// Type is a nil pointer of the type that New makes, with Config.Holds if there are two: see Can. Nil if that can do
	// nothing but choose victims.
	Type any
	// InSets makes one value for all sets of a set-associative cache; if nil, such a cache has one policy per set.
	InSets func(SetsConfig) (SetsPolicy, error)
	// DescribeInSets describes what InSets makes for sets of a number of slots, for devices that replay sets on their own.
	// If that has no description, why gives the reason, as in "its predictions are made in the background". Nil if it
	// never has one.
	DescribeInSets func(v Values, ways int) (d SetsDescription, why string)
	// LowerBound returns the least number of misses that any schedule can have on these requests. Set only for a Bound.
	LowerBound func(BoundInput) (misses float64, err error)
}

// Memory is what a policy takes, in bytes.
type Memory struct {
	Fixed     float64
	PerObject float64 // for each object of the trace
	PerSlot   float64 // for each object that fits into the cache
}

// sizeBytes is what sizes, and links between objects of different size, take per object if capacities count bytes.
const sizeBytes = 16

// Planned returns what replays plan with: what a policy states, or what is enough for those that keep little.
func (m Memory) Planned() Memory {
	if m.PerObject+m.PerSlot == 0 {
		m.PerObject, m.PerSlot = 32, 16
	}
	return m
}

// Bytes returns what a policy takes for a trace with a number of objects and a cache with room for slots of them.
func (m Memory) Bytes(objects, slots int64, bytes bool) int64 {
	m = m.Planned()
	total := m.Fixed + float64(m.PerObject*float64(objects)) + float64(m.PerSlot*float64(slots))
	if bytes {
		total += float64(sizeBytes * float64(objects))
	}
	return int64(total)
}

func (e Entry) Signature() (string, []Param) { return e.Name, e.Params }
func (e Entry) OtherNames() []string         { return e.Aliases }

// Bypasses reports whether a missed object need not be loaded under these parameters.
func (e Entry) Bypasses(v Values) bool { return e.Bypass || e.BypassIf != nil && e.BypassIf(v) }

func (e Entry) CheckValues(v Values) error {
	if e.Check == nil {
		return nil
	}
	return e.Check(v)
}

func (e Entry) ResolveValues(v Values) Entry {
	if e.Resolve != nil {
		e.Resolve(&e, v)
	}
	return e
}

// WithNumbers implements params.Open.
func (e Entry) WithNumbers(names []string) Entry {
	if e.OpenParams {
		e.Params = slices.Clip(e.Params)
		for _, name := range names {
			e.Params = append(e.Params, Param{Name: name, Default: math.NaN(), Min: math.Inf(-1)})
		}
	}
	return e
}

// NeedsClock reports whether the policy of a spec needs a trace with a clock.
func NeedsClock(s Spec) bool { return s.Entry.NeedsTime != nil && s.Entry.NeedsTime(s.Params) }

// NeedsKeys reports whether the policy of a spec depends on the keys of objects.
func NeedsKeys(s Spec) bool { return s.Entry.Keys != nil && s.Entry.Keys(s.Params) }

// BoundInput is what a lower bound is computed from.
type BoundInput struct {
	oracle.BoundInput
	Relations *Relations // as in Config
}

// Family is the idea by which a policy chooses its victims.
type Family int

// The families, in the order in which `cachesim policies` prints them.
const (
	Queues     Family = iota // in order of arrival
	LastUse                  // by the last request
	Adaptive                 // by earlier requests too, and by their worth in the past
	Frequency                // by the number of requests
	Experts                  // by the advice of several policies, weighted by regret
	Admission                // by whether a missed object is requested more often than a resident one
	Sampled                  // by the value of a few sampled residents
	Baselines                // at random, or never
	Foresight                // by the future, and bounds on that
	Predicting               // by predictions of the future
	Topics                   // by the topics of queries
	Systems                  // kinds of caches, with a policy inside
	Engines                  // as engines of language models have them
	Servers                  // as servers of key-value pairs and of web pages have them
	Custom                   // as users write them
)

func (f Family) String() string {
	return [...]string{"queues", "last use", "adaptive", "frequency", "experts", "admission", "sampled", "baselines",
		"foresight", "predicting", "topics", "systems", "engines", "servers", "custom"}[f]
}

// Registry has every policy, family by family.
var Registry = params.NewRegistry[Entry]("policy", "lru,arc")

// Known returns a policy of the program with its default parameters. It panics if there is none of that name.
func Known(name string) Spec {
	spec, err := Registry.Parse(name)
	if err != nil {
		panic(err)
	}
	return spec
}

// Register adds entries to the end of a family. Package policies/all calls it for each folder of policies.
func Register(family Family, entries ...Entry) {
	for _, e := range entries {
		e.Family = family
		Registry.Register(e)
	}
	Registry.Sort(func(a, b Entry) int { return cmp.Compare(a.Family, b.Family) })
}
