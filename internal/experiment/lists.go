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
	Use string `yaml:"use"`          // "noisy(kind=flip)", "sets(ways=64)"
	As  string `yaml:"as,omitempty"` // its place on the axis of its kind, if there are several; default: as written
	// further parameters; each is an axis of that name, even if it has only one value
	With map[string]Values `yaml:"with,omitempty"`
}

func (p Part) Label() string { return cmp.Or(p.As, p.Use) }

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
		for _, axes := range places(p.With) {
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

func labelsOf(parts []Part) []string { return records.Distinct(parts, Part.Label) }

// setParts keeps the listed parts, with their parameters, and adds those that are new.
func (k partKind) setParts(f *File, value string) error {
	labels, err := params.Split(value, ',')
	if err == nil {
		labels, err = params.ExpandCalls(k.Name, labels)
	}
	if err == nil {
		parts := k.of(f)
		*parts = chosen(*parts, labels, func(label string) Part { return Part{Use: label} })
	}
	return err
}

// chosen returns the items of a list with some labels, and new ones for other labels.
func chosen[T interface{ Label() string }](list []T, labels []string, create func(label string) T) (chosen []T) {
	for _, label := range labels {
		label = strings.TrimSpace(label)
		if at := slices.IndexFunc(list, func(item T) bool { return item.Label() == label }); at >= 0 {
			chosen = append(chosen, list[at])
		} else {
			chosen = append(chosen, create(label))
		}
	}
	return chosen
}

// setParam sets the values of a parameter of one of the parts.
func (k partKind) setParam(f *File, index int, key, value string) error {
	p := &(*k.of(f))[index]
	part, err := k.Parse(withArgs(p.Use, firstPlace(p.With))) // it may need a parameter that is an axis
	if err != nil {
		return err
	}
	return setParameter(&p.Use, &p.As, &p.With, k.Name, part.Accepts(), key, value)
}

// setParameter sets the values of a parameter of a policy or part, which keeps its name.
func setParameter(call, as *string, with *map[string]Values, kind string, accepts []params.Param, key,
	value string) error {
	label := cmp.Or(*as, *call)
	names := records.Distinct(accepts, func(p params.Param) string { return p.Name })
	if !slices.Contains(names, key) {
		return suggest.Unknown("parameter of "+kind+" "+label, key, names)
	}
	if *call = withoutParam(*call, key); *call != label {
		*as = label
	}
	return setValues(with, key, value)
}
