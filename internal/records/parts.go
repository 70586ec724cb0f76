package records

import (
	"slices"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/base/metric"
)

// NoPart is what files and tables have where a record could have a part and has none.
const NoPart = "none"

// PartKind is a kind of parts that policies are combined with, such as predictors. Records, tables, experiment files,
// cells, flags and lists go through PartKinds, so that no kind is forgotten anywhere. Package sim gives each kind its
// registry.
type PartKind struct {
	// Name is the name of the kind's axis in experiments, and of its field in cells and records.
	Name string
	// Noun is what people call a part of the kind; "" for its name.
	Noun string
	// Plural is its key in experiment files, and the command that lists its parts.
	Plural string
	// Decides says in a few words what a part decides, for lists.
	Decides string
	Flag    PartFlag
	// Field is the part, with the parameters that differ from their defaults; "" if there is none.
	Field func(*Record) *string

	// Default is the part that records have unless they say otherwise; it is not mentioned. Without one, a replay may have
	// no part of the kind, or needs one if the policy works with them.
	Default string
	// Some says that only some policies work with parts of the kind, so that records without one do not differ in it.
	Some bool
	// Apart says that records with different parts are never compared, unless they are rows of one table.
	Apart bool
	// RatioNote says why a ratio to the optimum may surprise if records have such a part; "" if it does not.
	RatioNote string
	// Heading says that a part which all rows of a table have is named above the table, not in the rows.
	Heading bool
	// InRows reports whether records with different parts are rows of one table; otherwise they have tables of their own.
	InRows func(*Record) bool
	// GroupName is the part in the name of a group of records.
	GroupName func(part string) string
}

// PartFlag is the flag that chooses parts of a kind.
type PartFlag struct {
	Name    string // "" for the kind's
	Default string
	List    string // help, where the flag accepts a list
	One     string // help, where it accepts a single part
}

// PartKinds are the kinds of parts, in the order in which they are named.
var PartKinds = []PartKind{
	{
		Name: "cache", Plural: "caches", Field: func(r *Record) *string { return &r.Cache }, Default: "exact",
		Decides: "what a hit is and what can be evicted", Apart: true, Heading: true, InRows: never,
		GroupName: func(part string) string { return part + " cache" },
		Flag: PartFlag{Default: "exact", List: "list of kinds of caches: what counts as a hit, and what can be evicted",
			One: "the kind of cache: exact or semantic"},
	},
	{
		Name: "predictor", Plural: "predictors", Field: func(r *Record) *string { return &r.Predictor }, Some: true,
		Decides: "when an object is requested again", InRows: always,
		Flag: PartFlag{Default: "gbm", List: "list of predictors for policies that use one, as in 'oracle,gbm'; other " +
			"policies ignore it (see cachesim predictors)", One: "the predictor, if the policy uses one"},
	},
	{
		Name: "reuse", Plural: "rules", Field: func(r *Record) *string { return &r.Reuse }, Some: true, InRows: always,
		Noun: "reuse rule", Decides: "whether the rows that a head of a language model has still answer its queries",
		Flag: PartFlag{Default: "qsac", List: "list of reuse rules for the policy one-set of the cache attention, as in " +
			"'qsac,threshold(tau=0.7)'; other policies ignore it (see cachesim rules)",
			One: "the reuse rule, if the policy uses one"},
	},
	{
		Name: "retriever", Plural: "retrievers", Field: func(r *Record) *string { return &r.Retriever }, InRows: always,
		Decides: "which tokens the queries of a language model's head ask for",
		Flag: PartFlag{List: "list of retrievers, which find the tokens that the heads in the cache attention ask for, as " +
			"in 'blocks(size=8)' (default: the exact set for one-set, blocks for stores; see cachesim retrievers)",
			One: "the retriever of the cache attention"},
	},
	{
		Name: "prefetcher", Plural: "prefetchers", Field: func(r *Record) *string { return &r.Prefetcher }, InRows: always,
		Decides:   "what is loaded besides the requested objects",
		RatioNote: "the ratio may be below 1 with a prefetcher, because the optimum loads only requested objects",
		Flag: PartFlag{Name: "prefetch", List: "list of prefetchers: what to load besides the requested objects, as in " +
			"'none,next(n=2)' (default: nothing; see cachesim prefetchers)"},
	},
	{
		Name: "allocator", Plural: "allocators", Field: func(r *Record) *string { return &r.Allocator },
		Decides: "how one capacity is divided among tenants", Apart: true, Heading: true,
		InRows:    (*Record).hasOwnCapacity, // allocators are then compared with each other, as policies are
		GroupName: orNone("allocator ", "not divided"),
		Flag: PartFlag{Name: "allocate", List: "list of allocators, which divide the capacity among the tenants given by " +
			"--tenant (default: shared, one pool for all), or between the pools of serving nodes"},
	},
	{
		Name: "router", Plural: "routers", Field: func(r *Record) *string { return &r.Router }, InRows: always,
		Heading: true, Decides: "which node serves a request, or a prompt",
		Flag: PartFlag{Name: "route", List: "list of routers, which choose the node of each request among those of " +
			"--nodes, as in 'ring,slots,round-robin', or of each prompt in the caches prefix and tiers, as in " +
			"'round-robin,prefix-aware' (default with --nodes: round-robin; see cachesim routers)",
			One: "the router that chooses the node of each request among those of --nodes, as in 'ring' (default with " +
				"--nodes: round-robin; see cachesim routers)"},
	},
	{
		Name: "admission", Plural: "admissions", Field: func(r *Record) *string { return &r.Admission }, InRows: always,
		Decides: "which missed objects are loaded, or written to a tier of storage",
		Flag: PartFlag{Name: "admit", List: "list of admissions: which missed objects a cache loads, and what the cache " +
			"tiers writes to flash, disks and remote stores, as in 'none,second' (default: everything; see cachesim " +
			"admissions)",
			One: "the admission in front of the cache: which missed objects it loads, as in 'second' (default: all; see " +
				"cachesim admissions)"},
	},
	{
		Name: "model", Plural: "models", Field: func(r *Record) *string { return &r.Model }, Decides: "what takes time",
		Apart: true, Heading: true, InRows: never, GroupName: orNone("model ", "no model"),
		Flag: PartFlag{List: "list of models for the time that requests take (default: only count hits)"},
	},
}

