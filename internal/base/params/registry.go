package params

import (
	"fmt"
	"slices"
	"strings"
)

// Registry has the entries of one kind, such as all policies. Packages add theirs when the program starts.
type Registry[E Named] struct {
	kind    string // what an entry is, in errors: "policy"
	example string // of a list, in errors: "lru,arc"
	added   func(E)
	entries []E
}

// Aliased is implemented by entries that users know by other names, too.
type Aliased interface {
	OtherNames() []string
}

// NewRegistry returns a registry with these entries. added is called for each entry, now or when it is registered, to
// declare its metrics; nil for nothing. Example is a list of entries for error messages.
func NewRegistry[E Named](kind, example string, added func(E), entries ...E) *Registry[E] {
	r := &Registry[E]{kind: kind, example: example, added: added}
	r.Register(entries...)
	return r
}

// Register adds entries after those that are there. It panics if a name is taken.
func (r *Registry[E]) Register(entries ...E) {
	for _, e := range entries {
		name, _ := e.Signature()
		if _, ok := r.Find(name); ok {
			panic(fmt.Sprintf("params: two of the kind %s are called %s", r.kind, name))
		}
		r.entries = append(r.entries, e)
		if r.added != nil {
			r.added(e)
		}
	}
}

// All returns every entry in the order of lists.
func (r *Registry[E]) All() []E { return slices.Clone(r.entries) }

// Names returns the names of all entries in the order of lists.
func (r *Registry[E]) Names() []string {
	names := make([]string, len(r.entries))
	for i, e := range r.entries {
		names[i], _ = e.Signature()
	}
	return names
}

// Find returns the entry with a name or another name of it; case does not matter.
func (r *Registry[E]) Find(name string) (e E, ok bool) {
	for _, e := range r.entries {
		own, _ := e.Signature()
		if strings.EqualFold(own, name) {
			return e, true
		}
		if aliased, is := any(e).(Aliased); is && slices.Contains(aliased.OtherNames(), strings.ToLower(name)) {
			return e, true
		}
	}
	return e, false
}

// Parse reads one entry with its parameters: "lru-k(k=2)".
func (r *Registry[E]) Parse(text string) (Spec[E], error) { return r.family().Parse(text) }

// ParseList reads a comma-separated list of them. Repeated ones are an error.
func (r *Registry[E]) ParseList(text string) ([]Spec[E], error) { return r.family().ParseList(text) }

func (r *Registry[E]) family() Family[E] {
	return Family[E]{Kind: r.kind, Example: r.example, Find: r.Find, Names: r.Names}
}
