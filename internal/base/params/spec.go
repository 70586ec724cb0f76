package params

import (
	"maps"
	"slices"
)

// Named is an entry of a registry: something that users name and give parameters to.
type Named interface {
	// Signature returns the name of the entry and the parameters it takes.
	Signature() (name string, params []Param)
}

// Described is an entry that lists describe to users.
type Described interface {
	Named
	Describe() Description
}

// Description is what lists say of an entry, in addition to its parameters.
type Description struct {
	Summary string   // one line
	Source  string   // the paper or page that defines it
	Traits  []string // what a user should know before choosing it, each a sentence without a full stop
}

// With returns the description with a further trait, if it applies.
func (d Description) With(applies bool, trait string) Description {
	if applies {
		d.Traits = append(d.Traits, trait)
	}
	return d
}

// Checker is implemented by entries that refuse values which their parameters permit one by one.
type Checker interface {
	CheckValues(v Values) error
}

// Check calls what an entry checks its values with; nil accepts all.
func Check(check func(Values) error, v Values) error {
	if check == nil {
		return nil
	}
	return check(v)
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

	given []string // names of the parameters that were written
}

// Gives reports whether a parameter was written, even if with its default.
func (s Spec[E]) Gives(name string) bool { return slices.Contains(s.given, name) }

// WithoutGiven returns s as if none of its parameters had been written: for a text of the program, which has them all.
func (s Spec[E]) WithoutGiven() Spec[E] {
	s.given = nil
	return s
}

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
		if path := p.Path(s.Params); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// WithFiles returns the spec with the paths of files replaced by other.
func (s Spec[E]) WithFiles(other func(path string) string) Spec[E] {
	values := maps.Clone(s.Params)
	_, ps := s.Entry.Signature()
	for _, p := range ps {
		if path := p.Path(values); path != "" {
			values[p.Name] = other(path)
		}
	}
	return Spec[E]{s.Entry, values, s.given}
}
