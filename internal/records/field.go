package records

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// field is one figure of a Record. The names of the struct tags are the names in every format on disk.
type field struct {
	name     string
	index    int
	kind     reflect.Kind // of the value, or of what the pointer points to
	optional bool         // a pointer: may be null
	added    bool         // records of older programs lack it
}

// mayBeAbsent reports whether a file of records may lack the field.
func (f field) mayBeAbsent() bool { return f.optional || f.added }

var fields = describeFields()

func describeFields() []field {
	t := reflect.TypeFor[Record]()
	all := make([]field, t.NumField())
	for i := range all {
		f := t.Field(i)
		all[i] = field{name: f.Tag.Get("json"), index: i, kind: f.Type.Kind(), added: f.Tag.Get("added") != ""}
		if f.Type.Kind() == reflect.Pointer {
			all[i].kind, all[i].optional = f.Type.Elem().Kind(), true
		}
	}
	return all
}

func fieldNames() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// settings are the numbers of a Record that say what was replayed rather than what came of it.
var settings = []string{"file_records", "left_out", "limit", "sample_rate", "sample_seed", "capacity",
	"capacity_share", "simulated_capacity", "seed", "warmup"}

func (f field) isMetric() bool {
	return (f.kind == reflect.Int64 || f.kind == reflect.Float64) && !slices.Contains(settings, f.name)
}

// number returns the figure as a number; ok is false where it is null or none.
func (f field) number(r *Record) (x float64, ok bool) {
	v := reflect.Indirect(reflect.ValueOf(r).Elem().Field(f.index))
	switch {
	case !v.IsValid():
		return 0, false
	case f.kind == reflect.Int64:
		return float64(v.Int()), true
	case f.kind == reflect.Uint64:
		return float64(v.Uint()), true
	case f.kind == reflect.Float64:
		return v.Float(), true
	}
	return 0, false
}

// text writes the figure as it stands in CSV: "" for null, floats with as many digits as reading them back takes, and
// what is no UTF-8 in the name of a file replaced, as encoding/json does.
func (f field) text(r *Record) string {
	v := reflect.ValueOf(r).Elem().Field(f.index)
	if f.optional {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch f.kind {
	case reflect.String:
		return string([]rune(v.String()))
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// setText is the inverse of text.
func (f field) setText(r *Record, text string) error {
	v := reflect.ValueOf(r).Elem().Field(f.index)
	if f.optional {
		if text == "" {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	var err error
	switch f.kind {
	case reflect.String:
		v.SetString(text)
	case reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
	case reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		v.SetFloat(x)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	default:
		panic(fmt.Sprintf("records: field %s has kind %s", f.name, f.kind))
	}
	if err != nil {
		return fmt.Errorf("%s is %q, want %s", f.name, text, f.want())
	}
	return nil
}

// want says what a value of the field looks like.
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

// Check refuses what no replay can have produced.
func (r *Record) Check() error {
	v := reflect.ValueOf(r).Elem()
	for _, f := range fields {
		x := reflect.Indirect(v.Field(f.index))
		if !x.IsValid() || f.kind != reflect.Float64 && f.kind != reflect.Int64 {
			continue
		}
		if f.kind == reflect.Float64 && (math.IsNaN(x.Float()) || math.IsInf(x.Float(), 0)) {
			return fmt.Errorf("%s is %v, want a finite number", f.name, x.Float())
		}
		if f.kind == reflect.Int64 && x.Int() < 0 {
			return fmt.Errorf("%s is %d, want a number from 0", f.name, x.Int())
		}
	}
	if err := oneOf("kind", r.Kind, "online", "offline", "bound"); err != nil {
		return err
	}
	return oneOf("capacity_unit", r.CapacityUnit, Objects, Bytes)
}

func oneOf(name, value string, choices ...string) error {
	for _, c := range choices {
		if value == c {
			return nil
		}
	}
	return fmt.Errorf("%s is %q, want one of %s", name, value, strings.Join(choices, ", "))
}
