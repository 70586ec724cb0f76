package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/kv/retrieve"
	"github.com/cachesim/cachesim/internal/cache/kv/reuse"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/serving/route"
)

// Parts are the parts of a replay, apart from the trace and the capacity.
type Parts struct {
	Cache     cache.Spec
	Policy    policies.Spec
	Predictor *predict.Spec // set if and only if the policy uses one
	Reuse     *reuse.Spec   // likewise: when a head of a language model loads another set of rows
	// Retriever finds the tokens that the heads of a language model ask for; nil for the default of the policy.
	Retriever *retrieve.Spec
	// what to load besides requested objects; nil for nothing, so it is never a prefetcher that proposes nothing
	Prefetcher *prefetch.Spec
	Allocator  *allocate.Spec // divides the capacity among the trace's tenants; nil if it is not divided
	Router     *route.Spec    // chooses the node of a request or prompt; nil if there is one node
	Admission  *admit.Spec    // decides what is loaded, or written to tiers of storage; nil if everything is
	Model      *models.Spec   // of the time that requests take; nil if hits are only counted
	// Checksum is the checksum of Files, as workload.ChecksumOf returns it; "" accepts any.
	Checksum string
}

// Replayed returns the parts that a replay uses. A policy that is short for a cache is replaced by that cache with the
// policy inside. Records and plans have the parts as they were written.
func (p Parts) Replayed() Parts {
	short := p.Policy.Entry
	if short.ShortFor == nil {
		return p
	}
	name, values, inside := short.ShortFor(p.Policy.Params)
	p.Policy = inside
	if !short.ShortInside {
		p.Cache = cache.Spec{Params: values}
		p.Cache.Entry, _ = cache.Registry.Find(name)
		return p
	}
	if p.Cache.Entry.Name != name && !p.Cache.Entry.IsLike(name) {
		p.Cache, _ = cache.Registry.Parse(name) // every cache has defaults
	}
	p.Cache.Params = maps.Clone(p.Cache.Params)
	for param, value := range values {
		if _, has := p.Cache.Params[param]; has {
			p.Cache.Params[param] = value
		}
	}
	return p
}

// checkShort refuses a policy that is short for a cache in another cache, or in that cache with other parameters than
// it stands for.
func checkShort(p Parts) error {
	short := p.Policy.Entry
	if short.ShortFor == nil || cache.IsExact(p.Cache) {
		return nil
	}
	name, values, _ := short.ShortFor(p.Policy.Params)
	if !short.ShortInside || p.Cache.Entry.Name != name && !p.Cache.Entry.CanStandIn(name, values) {
		parts := p
		parts.Cache = cache.Spec{} // nothing like it
		parts = parts.Replayed()
		return fmt.Errorf("policy %s comes with a cache of its own, %s, so it does not work in the cache %s; remove "+
			"--cache, or choose another policy", p.Policy.Name(), parts.Cache, p.Cache.Name())
	}
	for _, param := range p.Cache.Entry.Params {
		want, set := values[param.Name]
		got := p.Cache.Params[param.Name]
		if set && got != want && (got != param.Default || p.Cache.Gives(param.Name)) {
			return fmt.Errorf("policy %s works with %s=%v in the cache %s, not with %s=%v; remove %s from --cache, or choose "+
				"another policy", p.Policy.Name(), param.Name, want, p.Cache.Name(), param.Name, got, param.Name)
		}
	}
	return nil
}

// Files returns the files that the parts read, such as weights and models: those of policies, then in the order of
// Kinds.
func (p *Parts) Files() (paths []string) {
	for _, s := range p.policies() {
		paths = append(paths, s.Files()...)
	}
	for _, kind := range Kinds {
		if part := kind.Of(p); part != nil {
			paths = append(paths, part.Files()...)
		}
	}
	return paths
}

// Name names the parts in the record of a cell.
func (p *Parts) Name(rec *records.Record) {
	for _, kind := range Kinds {
		if part := kind.Of(p); part != nil {
			*kind.Field(rec) = part.String()
		}
	}
}

// NameFiles names the files of p in the record of a cell that may have read equal files elsewhere.
func (p *Parts) NameFiles(rec *records.Record) {
	rec.Params = p.Policy.ParamString()
	for _, kind := range Kinds {
		if part := kind.Of(p); part != nil && len(part.Files()) > 0 {
			*kind.Field(rec) = part.String()
		}
	}
}

// Random reports whether the outcome depends on the seed.
func (p *Parts) Random() bool {
	return slices.ContainsFunc(p.policies(), func(s policies.Spec) bool { return s.Entry.Random }) ||
		slices.ContainsFunc(Kinds, func(k *Kind) bool { part := k.Of(p); return part != nil && part.Random() })
}

// Kind is a kind of parts that policies are combined with: one of records.PartKinds, with its registry.
type Kind struct {
	records.PartKind
	registry
	// AskedBy reports whether a policy works with parts of the kind; nil if every policy does.
	AskedBy func(policies.Entry) bool
}

