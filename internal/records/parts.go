package records

import "slices"

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
		Decides: "which node serves a prompt",
		Flag: PartFlag{Name: "route", List: "list of routers, which choose the node of each prompt among those of --nodes " +
			"in the caches prefix and tiers, as in 'round-robin,prefix-aware' (default with --nodes: round-robin; see " +
			"cachesim routers)"},
	},
	{
		Name: "admission", Plural: "admissions", Field: func(r *Record) *string { return &r.Admission }, InRows: always,
		Decides: "what is written to a tier of storage",
		Flag: PartFlag{Name: "admit", List: "list of admissions for the cache tiers: what is written to flash, disks and " +
			"remote stores, as in 'none,second' (default: everything; see cachesim admissions)",
			One: "the admission of the cache tiers"},
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
