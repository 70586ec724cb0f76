package cache

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Entry describes one kind of cache. It implements params.Named, params.Described and params.Checker.
type Entry struct {
	Name    string
	Summary string // one line: what counts as a hit and what can be evicted
	Source  string
	Params  []params.Param
	// Metrics are the cache's own, in addition to what every cache counts and its policy reports.
	Metrics []metric.Metric
	// Measure computes the Metrics that follow from its counts; nil if none do.
	Measure func(c Counts, v *metric.Values)
	// ObjectsOnly says that capacities count objects, whatever their sizes.
	ObjectsOnly bool
	// Holds reports whether running groups of requests hold what they need while others begin; with overlap, a model of
	// time lets several run at once. Nil if none ever do.
	Holds func(v params.Values, overlap bool) bool
	// Shares reports whether nodes share a part of their caches, so that there must be several; nil if they never do.
	Shares func(params.Values) bool
	// Together returns what the caches of several nodes are built by; nil if they have nothing in common.
	Together func(Config) (Together, error)
	// Clock says that it uses the times of requests where the trace has them.
	Clock bool
	// Bypasses says that a missed object need not be loaded, whatever the policy.
	Bypasses bool
	// Random says that it makes random choices, in addition to those of its policy.
	Random bool
	// Memory is what it takes beside its policy; the zero Memory stands for little.
	Memory policies.Memory
	// Pools are the names of the pools that each of its nodes is divided into; nil if the trace decides about pools. An
	// allocator divides the memory of a node among them by pages, without any tenants. Sizes in the trace do not count.
	Pools []string
	// Capacity returns the capacity that the parameters describe, which then takes the place of any other; ok is false if
	// capacities are given besides. Nil if they always are.
	Capacity func(params.Values) (own capacity.Capacity, ok bool)
	// Whole returns the capacity of an exact or prefix cache as large as all parts of this one together. Bounds on its
	// misses hold here, too. Nil if they hold for the capacity itself, or not at all.
	Whole func(Config) (int64, error)
	// Similarity returns which entries answer a query; nil if only the requested object does.
	Similarity func(params.Values) Similarity
	// Tiers returns the caches in front of each other that it consists of, the first one first; nil if it is one.
	Tiers func(params.Values) ([]Tier, error)
	// References returns the parameters for replaying references; nil means the same.
	References func(params.Values) params.Values
	// BlockTokens returns the tokens in the blocks of prompts that it keeps, 0 for those of the trace: the trace that it
	// serves then has such blocks. Nil means 0.
	BlockTokens func(params.Values) int
	// Answers reports whether it keeps the blocks that answers to prompts fill; nil means that it serves requests alone.
	Answers func(params.Values) bool
	// GroupOrder returns the order in which LRU keeps the objects of a group that is requested at once. With it, one pass
	// over the trace gives LRU's counts at every capacity. It also returns how many groups hold their objects while others
	// begin; the capacity must hold all of these. Nil, and NoOrder, if LRU is no stack algorithm in such a cache.
	GroupOrder func(params.Values) (order GroupOrder, running int)
	// Resolve changes the fields that depend on the parameters, in the entry of one spec; nil if none do.
	Resolve func(*Entry, params.Values)
	// Associative describes the cache if it is set-associative; nil for all others.
	Associative *Associative
	// CheckTrace rejects a trace that is meaningless in such a cache; nil if none is.
	CheckTrace func(params.Values, *traces.Trace) error
	// Remark returns a sentence about a trace that was made for another cache, or ""; nil if it never does.
	Remark func(params.Values, *traces.Trace) string
	// OneByOne says that it serves each request separately, so that each decision of a policy belongs to one request.
	OneByOne bool
	// Follow says whether the objects of a cache that serves groups can be observed with some parameters; nil: they
	// cannot, unless OneByOne.
	Follow func(params.Values) error
	// CheckModel rejects parameters that a model of time determines itself, and a model that does not work with a
	// prefetcher, if prefetches; nil if there are none.
	CheckModel func(model string, values params.Values, prefetches bool) error
	// CheckParams rejects values of Params that exclude each other or cannot be read; nil if all are accepted.
	CheckParams func(params.Values) error
	// Check rejects a policy that does not work in such a cache; nil if all do.
	Check func(values params.Values, policy policies.Entry) error
	// Policies returns the policies of its pools, given the cell's; nil if all pools have that one.
	Policies func(values params.Values, cell policies.Spec) []policies.Spec
	// CheckAllocator rejects an allocator that does not work in a cache with Pools.
	CheckAllocator func(values params.Values, allocator allocate.Spec) error
	// Admits rejects parameters under which an admission keeps nothing out, and admissions that do not work in such a
	// cache; nil if a cache has none.
	Admits func(values params.Values, admission admit.Entry) error
	// Bytes estimates the memory of a cache with Pools in addition to its policies, and how often it builds each policy,
	// for how many objects; nil for others. Predicted is as in Config.
	Bytes func(values params.Values, t *traces.Trace, predicted bool) Estimate
	New   func(Config) (Cache, error) // nil if all cells are replayed in one pass; see package kv
	// Types has a value of each type that New makes, a nil pointer where it makes pointers: see Can.
	Types []any
}