func never(*Record) bool  { return false }
func always(*Record) bool { return true }

// orNone returns a function that puts a word before a part, or returns another text for no part.
func orNone(before, none string) func(part string) string {
	return func(part string) string {
		if part == "" {
			return none
		}
		return before + part
	}
}

// PartKindOf returns the kind with that name; it panics if there is none.
func PartKindOf(name string) PartKind {
	return PartKinds[slices.IndexFunc(PartKinds, func(k PartKind) bool { return k.Name == name })]
}

// Parts returns the parts of a record that are worth a mention, in the order of PartKinds.
func (r *Record) Parts() (parts []string) {
	for _, k := range PartKinds {
		if part := *k.Field(r); part != "" && part != k.Default {
			parts = append(parts, part)
		}
	}
	return parts
}

// hasOwnCapacity reports whether the cache defines its capacity itself, which is then no share of the trace.
func (r *Record) hasOwnCapacity() bool { return r.CapacityShare == nil }

// Kinds of policies, as records name them.
const (
	Online  = "online"  // sees the past only
	Offline = "offline" // sees the whole trace
	Bound   = "bound"   // a lower bound on misses
)

// Role is what tables and figures must know about a policy in addition to its record.
type Role struct {
	Rank      int    // its place in the list of policies
	Unlimited bool   // it ignores the capacity, so it does not compete
	Idle      bool   // it loads nothing, so that it is what happens without a cache, and does not compete
	Optimum   bool   // it is optimal under some rules, and may lose to online policies under others
	Own       bool   // a user has written it, so that it is highlighted
	Reference bool   // the optimum of plain caches, which looks like what others are compared with
	Bound     string // the lower bound on misses to show with it, if it replaces an optimum
	// Color and Mark are its look in figures, from 1; 0: derived from its name.
	Color, Mark int
	Dashes      []float64 // lengths of the strokes and gaps, in points; nil: derived from its name
}

var roles = map[string]Role{}

// idle is the policy that loads nothing, by the first of its names.
var idle string

// knowsFuture reports whether a part of a kind, with its parameters, sees more than past requests.
var knowsFuture = func(kind, part string) bool { return false }

// DeclareFuture says which parts see more than past requests. The package that knows all parts calls it at program
// start.
func DeclareFuture(knows func(kind, part string) bool) { knowsFuture = knows }

// Foresees returns the part with which an online policy knows the future, such as oracle; "" if it has none.
func (r *Record) Foresees() string {
	if r.Kind != Online {
		return ""
	}
	for _, k := range PartKinds {
		if part := *k.Field(r); part != "" && knowsFuture(k.Name, part) {
			return part
		}
	}
	return ""
}

// NoCache returns the name of the policy that loads nothing: it stands for no cache.
func NoCache() string {
	declareAll()
	return idle
}

// Taken returns the bytes of the cache: its capacity, or what it took in truth where it is a server that took more.
func (r *Record) Taken() int64 { return max(r.Capacity, r.Int(metric.Taken)) }

// Overruns reports whether a server took more than a tenth above its capacity: it then is no answer to what fits.
func (r *Record) Overruns() bool { return r.Taken() > r.Capacity+r.Capacity/10 }

// Competes reports whether the record may be the best, in tables, figures, targets and claims alike: its policy could
// run in production and has to choose. A policy that knows the future, itself or through a part, does not compete, nor
// does a cache without bounds, or none.
func (r *Record) Competes() bool {
	role, _ := RoleOf(r.Policy)
	return r.Kind == Online && !role.Unlimited && !role.Idle && r.Foresees() == ""
}

// RolesFrom sets what declares the roles of policies when the first role is read: all policies are registered by then.
func RolesFrom(declare func(declare func(policy string, r Role))) { declareRoles = declare }

var declareRoles func(declare func(policy string, r Role))

// DeclareRole declares the role of a policy, by name. Other policies have no role.
func DeclareRole(policy string, r Role) {
	if r.Idle && idle == "" {
		idle = policy
	}
	roles[strings.ToLower(policy)] = r
}

var declareAll = sync.OnceFunc(func() {
	if declareRoles != nil {
		declareRoles(DeclareRole)
	}
})

// RoleOf returns the role of a policy; ok is false if it has none, for example because this program does not have it.
func RoleOf(policy string) (r Role, ok bool) {
	declareAll()
	r, ok = roles[strings.ToLower(policy)]
	return r, ok
}

// ReferencePolicy returns the optimum of plain caches; "" if none is declared.
func ReferencePolicy() string {
	declareAll()
	for policy, r := range roles {
		if r.Reference {
			return policy
		}
	}
	return ""
}
