package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Parts are the parts of a replay, apart from the trace and the capacity.
type Parts struct {
	Cache     cache.Spec
	Policy    policies.Spec
	Predictor *predict.Spec // set if and only if the policy uses one
	// what to load besides requested objects; nil for nothing, so it is never a prefetcher that proposes nothing
	Prefetcher *prefetch.Spec
	Allocator  *allocate.Spec // divides the capacity among the trace's tenants; nil if it is not divided
	Model      *models.Spec   // of the time that requests take; nil if hits are only counted
	// Checksum is that of Files, as workload.ChecksumOf returns it; "" accepts any.
	Checksum string
}

// Files returns the files that the parts read, such as weights and models, in the order of Kinds.
func (p *Parts) Files() (paths []string) {
	for _, kind := range Kinds {
		if part := kind.Of(p); part != nil {
			paths = append(paths, part.Files()...)
		}
	}
	return paths
}

// NameFiles names the files of p in the record of a cell that may have read equal files elsewhere.
func (p *Parts) NameFiles(rec *records.Record) {
	for _, kind := range Kinds {
		if part := kind.Of(p); part != nil && len(part.Files()) > 0 {
			*kind.Field(rec) = part.String()
		}
	}
}

// Random reports whether the outcome depends on the seed.
func (p *Parts) Random() bool {
	random := func(s policies.Spec) bool { return s.Entry.Random }
	return slices.ContainsFunc(policiesOf(Cell{Parts: *p}), random) ||
		p.Predictor != nil && p.Predictor.Entry.Random || p.Allocator != nil && p.Allocator.Entry.Random
}

// Kind is a kind of parts that policies are combined with. It contains everything that packages outside the kind's own
// need to know: a new kind is a field of Parts, a field of the record and an entry of Kinds.
type Kind struct {
	// Its name is that of its axis in experiments, of its flag, and of its field in cells and records; the plural is its
	// key in experiment files, and the command that lists its parts.
	records.PartKind
	// Names returns the names of all parts of the kind.
	Names func() []string
	// Parse parses one part with its parameters, ParseList a list of them.
	Parse     func(text string) (Part, error)
	ParseList func(text string) ([]Part, error)
	// WithFiles returns the text of a part, as Full returns it, with other paths of the files that it names. It reads
	// none of them.
	WithFiles func(text string, other func(path string) string) string
	// AskedBy reports whether a policy works with parts of the kind; nil if every policy does.
	AskedBy func(policies.Entry) bool
	// KnowsFuture reports whether the part that a text names sees more than past requests.
	KnowsFuture func(text string) bool

	of func(*Parts) Part
}

// Part is a part of any kind with its parameters.
type Part interface {
	String() string // as a user would write it, with the parameters that differ from their defaults
	Full() string   // with every parameter
	Accepts() []params.Param
	Files() []string // that its parameters name
	Into(p *Parts)   // sets it as the part of its kind
}

// The kinds of parts.
var (
	CacheKind = newKind("cache", cache.Registry,
		func(p *Parts) *cache.Spec { return &p.Cache }, func(p *Parts, s *cache.Spec) { p.Cache = *s },
		func(cache.Entry) bool { return false })
	PredictorKind = newKind("predictor", predict.Registry,
		func(p *Parts) *predict.Spec { return p.Predictor }, func(p *Parts, s *predict.Spec) { p.Predictor = s },
		func(e predict.Entry) bool { return e.Future })
	PrefetcherKind = newKind("prefetcher", prefetch.Registry,
		func(p *Parts) *prefetch.Spec { return p.Prefetcher }, setPrefetcher,
		func(e prefetch.Entry) bool { return e.Future })
	AllocatorKind = newKind("allocator", allocate.Registry,
		func(p *Parts) *allocate.Spec { return p.Allocator }, func(p *Parts, s *allocate.Spec) { p.Allocator = s },
		func(e allocate.Entry) bool { return e.Future })
	ModelKind = newKind("model", models.Registry,
		func(p *Parts) *models.Spec { return p.Model }, func(p *Parts, s *models.Spec) { p.Model = s },
		func(models.Entry) bool { return false })
)

// Kinds lists the kinds, in the order of their fields in cells.
var Kinds = []*Kind{CacheKind, PredictorKind, PrefetcherKind, AllocatorKind, ModelKind}

func init() { PredictorKind.AskedBy = func(e policies.Entry) bool { return e.Predicts } }

// setPrefetcher sets the prefetcher. One that never proposes anything is left out, so that a replay with it is the same
// as without.
func setPrefetcher(p *Parts, s *prefetch.Spec) {
	p.Prefetcher = s
	if s.Entry.Idle {
		p.Prefetcher = nil
	}
}

func newKind[E params.Named](name string, registry *params.Registry[E], get func(*Parts) *params.Spec[E],
	set func(*Parts, *params.Spec[E]), future func(E) bool) *Kind {
	wrap := func(s *params.Spec[E]) Part { return part[E]{s, set} }
	return &Kind{
		PartKind: records.PartKindOf(name), Names: registry.Names,
		Parse: func(text string) (Part, error) {
			spec, err := registry.Parse(text)
			if err != nil {
				return nil, err
			}
			return wrap(&spec), nil
		},
		ParseList: func(text string) ([]Part, error) {
			specs, err := registry.ParseList(text)
			all := make([]Part, len(specs))
			for i := range specs {
				all[i] = wrap(&specs[i])
			}
			return all, err
		},
		WithFiles: registry.WithFiles,
		// Files that the parameters name may no longer exist, so the text is not parsed.
		KnowsFuture: func(text string) bool {
			e, ok := registry.Find(nameIn(text))
			return ok && future(e)
		},
		of: func(p *Parts) Part {
			if s := get(p); s != nil {
				return wrap(s)
			}
			return nil
		},
	}
}

// Of returns the part of this kind in parts, nil if there is none.
func (k *Kind) Of(p *Parts) Part { return k.of(p) }

// PartsOf parses the parts that a record names.
func PartsOf(rec *records.Record) (p Parts, err error) {
	p.Checksum = rec.PartChecksum
	if p.Policy, err = policies.Registry.Parse(rec.Policy + "(" + rec.Params + ")"); err != nil {
		return p, err
	}
	for _, kind := range Kinds {
		text := *kind.Field(rec)
		if text == "" && kind != CacheKind {
			continue
		}
		part, err := kind.Parse(text)
		if err != nil {
			return p, err
		}
		part.Into(&p)
	}
	return p, nil
}

// ObjectNoun returns what the objects in the cache of a record are called: blocks if it holds prompts.
func ObjectNoun(rec *records.Record) string {
	if parts, err := PartsOf(rec); err == nil && parts.Cache.Entry.Prompts {
		return "blocks"
	}
	return records.Objects
}

// part is a part of one kind.
type part[E params.Named] struct {
	*params.Spec[E]
	put func(*Parts, *params.Spec[E])
}

func (p part[E]) Into(to *Parts) { p.put(to, p.Spec) }

func (p part[E]) Accepts() []params.Param {
	_, accepts := p.Entry.Signature()
	return accepts
}