// Tier is one of several caches in front of each other.
type Tier struct {
	Name   string // "" for a first one that the trace names
	Shared bool   // by all nodes, instead of each having its own
	// Bytes returns its size on a trace, given that of the first one.
	Bytes func(t *traces.Trace, first int64) (int64, error)
}

// GroupOrder is the order in which LRU keeps the objects of a group.
type GroupOrder int

const (
	NoOrder    GroupOrder = iota
	FirstStays            // the first object is evicted last
	LastStays             // the last object is evicted last, as if they were requested one after another
)

// Estimate is what a cache with several pools needs.
type Estimate struct {
	Bytes    int64 // in addition to the policies, of each node
	Together int64 // of all nodes
	// Policies are the cache's, each with the objects of its pool and how many pools there are.
	Policies []PoolEstimate
}

// PoolEstimate describes equal pools.
type PoolEstimate struct {
	Policy  policies.Entry // the zero value stands for the policy of the cell
	Objects int64
	Slots   int64 // objects that fit into a pool, at most
	Sized   bool  // objects have different sizes
	Chained bool  // only the last blocks of prompts can be evicted
	Pools   int64
	Shared  bool // several nodes share them, instead of each having its own
	// Second estimates the memory of a policy that swaps on all nodes, with slots here instead of a pool; may be nil.
	Second func(c Config, nodes int64) int64
}

// Can reports whether something that an entry makes implements an interface: Can[Dropping](e).
func Can[Capability any](e Entry) bool {
	return slices.ContainsFunc(e.Types, has[Capability])
}

func has[Capability any](made any) bool {
	_, can := made.(Capability)
	return can
}

// NeedsPrompts reports whether it serves nothing but prompts; a warm-up then counts them.
func (e Entry) NeedsPrompts() bool {
	others := func(made any) bool { return !has[Running](made) }
	return e.Types != nil && !slices.ContainsFunc(e.Types, others)
}

// ServesPrompts reports whether it serves the prompts of a trace, instead of objects one by one.
func (e Entry) ServesPrompts(t *traces.Trace) bool {
	return e.NeedsPrompts() || Can[Running](e) && prompts.Of(t.Kind) != nil
}

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

func (e Entry) Describe() params.Description {
	return params.Description{Summary: e.Summary, Source: e.Source}.
		With(e.ObjectsOnly, "capacity in objects only").
		With(e.NeedsPrompts(), "needs a trace of prompts; a warm-up counts them").
		With(Can[Running](e) && !e.NeedsPrompts(), "serves prompts where the trace has them, and objects otherwise")
}

func (e Entry) ResolveValues(v params.Values) Entry {
	if e.Resolve != nil {
		e.Resolve(&e, v)
	}
	return e
}

func (e Entry) CheckValues(v params.Values) error { return params.Check(e.CheckParams, v) }

