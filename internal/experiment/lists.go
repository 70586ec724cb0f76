package experiment

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/yamlhint"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
)

// This file contains the parts that policies are combined with: caches, predictors, models.

// Part is a part of a kind, with parameters; in YAML, a plain text is its Use.
type Part struct {
	Use string `yaml:"use"` // "noisy(kind=flip)", "sets(ways=64)"
	// its place on the axis of its kind, if there are several; default: as written
	As string `yaml:"as,omitempty"`
	// further parameters; each is an axis of that name, even if it has only one value
	With map[string]Values `yaml:"with,omitempty"`
}

// Label returns the part's place on the axis of its kind.
func (p Part) Label() string {
	return cmp.Or(p.As, p.Use)
}

type plainPart Part

// UnmarshalYAML reads a part alone, or its keys.
func (p *Part) UnmarshalYAML(node ast.Node) error {
	if text, ok := yamlhint.Scalar(node); ok {
		*p = Part{Use: strings.TrimSpace(text)}
		return nil
	}
	return yaml.NodeToValue(node, (*plainPart)(p), yaml.Strict())
}

// MarshalYAML writes a part without further keys as a text.
func (p Part) MarshalYAML() (any, error) {
	if reflect.DeepEqual(p, Part{Use: strings.TrimSpace(p.Use)}) {
		return p.Use, nil
	}
	return plainPart(p), nil
}

// partKind is a kind of parts with its fields in experiment files and cells.
type partKind struct {
	*sim.Kind
	file   int // index in File of its []Part, under its plural
	policy int // index in Policy of the Values that choose some of them
	cell   int // index in partTexts, under its name
}

// partKinds are sim.Kinds, in the same order.
var partKinds = func() (all []partKind) {
	for _, k := range sim.Kinds {
		all = append(all, partKind{k, fieldIn[File]("yaml", k.Plural), fieldIn[Policy]("yaml", k.Plural),
			fieldIn[partTexts]("json", k.Name)})
	}
	return all
}()

var cacheKind = partKinds[slices.IndexFunc(partKinds, func(k partKind) bool { return k.Kind == sim.CacheKind })]

// fieldIn returns the index of the field of a struct with that name in its tag. It panics if there is none, so that the
// program does not start if a kind was forgotten here.
func fieldIn[T any](tag, name string) int {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		if named, _, _ := strings.Cut(t.Field(i).Tag.Get(tag), ","); named == name {
			return i
		}
	}
	panic(fmt.Sprintf("experiment: %s has no field %s", t, name))
}

func (k partKind) of(f *File) *[]Part {
	return reflect.ValueOf(f).Elem().Field(k.file).Addr().Interface().(*[]Part)
}

func (k partKind) text(t *partTexts) *string {
	return reflect.ValueOf(t).Elem().Field(k.cell).Addr().Interface().(*string)
}

// chosen returns the names of the parts that a policy chooses; nil if it does not choose.
func (k partKind) chosen(p *Policy) Values {
	return reflect.ValueOf(p).Elem().Field(k.policy).Interface().(Values)
}

// optional reports whether a replay may have no part of the kind.
func (k partKind) optional() bool { return k.Default == "" && k.AskedBy == nil }

// Parts returns the parts of the kind with that name.
func (f *File) Parts(kind string) []Part {
	return *partKinds[slices.IndexFunc(partKinds, func(k partKind) bool { return k.Name == kind })].of(f)
}

// askedKinds returns the kinds that only some policies work with, such as predictors.
func askedKinds() []partKind {
	return slices.DeleteFunc(slices.Clone(partKinds), func(k partKind) bool { return k.AskedBy == nil })
}

// setupKinds returns the kinds that apply to all policies of an experiment: the cache, and parts such as models.
func setupKinds() []partKind {
	return slices.DeleteFunc(slices.Clone(partKinds), func(k partKind) bool { return k.AskedBy != nil })
}

// partVariant is a part at one place on its axes.
type partVariant struct {
	label string
	part  sim.Part // nil if there is no part of its kind
	axes  []setting
}

// noPart stands for no part of a kind: no allocator or model.
const noPart = records.NoPart

// parse parses a part; it is nil for noPart, unless a part has that name.
func (k partKind) parse(text string) (sim.Part, error) {
	if text == noPart && k.optional() && !slices.Contains(k.Names(), noPart) {
		return nil, nil
	}
	return k.Parse(text)
}

// partVariants returns the parts of a kind at every place on their axes; without parts, a single empty one.
func (f *File) partVariants(kind partKind) (all []partVariant, err error) {
	parts := *kind.of(f)
	if len(parts) == 0 {
		return []partVariant{{}}, nil
	}
	for i, p := range parts {
		for axes := range places(p.With) {
			part, err := kind.parse(withArgs(p.Use, axes))
			if err != nil {
				return nil, f.errorAt(err, kind.Plural, i)
			}
			axes = f.qualify(kind.Name, axes)
			if len(parts) > 1 {
				axes = append([]setting{{kind.Name, p.Label()}}, axes...)
			}
			all = append(all, partVariant{p.Label(), part, axes})
		}
	}
	return all, nil
}

