package records

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// field is a column in a file of records: a field of Record, by the name in its tags, or a metric.
type field struct {
	name     string
	kind     reflect.Kind
	optional bool   // may be null
	rare     bool   // left out if no record has it
	empty    string // what files have for ""
	index    []int  // in Record; nil for a metric
}

// mayBeAbsent reports whether a file of records may lack the field. A user who changes a record removes its digest.
func (f field) mayBeAbsent() bool { return f.optional || f.rare || f.name == digestName }

// identity are the fields of Record before and after the metrics in files.
var identity, behind = identityFields()

func identityFields() (before, after []field) {
	t := reflect.TypeFor[Record]()
	valuesSeen := false
	for _, f := range reflect.VisibleFields(t) {
		if valuesSeen = valuesSeen || f.Type == reflect.TypeFor[metric.Values](); f.Anonymous || !f.IsExported() {
			continue // what is embedded has fields of its own
		}
		described := field{name: f.Tag.Get("json"), index: f.Index, kind: f.Type.Kind(),
			rare: f.Tag.Get("rare") != "", empty: f.Tag.Get("empty")}
		if f.Type.Kind() == reflect.Pointer {
			described.kind, described.optional = f.Type.Elem().Kind(), true
		}
		if valuesSeen {
			after = append(after, described)
		} else {
			before = append(before, described)
		}
	}
	return before, after
}

func metricField(name string, m metric.Metric) field {
	f := field{name: name, kind: reflect.Float64, optional: !metric.IsAlways(name)}
	if m.Whole() {
		f.kind = reflect.Int64
	}
	return f
}

// declaredFields are the fields of the metrics without labels, in the order of their declarations, and their indices by
// name. All metrics are declared at program start.
var declaredFields = sync.OnceValues(func() (fields []field, places map[string]int) {
	places = map[string]int{}
	for _, m := range metric.All() {
		if m.Labels == "" {
			places[m.Name] = len(fields)
			fields = append(fields, metricField(m.Name, m.Metric))
		}
	}
	return fields, places
})

// metricFieldOf returns the field of a metric that a record has.
func metricFieldOf(name string) field {
	fields, places := declaredFields()
	if at, ok := places[name]; ok {
		return fields[at]
	}
	m, _ := metric.Lookup(name)
	return metricField(name, m)
}

var known = func() map[string]field {
	fields := map[string]field{}
	for _, f := range slices.Concat(identity, behind) {
		fields[f.name] = f
	}
	return fields
}()

func fieldOf(name string) (field, error) {
	if f, ok := known[name]; ok {
		return f, nil
	}
	if m, ok := metric.Lookup(name); ok {
		return metricField(name, m), nil
	}
	return field{}, fmt.Errorf("%w; records of older versions have other fields; run it again",
		suggest.Unknown("field", name, fieldNames()))
}

func fieldNames() (names []string) {
	for _, f := range identity {
		names = append(names, f.name)
	}
	names = append(names, metric.Names()...)
	for _, f := range behind {
		names = append(names, f.name)
	}
	return names
}

// needed are the fields that every file of records must have.
func needed() []field {
	all := slices.Clone(identity)
	for _, m := range metric.Always {
		all = append(all, metricField(m.Name, m))
	}
	return slices.DeleteFunc(append(all, behind...), field.mayBeAbsent)
}

// fieldsOf returns the fields for a file of recs, with the metrics that at least one record has.
func fieldsOf(recs []Record) []field {
	names := map[string]bool{}
	for i := range recs {
		for name := range recs[i].Values.Names() {
			names[name] = true
		}
	}
	unset := func(f field) bool {
		return f.rare && !slices.ContainsFunc(recs,
			func(r Record) bool { return !reflect.ValueOf(r).FieldByIndex(f.index).IsZero() })
	}
	all := slices.DeleteFunc(slices.Clone(identity), unset)
	declared, _ := declaredFields()
	for _, f := range declared {
		if names[f.name] || !f.optional {
			all = append(all, f)
		}
		delete(names, f.name)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) { // the rest have labels
		all = append(all, metricFieldOf(name))
	}
	return append(all, slices.DeleteFunc(slices.Clone(behind), unset)...)
}