// Config is what a cache is built from.
type Config struct {
	Trace    *traces.Trace // what will be served; a cache must not look ahead
	Capacity int64
	Unit     bool // capacity counts objects
	// BlockBytes are the bytes of the keys and values of a block; 0 if unknown.
	BlockBytes int64
	Params     params.Values
	Policy     policies.Spec
	// Seed is for the policy's random choices. A cache with several policies derives one for each from it.
	Seed    uint64
	NextUse func() []uint32 // per position of Trace; only for policies that are offline
	// Relations is passed to policies with Relates; nil for others. Neighbours is set only in caches of queries.
	Relations  *policies.Relations
	Neighbours *similarity.Neighbours
	// Prefetcher proposes what else to load; nil for nothing. It is set only for caches that are Prefetching. Addresses
	// finds the objects of the trace by their keys, if the prefetcher computes with them.
	Prefetcher *prefetch.Spec
	Addresses  *prefetch.Addresses
	// Layout is the directory tree of the trace, with Addresses; nil unless the prefetcher or the cache needs it.
	Layout *streams.Layout
	// Key is passed to policies with Keys; nil if they have to do without.
	Key func(policies.Object) uint64
	// Predictor is shared by all policies of the cache; nil if the policy uses none.
	Predictor predict.Predictor
	// FurtherPredictor builds another predictor of the whole trace, with its own seed; nil if the policy uses none.
	FurtherPredictor func(seed uint64) (predict.Predictor, error)
	// NewPredictor builds a predictor for a pool from its numbers of objects and (roughly) requests. Positions are the
	// pool's own. Nil if the policy uses none. It is set only for caches with Pools, instead of Predictor.
	NewPredictor func(objects, requests int, seed uint64) (predict.Predictor, error)
	// NodePredictor builds a predictor for one of several nodes, with a seed of its own. It gets the positions of the
	// node's prompts, each when it begins. Nil if the policy uses none, and without nodes. See ForNode.
	NodePredictor func(groups []int, seed uint64) (predict.Predictor, error)
	// Groups are the positions on a node with predictors of its own; nil: those of Trace.
	Groups *NodeGroups
	// Served is called now and then with the requests that have started since, by caches that are Driven; may be nil.
	Served func(n int)
	// Predicted says that a model computes what is served: nothing becomes resident.
	Predicted bool
	// Observer is notified of changes in the cache's pool; may be nil. Only caches with OneByOne or Follow have one.
	Observer Observer
	// Occupancy says that Used will be called: see Occupied.
	Occupancy bool
	// AnyOrder says that prompts may begin in another order than in the trace, as on one of several nodes. Positions of
	// requests then differ from those in the trace.
	AnyOrder bool
	// Asynchronous says that objects arrive later: see requests.Asynchronous.
	Asynchronous bool
	// Allocator divides the capacity among tenants, in caches for which IsShared; nil if the cache is not divided.
	Allocator *allocate.Spec
	// Sweep cuts the cache back to its capacity at times, which it exceeds between them; nil: it never does.
	Sweep *allocate.Sweep
	// Admission decides what is loaded, or written to tiers of storage; nil: everything. It is set only for caches with
	// Admits.
	Admission *admit.Spec
	Warmup    int // requests of Trace at the start that do not count
	// Life is passed to policies: see policies.Config.
	Life *policies.Life
}

// Room returns how many distinct objects a cache may contain, with the addresses that a prefetcher may propose besides.
func (c Config) Room() int {
	if c.Addresses == nil {
		return c.Trace.NumObjects
	}
	return c.Trace.NumObjects + c.Addresses.Strangers()
}

// PolicyConfig returns the config of the policy of a cache that has only one.
func (c Config) PolicyConfig() policies.Config {
	config := policies.Config{
		Capacity:  c.Capacity,
		Unit:      c.Unit,
		Objects:   c.Room(),
		Requests:  len(c.Trace.Objects),
		Seed:      c.Seed,
		Params:    c.Policy.Params,
		Groups:    c.Trace.Groups,
		Predictor: c.Predictor,
		Life:      c.Life,
		Relations: c.Relations,
		Key:       c.Key,
	}
	if c.Groups != nil {
		config.Groups = c.Groups.positions
	}
	if c.Policy.Entry.Kind == policies.Offline {
		config.NextUse, config.Sequence = c.NextUse(), c.Trace.Objects
	}
	return config
}

// Spec is a kind of cache with its parameters: what a user writes as `sets(ways=64)`.
type Spec = params.Spec[Entry]

// Registry has every cache, in the order of `cachesim caches`: the exact one, then what package sim/all registers.
var Registry = params.NewRegistry("cache", "exact", exactEntry)

func HasPools(c Spec) bool { return c.Entry.Pools != nil }

func NamesThatCan[Capability any]() []string {
	return Registry.NamesOf(func(e *Entry) bool { return Can[Capability](*e) })
}