// withArgs inserts further parameters into the parentheses of "name(args)". A text that cannot be split stays as it is,
// and its parser will reject it.
func withArgs(call string, more []setting) string {
	name, args, err := params.SplitCall(call)
	if err != nil || len(more) == 0 {
		return call
	}
	return name + "(" + joinArgs(args, more) + ")"
}

// checkParts rejects parts that cannot be distinguished, or whose names cannot be places on an axis.
func (f *File) checkParts() error {
	for _, kind := range partKinds {
		parts := *kind.of(f)
		seen := map[string]bool{}
		for i, p := range parts {
			if err := f.required([]any{kind.Plural, i}, "use", p.Use); err != nil {
				return err
			}
			label := p.Label()
			if seen[label] {
				return f.errorAt(fmt.Errorf("two %s are called %s; give one of them another name under as", kind.Plural,
					label), kind.Plural, i)
			}
			seen[label] = true
			if err := f.checkAxes(p.With, kind.Name+" "+label, kind.Plural, i); err != nil {
				return err
			}
			if len(parts) == 1 {
				continue
			}
			if err := f.checkAxes(map[string]Values{kind.Name: {label}}, "several "+kind.Plural, kind.Plural, i); err != nil {
				return f.errorAt(fmt.Errorf("the name %q cannot be a place on the axis %s; choose a simple one: {use: %[1]q, as: "+
					"NAME}", label, kind.Name), kind.Plural, i)
			}
		}
		if _, err := f.partVariants(kind); err != nil {
			return err
		}
	}
	for i, p := range f.Policies {
		for _, kind := range partKinds {
			if err := f.checkPartNames(kind, kind.chosen(&p), "policies", i); err != nil {
				return err
			}
		}
		if err := f.checkCapacitiesOf(p, i); err != nil {
			return err
		}
	}
	for i, t := range f.Traces {
		if err := f.checkPartNames(cacheKind, t.Caches, "traces", i); err != nil {
			return err
		}
	}
	return nil
}

// checkPartNames rejects names of parts that do not exist; path leads to the key of their kind.
func (f *File) checkPartNames(kind partKind, names Values, path ...any) error {
	for _, name := range names {
		if labels := labelsOf(*kind.of(f)); !slices.Contains(labels, name) && len(f.Changes) == 0 {
			return f.errorAt(suggest.Unknown(kind.Name, name, labels), append(path, kind.Plural)...)
		}
	}
	return nil
}

// checkCapacitiesOf rejects capacities of a policy that the experiment does not have.
func (f *File) checkCapacitiesOf(p Policy, index int) error {
	specs, err := p.capacities()
	if err != nil {
		return f.errorAt(err, "policies", index, "capacities")
	}
	if len(f.Changes) > 0 {
		return nil
	}
	known := f.placesOn(records.DimCapacity)
	for _, spec := range specs {
		if !slices.Contains(known, spec.String()) {
			return f.errorAt(suggest.Unknown("capacity", spec.String(), known), "policies", index, "capacities")
		}
	}
	return nil
}

func labelsOf(parts []Part) (labels []string) {
	for _, p := range parts {
		labels = append(labels, p.Label())
	}
	return labels
}

// setParts keeps the listed parts, with their parameters, and adds those that are new.
func (k partKind) setParts(f *File, value string) error {
	labels, err := params.Split(value, ',')
	if err == nil {
		labels, err = params.ExpandCalls(k.Name, labels)
	}
	if err != nil {
		return err
	}
	parts := k.of(f)
	var chosen []Part
	for _, label := range labels {
		label = strings.TrimSpace(label)
		if at := slices.IndexFunc(*parts, func(p Part) bool { return p.Label() == label }); at >= 0 {
			chosen = append(chosen, (*parts)[at])
		} else {
			chosen = append(chosen, Part{Use: label})
		}
	}
	*parts = chosen
	return nil
}

// setParam sets the values of a parameter of one of the parts: "NAME.KEY=VALUE".
func (k partKind) setParam(f *File, text string) error {
	parts := *k.of(f)
	i, key, value, err := cutOwner(k.Name, text, labelsOf(parts))
	if err != nil {
		return err
	}
	p := &parts[i]
	part, err := k.Parse(withArgs(p.Use, firstPlace(p.With))) // it may need a parameter that is an axis
	if err != nil {
		return err
	}
	accepts := part.Accepts()
	if !slices.ContainsFunc(accepts, func(param params.Param) bool { return param.Name == key }) {
		var names []string
		for _, param := range accepts {
			names = append(names, param.Name)
		}
		return suggest.Unknown("parameter of "+k.Name+" "+p.Label(), key, names)
	}
	label := p.Label()
	if p.Use = withoutParam(p.Use, key); p.Use != label {
		p.As = label
	}
	return setValues(&p.With, key, value)
}