// registry is the registry of a kind, and its place in Parts.
type registry interface {
	// Names returns the names of all parts of the kind, Entries what lists say of them, in the same order.
	Names() []string
	Entries() []params.Described
	// Parse parses one part with its parameters, ParseList a list of them.
	Parse(text string) (Part, error)
	ParseList(text string) ([]Part, error)
	// WithFiles returns the text of a part, as Full returns it, with other paths of the files that it names. It reads
	// none of them.
	WithFiles(text string, other func(path string) string) string
	// KnowsFuture reports whether the part that a text names sees more than past requests, IsRandom whether it makes
	// random choices. Files that its parameters name need not exist.
	KnowsFuture(text string) bool
	IsRandom(text string) bool
	// Of returns the part of this kind in parts, nil if there is none.
	Of(p *Parts) Part
}

// Part is a part of any kind with its parameters.
type Part interface {
	String() string // as a user would write it, with the parameters that differ from their defaults
	Full() string   // with every parameter
	Accepts() []params.Param
	Files() []string // that its parameters name
	Random() bool    // makes random choices, so that results depend on the seed
	Into(p *Parts)   // sets it as the part of its kind
}

// Kinds are records.PartKinds, each with its registry and its field of Parts.
var Kinds = inOrder(
	newKind("cache", cache.Registry, traits[cache.Entry]{random: func(e cache.Entry) bool { return e.Random }},
		place[cache.Entry]{func(p *Parts) *cache.Spec { return &p.Cache }, func(p *Parts, s *cache.Spec) { p.Cache = *s }}),
	newKind("predictor", predict.Registry, traits[predict.Entry]{
		askedBy: func(e policies.Entry) bool { return policies.Can[policies.PredictorUser](e) },
		future:  func(e predict.Entry) bool { return e.Future },
		random:  func(e predict.Entry) bool { return e.Random },
	}, at(func(p *Parts) **predict.Spec { return &p.Predictor })),
	newKind("reuse", reuse.Registry, traits[reuse.Entry]{
		askedBy: func(e policies.Entry) bool { return policies.Can[policies.Reuser](e) },
		future:  func(e reuse.Entry) bool { return e.Oracle },
		random:  func(e reuse.Entry) bool { return e.Random },
	}, at(func(p *Parts) **reuse.Spec { return &p.Reuse })),
	newKind("retriever", retrieve.Registry, traits[retrieve.Entry]{
		random: func(e retrieve.Entry) bool { return e.Random },
	}, at(func(p *Parts) **retrieve.Spec { return &p.Retriever })),
	newKind("prefetcher", prefetch.Registry, traits[prefetch.Entry]{
		future: func(e prefetch.Entry) bool { return e.Future },
		idle:   func(e prefetch.Entry) bool { return e.Idle },
	}, at(func(p *Parts) **prefetch.Spec { return &p.Prefetcher })),
	newKind("allocator", allocate.Registry, traits[allocate.Entry]{
		future: func(e allocate.Entry) bool { return e.Future },
		random: func(e allocate.Entry) bool { return e.Random },
	}, at(func(p *Parts) **allocate.Spec { return &p.Allocator })),
	newKind("router", route.Registry, traits[route.Entry]{
		random: func(e route.Entry) bool { return e.Random },
	}, at(func(p *Parts) **route.Spec { return &p.Router })),
	newKind("admission", admit.Registry, traits[admit.Entry]{
		idle:   func(e admit.Entry) bool { return e.Idle },
		random: func(e admit.Entry) bool { return e.Random },
	}, at(func(p *Parts) **admit.Spec { return &p.Admission })),
	newKind("model", models.Registry, traits[models.Entry]{}, at(func(p *Parts) **models.Spec { return &p.Model })),
)

// The kinds that have rules of their own somewhere.
var (
	CacheKind     = KindOf("cache")
	PredictorKind = KindOf("predictor")
	AllocatorKind = KindOf("allocator")
	RouterKind    = KindOf("router")
	AdmissionKind = KindOf("admission")
)

// KindOf returns the kind with that name; it panics if there is none.
func KindOf(name string) *Kind {
	return Kinds[slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == name })]
}

// inOrder returns kinds in the order of records.PartKinds. It panics if one of these is missing, or described twice in
// different ways.
func inOrder(kinds ...*Kind) (all []*Kind) {
	for _, known := range records.PartKinds {
		i := slices.IndexFunc(kinds, func(k *Kind) bool { return k.Name == known.Name })
		if i < 0 || (kinds[i].AskedBy != nil) != known.Some {
			panic("sim: the kind " + known.Name + " has no registry, or some policies work with it there and all in records")
		}
		all = append(all, kinds[i])
	}
	return all
}

// traits are the properties of a kind's entries; those that are nil apply to none.
type traits[E params.Described] struct {
	askedBy func(policies.Entry) bool // as Kind.AskedBy
	future  func(E) bool              // sees more than past requests
	random  func(E) bool              // makes random choices
	idle    func(E) bool              // does nothing, so that a replay with it is the same as without, and has none
}

// place is where Parts has the part of a kind.
type place[E params.Described] struct {
	get func(*Parts) *params.Spec[E] // nil if there is none
	set func(*Parts, *params.Spec[E])
}