// IsExact reports whether a request hits if its own object is resident, and any object can be evicted. Then Belady's
// optimum and the reuse distances of LRU apply.
func IsExact(c Spec) bool { return Can[*Exact](c.Entry) }

// ServesHeads reports whether a cache serves the heads of a language model, which a trace of attention has.
func ServesHeads(c Spec) bool { return Can[policies.HeadServer](c.Entry) }

// ServesQueries reports whether a cache serves queries with embeddings, which the trace must have.
func ServesQueries(c Spec) bool { return Can[QueryServer](c.Entry) }

// IsShared reports whether tenants can share a cache, which then counts the requests of each.
func IsShared(c Spec) bool { return Can[Tenanted](c.Entry) && !HasStreams(c) }

// KeepsTime reports whether a cache expires objects by its own clock, as servers do. Nothing is known of its optimum,
// since what an object takes is the server's affair.
func KeepsTime(c Spec) bool { return Can[Timekeeper](c.Entry) }

// HasStreams reports whether a cache divides its capacity among streams of accesses. It needs Config.Addresses and
// Config.Layout. Requests hit as in the exact cache, and its optimum is the reference. Policies decide only within the
// share of a stream.
func HasStreams(c Spec) bool { return Can[Streaming](c.Entry) }

// HasTiers reports whether a cache consists of several in front of each other.
func HasTiers(c Spec) bool {
	if c.Entry.Tiers == nil {
		return false
	}
	tiers, err := c.Entry.Tiers(c.Params)
	return err != nil || tiers != nil
}

// ExactSpec is the cache in which a request hits if its own object is resident.
func ExactSpec() Spec { return Spec{Entry: exactEntry, Params: params.Values{}} }

// IgnoresAnswers reports whether a cache keeps nothing of the answers that a trace has.
func IgnoresAnswers(c Spec, t *traces.Trace) bool {
	return t.Requested() != t && (c.Entry.Answers == nil || !c.Entry.Answers(c.Params))
}

// AnswersIn returns how a cache replays the answers of a trace, one of prompts.AnswerModes; "" for not at all.
func AnswersIn(c Spec, t *traces.Trace) string {
	if p := prompts.Of(t.Kind); p != nil && t.Requested() != t && !IgnoresAnswers(c, t) {
		return p.AnswerMode()
	}
	return ""
}

// IsLike reports whether a cache serves prompts on several nodes, as the one with a name does, which serves nothing
// else. Policies that are short for that one work here, too.
func (e Entry) IsLike(name string) bool {
	of, _ := Registry.Find(name)
	return of.NeedsPrompts() && Can[Replica](e)
}

// CanStandIn reports whether a cache can replace the named one: its parameters exist here, or have their defaults.
func (e Entry) CanStandIn(name string, in params.Values) bool {
	if !e.IsLike(name) {
		return false
	}
	of, _ := Registry.Find(name)
	for param, value := range in {
		isParam := func(p params.Param) bool { return p.Name == param }
		own := slices.IndexFunc(e.Params, isParam)
		if own < 0 {
			if i := slices.IndexFunc(of.Params, isParam); value != of.Params[i].Default {
				return false
			}
		} else if _, err := e.Params[own].Parse(fmt.Sprint(value)); err != nil {
			return false
		}
	}
	return true
}

// Similarity says which entries answer a query.
type Similarity struct {
	// HitFrom is the similarity from which an entry answers: IdentityOnly if only the query's own entry does.
	HitFrom float64
	// Tau is the cache's threshold, whether queries hit by it or by identity.
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

// AnswersSimilar reports whether entries also answer queries other than their own in a cache.
func AnswersSimilar(c Spec) bool { return SimilarityOf(c).HitFrom <= 1 }

// ForReferences returns the cache for replaying what a policy is compared with.
func ForReferences(c Spec) Spec {
	switch {
	case HasStreams(c):
		return ExactSpec()
	case c.Entry.References != nil:
		c.Params = c.Entry.References(c.Params)
		c.Entry = c.Entry.ResolveValues(c.Params)
	}
	return c
}

// Associative describes a set-associative cache as data, for devices that replay sets on their own. The cache hashes
// the keys of the trace, so these must be loaded.
type Associative struct {
	// Describe describes the cache of a cell whose policy has a description; why says why there is none.
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
