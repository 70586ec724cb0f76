package params

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Named is an entry of a registry: something that users name and give parameters to.
type Named interface {
	// Signature returns the name of the entry and the parameters it takes.
	Signature() (name string, params []Param)
}

// Checker is implemented by entries that refuse values which their parameters permit one by one.
type Checker interface {
	CheckValues(v Values) error
}

// Resolver is implemented by entries with properties that depend on the values of their parameters.
type Resolver[E any] interface {
	// ResolveValues returns the entry with the properties that it has with these values.
	ResolveValues(v Values) E
}

// Spec is an entry with its parameters: what a user writes as `lru-k(k=2)`.
type Spec[E Named] struct {
	Entry  E
	Params Values // every parameter of the entry
}

// Name returns the name of the entry.
func (s Spec[E]) Name() string {
	name, _ := s.Entry.Signature()
	return name
}

// ParamString returns every parameter with its value, in the order of the entry: "small=0.1,ghost=0.9"; "" without
// parameters.
func (s Spec[E]) ParamString() string {
	_, ps := s.Entry.Signature()
	return Format(ps, s.Params)
}

// String returns the spec as the user would write it, with the parameters that differ from their defaults.
func (s Spec[E]) String() string {
	name, ps := s.Entry.Signature()
	return FormatCall(name, ps, s.Params)
}

// Full returns the spec with every parameter, so that it means the same where a default has changed.
func (s Spec[E]) Full() string {
	name, ps := s.Entry.Signature()
	if len(ps) == 0 {
		return name
	}
	return name + "(" + Format(ps, s.Params) + ")"
}

// Files returns the paths of the files that its parameters name.
func (s Spec[E]) Files() (paths []string) {
	_, ps := s.Entry.Signature()
	for _, p := range ps {
		if path, _ := s.Params[p.Name].(string); p.File && path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// WithFiles returns the spec with other paths of the files that its parameters name.
func (s Spec[E]) WithFiles(other func(path string) string) Spec[E] {
	values := maps.Clone(s.Params)
	_, ps := s.Entry.Signature()
	for _, p := range ps {
		if path, _ := values[p.Name].(string); p.File && path != "" {
			values[p.Name] = other(path)
		}
	}
	return Spec[E]{s.Entry, values}
}

// Family is a set of entries of one kind.
type Family[E Named] struct {
	Kind    string // what an entry is, in errors: "policy"
	Example string // of a list, in errors: "lru,arc"
	Find    func(name string) (E, bool)
	Names   func() []string
}

// Parse reads one spec: a name, or a name with parameters in parentheses.
func (f Family[E]) Parse(text string) (Spec[E], error) {
	name, args, err := SplitCall(text)
	if err != nil {
		return Spec[E]{}, fmt.Errorf("%s %w", f.Kind, err)
	}
	if name == "" {
		return Spec[E]{}, fmt.Errorf(
			"%s list has an empty entry; write names separated by commas, for example %s",
			f.Kind,
			f.Example,
		)
	}
	e, ok := f.Find(name)
	if !ok {
		return Spec[E]{}, suggest.Unknown(f.Kind, name, f.Names())
	}
	name, ps := e.Signature()
	values, err := ParseArgs(ps, args)
	if err != nil {
		return Spec[E]{}, fmt.Errorf("%s %s: %w", f.Kind, name, err)
	}
	if checker, ok := any(e).(Checker); ok {
		if err := checker.CheckValues(values); err != nil {
			return Spec[E]{}, fmt.Errorf("%s %s: %w", f.Kind, name, err)
		}
	}
	if resolver, ok := any(e).(Resolver[E]); ok {
		e = resolver.ResolveValues(values)
	}
	return Spec[E]{Entry: e, Params: values}, nil
}

// ParseList reads a comma-separated list of specs: "lru,s3fifo(small=0.1,ghost=0.9),lru-k(k=2)". Repeated specs are an
// error.
func (f Family[E]) ParseList(text string) ([]Spec[E], error) {
	items, err := Split(text, ',')
	if err != nil {
		return nil, fmt.Errorf("%s list %w", f.Kind, err)
	}
	var specs []Spec[E]
	seen := map[string]bool{}
	for _, item := range items {
		s, err := f.Parse(item)
		if err != nil {
			return nil, err
		}
		if seen[s.String()] {
			return nil, fmt.Errorf("%s %s is listed twice", f.Kind, s)
		}
		seen[s.String()] = true
		specs = append(specs, s)
	}
	return specs, nil
}

// Table is the Family of a fixed list of entries; case does not matter.
func Table[E Named](kind, example string, entries []E) Family[E] {
	nameOf := func(e E) string {
		name, _ := e.Signature()
		return name
	}
	return Family[E]{
		Kind: kind, Example: example,
		Find: func(name string) (found E, ok bool) {
			i := slices.IndexFunc(entries, func(e E) bool { return strings.EqualFold(nameOf(e), name) })
			if i < 0 {
				return found, false
			}
			return entries[i], true
		},
		Names: func() (names []string) {
			for _, e := range entries {
				names = append(names, nameOf(e))
			}
			return names
		},
	}
}