// at is a place in a field of Parts that is nil without a part.
func at[E params.Described](field func(*Parts) **params.Spec[E]) place[E] {
	return place[E]{func(p *Parts) *params.Spec[E] { return *field(p) },
		func(p *Parts, s *params.Spec[E]) { *field(p) = s }}
}

// bound is a registry with what a kind knows of its entries. It implements registry.
type bound[E params.Described] struct {
	*params.Registry[E]
	traits[E]
	place[E]
}

func newKind[E params.Described](name string, all *params.Registry[E], t traits[E], in place[E]) *Kind {
	return &Kind{records.PartKindOf(name), &bound[E]{all, t, in}, t.askedBy}
}

func (k *bound[E]) KnowsFuture(text string) bool { return k.names(text, k.future) }
func (k *bound[E]) IsRandom(text string) bool    { return k.names(text, k.random) }

func (k *bound[E]) Entries() (all []params.Described) {
	for _, e := range k.All() {
		all = append(all, e)
	}
	return all
}

func (k *bound[E]) Parse(text string) (Part, error) {
	spec, err := k.Registry.Parse(text)
	if err != nil {
		return nil, err
	}
	return part[E]{&spec, k}, nil
}

func (k *bound[E]) ParseList(text string) ([]Part, error) {
	specs, err := k.Registry.ParseList(text)
	all := make([]Part, len(specs))
	for i := range specs {
		all[i] = part[E]{&specs[i], k}
	}
	return all, err
}

func (k *bound[E]) Of(p *Parts) Part {
	if s := k.get(p); s != nil {
		return part[E]{s, k}
	}
	return nil
}

func (k *bound[E]) names(text string, property func(E) bool) bool {
	e, ok := k.Find(nameIn(text))
	return ok && property != nil && property(e)
}

// PartsOf parses the parts that a record names.
func PartsOf(rec *records.Record) (p Parts, err error) {
	return ParseParts(rec.Policy+"("+rec.Params+")", rec.PartChecksum,
		func(kind int) string { return *Kinds[kind].Field(rec) })
}

// ParseParts parses a policy and the other parts as the program writes them, with or without defaults. textOf returns
// the part of Kinds[kind], "" for none or the default.
func ParseParts(policy, checksum string, textOf func(kind int) string) (p Parts, err error) {
	p.Checksum = checksum
	if p.Policy, err = policies.Registry.Parse(policy); err != nil {
		return p, err
	}
	for i, kind := range Kinds {
		text := textOf(i)
		if text == "" && kind.Default == "" {
			continue
		}
		part, err := kind.Parse(text)
		if err != nil {
			return p, err
		}
		part.Into(&p)
	}
	p.Cache = p.Cache.WithoutGiven()
	return p, nil
}

// ObjectNoun returns what the objects in the cache of a record are called: blocks if it holds prompts.
func ObjectNoun(rec *records.Record) string {
	parts, err := PartsOf(rec)
	if rec.Has(prefix.Prompts) || err == nil && parts.Cache.Entry.NeedsPrompts() {
		return "blocks"
	}
	return records.Objects
}

type part[E params.Described] struct {
	*params.Spec[E]
	kind *bound[E]
}

func (p part[E]) Into(to *Parts) {
	if p.kind.idle != nil && p.kind.idle(p.Entry) {
		p.kind.set(to, nil)
		return
	}
	p.kind.set(to, p.Spec)
}

func (p part[E]) Random() bool { return p.kind.random != nil && p.kind.random(p.Entry) }

func (p part[E]) Accepts() []params.Param {
	_, accepts := p.Entry.Signature()
	return accepts
}

// This tells tables and figures of records which policies compete, how each looks, and which bound to show next to an
// optimum's substitute.
func init() {
	records.DeclareFuture(func(kind, part string) bool {
		at := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == kind })
		return Kinds[at].KnowsFuture(part) || Kinds[at] == CacheKind &&
			poolsAre(part, func(e *policies.Entry) bool { return e.Kind == policies.Offline })
	})
	records.RolesFrom(declareRoles)
}

func declareRoles(declare func(policy string, r records.Role)) {
	optima := map[string]records.Role{}
	for _, bypass := range []bool{false, true} {
		bound, _ := policies.LowerBound(policies.Rules{Bypass: bypass, Held: true})
		optima[policies.Optimum(policies.Rules{Bypass: bypass})] = records.Role{Optimum: true, Bound: bound}
	}
	for _, rules := range []policies.Rules{{Bytes: true}, {Similar: true}, {Similar: true, Bypass: true}} {
		if bound, ok := policies.LowerBound(rules); ok {
			optima[policies.Optimum(rules)] = records.Role{Bound: bound}
		}
	}
	for i, e := range policies.Registry.All() {
		for _, name := range append([]string{e.Name}, e.Aliases...) { // published results may have either
			r := optima[name]
			r.Rank, r.Unlimited, r.Idle, r.Reference = i, e.Unbounded, e.Idle, name == policies.Optimum(policies.Rules{})
			r.Own, r.Color, r.Mark, r.Dashes = e.Family == policies.Custom, int(e.Look.Color), int(e.Look.Mark), e.Look.Dashes
			declare(name, r)
		}
	}
}
