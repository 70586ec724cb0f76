package params

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Registry has the entries of one kind, for example all policies. Packages add their entries when the program starts.
type Registry[E Named] struct {
	kind    string // what an entry is, in errors: "policy"
	example string // of a list, in errors: "lru,arc"
	entries []E
	places  map[string]int // of entries, by their names in lower case
	// Advise says what to write instead of an unknown name, "" if it does not know; may be nil.
	Advise func(name string) string
}

// Aliased is implemented by entries that users know by other names, too.
type Aliased interface {
	OtherNames() []string
}

// NewRegistry returns a registry with these entries. Kind and example, a list of entries, are for error messages.
func NewRegistry[E Named](kind, example string, entries ...E) *Registry[E] {
	r := &Registry[E]{kind: kind, example: example, places: map[string]int{}}
	r.Register(entries...)
	return r
}

// Register appends entries. It panics if a name is taken.
func (r *Registry[E]) Register(entries ...E) {
	for _, e := range entries {
		r.entries = append(r.entries, e)
		for _, name := range namesOf(e) {
			if _, ok := r.places[name]; ok {
				panic(fmt.Sprintf("params: two of the kind %s are called %s", r.kind, name))
			}
			r.places[name] = len(r.entries) - 1
		}
	}
}

// namesOf returns all names of an entry in lower case.
func namesOf[E Named](e E) []string {
	own, _ := e.Signature()
	names := []string{strings.ToLower(own)}
	if aliased, ok := any(e).(Aliased); ok {
		for _, name := range aliased.OtherNames() {
			names = append(names, strings.ToLower(name))
		}
	}
	return names
}

// Sort changes the order of lists. Entries that compare as equal keep theirs.
func (r *Registry[E]) Sort(compare func(a, b E) int) {
	slices.SortStableFunc(r.entries, compare)
	for i, e := range r.entries {
		for _, name := range namesOf(e) {
			r.places[name] = i
		}
	}
}

// All returns every entry in the order of lists.
func (r *Registry[E]) All() []E { return slices.Clone(r.entries) }

// Names returns the names of all entries in the order of lists.
func (r *Registry[E]) Names() []string {
	return r.NamesOf(func(*E) bool { return true })
}

// Find returns the entry with this name or alias; case does not matter.
func (r *Registry[E]) Find(name string) (e E, ok bool) {
	at, ok := r.places[strings.ToLower(name)]
	if !ok {
		return e, false
	}
	return r.entries[at], true
}

// NamesOf returns the names of the entries that match, in the order of lists.
func (r *Registry[E]) NamesOf(match func(*E) bool) (names []string) {
	for i := range r.entries {
		if match(&r.entries[i]) {
			name, _ := r.entries[i].Signature()
			names = append(names, name)
		}
	}
	return names
}

// First returns the first entry that matches, nil if none does. It must not be changed.
func (r *Registry[E]) First(match func(*E) bool) *E {
	for i := range r.entries {
		if match(&r.entries[i]) {
			return &r.entries[i]
		}
	}
	return nil
}

// Parse reads one entry: a name, or a name with parameters in parentheses, "lru-k(k=2)".
func (r *Registry[E]) Parse(text string) (Spec[E], error) {
	s, err := r.parse(text)
	if err != nil {
		return Spec[E]{}, err
	}
	if checker, ok := any(s.Entry).(Checker); ok {
		if err := checker.CheckValues(s.Params); err != nil {
			return Spec[E]{}, fmt.Errorf("%s %s: %w", r.kind, s.Name(), err)
		}
	}
	if resolver, ok := any(s.Entry).(Resolver[E]); ok {
		s.Entry = resolver.ResolveValues(s.Params)
	}
	return s, nil
}

// parse is Parse without the entry's own checks of its values, which may read files.
func (r *Registry[E]) parse(text string) (s Spec[E], err error) {
	name, args, err := SplitCall(text)
	if err != nil {
		return s, fmt.Errorf("%s %w", r.kind, err)
	}
	if name == "" {
		return s, fmt.Errorf("%s list has an empty entry; write names separated by commas, for example %s", r.kind,
			r.example)
	}
	var ok bool
	if s.Entry, ok = r.Find(name); !ok {
		if r.Advise != nil {
			if advice := r.Advise(name); advice != "" {
				return s, fmt.Errorf("unknown %s %q: %s", r.kind, name, advice)
			}
		}
		return s, suggest.Unknown(r.kind, name, r.Names())
	}
	if open, ok := any(s.Entry).(Open[E]); ok {
		s.Entry = open.WithNumbers(unlisted(s.Entry, args))
	}
	name, ps := s.Entry.Signature()
	if s.Params, s.given, err = parseArgs(ps, args); err != nil {
		return s, fmt.Errorf("%s %s: %w", r.kind, name, err)
	}
	return s, nil
}

// WithFiles returns a text that Parse has accepted with every parameter, and with the paths of files replaced by other.
// It reads none of the files, which need not exist. A text that cannot be parsed stays as it is.
func (r *Registry[E]) WithFiles(text string, other func(path string) string) string {
	s, err := r.parse(text)
	if err != nil {
		return text
	}
	return s.WithFiles(other).Full()
}

// ParseList reads a comma-separated list: "lru,s3fifo(small=0.1,ghost=0.9),lru-k(k=2)". A parameter may be a range, for
// one spec with each of its values: "lru-k(k=2..8x2)". Repeated specs are an error.
func (r *Registry[E]) ParseList(text string) ([]Spec[E], error) {
	items, err := Split(text, ',')
	if err != nil {
		return nil, fmt.Errorf("%s list %w", r.kind, err)
	}
	if items, err = ExpandCalls(r.kind, items); err != nil {
		return nil, err
	}
	var specs []Spec[E]
	seen := map[string]bool{}
	for _, item := range items {
		s, err := r.Parse(item)
		if err != nil {
			return nil, err
		}
		if seen[s.String()] {
			return nil, fmt.Errorf("%s %s is listed twice", r.kind, s)
		}
		seen[s.String()] = true
		specs = append(specs, s)
	}
	return specs, nil
}

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

// Open is implemented by entries that may take parameters beyond those of their signature, as programs of users have.
type Open[E any] interface {
	// WithNumbers returns the entry with further parameters, which are numbers and have no default; itself if it takes
	// none.
	WithNumbers(names []string) E
}

// unlisted returns the names in arguments that are none of an entry's parameters.
func unlisted[E Named](e E, args string) (names []string) {
	_, ps := e.Signature()
	items, _ := splitArgs(ps, args) // what is wrong with them is said later
	for _, item := range items {
		name, _, ok := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		if ok && name != "" && !slices.ContainsFunc(ps, func(p Param) bool { return p.Name == name }) {
			names = append(names, name)
		}
	}
	return names
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

// Files returns the paths of the files that its parameters name, among them those of commands that exist.
func (s Spec[E]) Files() (paths []string) {
	_, ps := s.Entry.Signature()
	for _, p := range ps {
		if path := p.Path(s.Params); path != "" {
			paths = append(paths, path)
		}
		if p.Command {
			paths = append(paths, filesOf(s.Params.Text(p.Name))...)
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
		if p.Command {
			values[p.Name] = withFiles(values.Text(p.Name), other)
		}
	}
	return Spec[E]{s.Entry, values, s.given}
}