// text formats the value of the field: floats with as many digits as necessary to read them back, and file names with
// invalid UTF-8 replaced as encoding/json does. ok is false for null.
func (f field) text(r *Record) (text string, ok bool) {
	switch x := f.value(r).(type) {
	case nil:
		return "", false
	case string:
		return string([]rune(x)), true
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), true
	default:
		return fmt.Sprint(x), true
	}
}

func (f field) value(r *Record) any {
	switch {
	case f.index != nil:
		v := reflect.ValueOf(r).Elem().FieldByIndex(f.index)
		if f.optional && v.IsNil() {
			return nil
		}
		if f.empty != "" && v.IsZero() {
			return f.empty
		}
		return reflect.Indirect(v).Interface()
	case f.kind == reflect.Int64:
		if n, ok := r.GetInt(f.name); ok || !f.optional {
			return n
		}
	default:
		if x, ok := r.Get(f.name); ok || !f.optional {
			return x
		}
	}
	return nil
}

// isZero reports whether the field is empty: null, or zero if it cannot be null.
func (f field) isZero(r *Record) bool {
	if f.index == nil {
		x, ok := r.Get(f.name)
		return !ok || !f.optional && x == 0
	}
	return reflect.ValueOf(r).Elem().FieldByIndex(f.index).IsZero()
}

// setText is the inverse of text.
func (f field) setText(r *Record, text string) error {
	if f.optional && text == "" {
		return nil
	}
	var x any = text
	var err error
	switch f.kind {
	case reflect.Int64:
		x, err = strconv.ParseInt(text, 10, 64)
	case reflect.Uint64:
		x, err = strconv.ParseUint(text, 10, 64)
	case reflect.Float64:
		x, err = strconv.ParseFloat(text, 64)
	case reflect.Bool:
		x, err = strconv.ParseBool(text)
	}
	if err != nil {
		return fmt.Errorf("%s is %q, want %s", f.name, text, f.want())
	}
	f.set(r, reflect.ValueOf(x))
	return nil
}

var kinds = map[reflect.Kind]reflect.Type{
	reflect.String: reflect.TypeFor[string](), reflect.Int64: reflect.TypeFor[int64](),
	reflect.Uint64: reflect.TypeFor[uint64](), reflect.Float64: reflect.TypeFor[float64](),
	reflect.Bool: reflect.TypeFor[bool](),
}

func (f field) set(r *Record, v reflect.Value) {
	if f.index == nil {
		if f.kind == reflect.Int64 {
			r.SetNamedInt(f.name, v.Int())
		} else {
			r.SetNamed(f.name, v.Float())
		}
		return
	}
	to := reflect.ValueOf(r).Elem().FieldByIndex(f.index)
	switch {
	case f.optional:
		to.Set(reflect.New(v.Type()))
		to.Elem().Set(v)
	case f.empty != "" && v.String() == f.empty:
		to.SetZero()
	default:
		to.Set(v)
	}
}

func (f field) want() string {
	switch f.kind {
	case reflect.Int64:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number from 0"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	}
	return "text"
}

// Check rejects what no replay can have produced.
func (r *Record) Check() error {
	v := reflect.ValueOf(r).Elem()
	for _, f := range slices.Concat(identity, behind) {
		var err error
		switch x := reflect.Indirect(v.FieldByIndex(f.index)); {
		case !x.IsValid():
		case f.kind == reflect.Float64:
			err = checkFloat(f.name, x.Float())
		case f.kind == reflect.Int64:
			err = checkInt(f.name, x.Int())
		}
		if err != nil {
			return err
		}
	}
	for name := range r.Values.Names() {
		if err := r.checkMetric(name); err != nil {
			return err
		}
	}
	return cmp.Or(oneOf("kind", r.Kind, Online, Offline, Bound), oneOf("capacity_unit", r.CapacityUnit, Objects, Bytes))
}

func (r *Record) checkMetric(name string) error {
	if err := CheckMetric(name); err != nil {
		return err
	}
	if m, _ := metric.Lookup(name); m.Whole() {
		n, _ := r.GetInt(name)
		return checkInt(name, n)
	}
	x, _ := r.Get(name)
	return checkFloat(name, x)
}

func checkFloat(name string, x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%s is %v, want a finite number", name, x)
	}
	return nil
}

func checkInt(name string, n int64) error {
	if n < 0 {
		return fmt.Errorf("%s is %d, want a number of at least 0", name, n)
	}
	return nil
}

func oneOf(name, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s is %q, want one of %s", name, value, suggest.List(choices))
}
