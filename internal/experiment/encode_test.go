package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/base/yamlhint"
)

// checkStored encodes an experiment and decodes the text. It does not validate the experiment: only what is stored
// matters here.
func checkStored(t rapid.TB, f *File) {
	t.Helper()
	if f.TracesIn != "" { // it is stored as a whole path
		f.TracesIn = filepath.Join(os.TempDir(), f.TracesIn)
	}
	text, err := f.Encode()
	must.Do(t, err)
	node, err := parseYAML(text, "test.yaml")
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	again := &File{}
	if err := decode(node, again); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !same(f, again) {
		t.Fatalf("read back\n%#v\nnot\n%#v\nfrom\n%s", again, f, text)
	}
}

// A sweep stores its experiment for its shards. Every key of every type is stored, also if it is the only one.
func TestEncodeKeepsEachKeyAlone(t *testing.T) {
	keys := keysOf(reflect.TypeFor[File](), nil)
	for _, key := range []string{"Policies.Models", "Policies.Prefetchers", "Models.With", "Quick.Set"} {
		if !strings.Contains("\n"+strings.Join(keys, "\n")+"\n", "\n"+key+"\n") {
			t.Errorf("the test misses %s among %s", key, strings.Join(keys, " "))
		}
	}
	for _, key := range keys {
		files := rapid.Custom(func(t *rapid.T) *File {
			f := &File{}
			drawer{T: t, alone: true, path: strings.Split(key, ".")}.fill(reflect.ValueOf(f).Elem())
			return f
		})
		for seed := range 4 {
			checkStored(t, files.Example(seed))
		}
	}
}

func TestEncodeKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &File{}
		drawer{T: t}.fill(reflect.ValueOf(f).Elem())
		checkStored(t, f)
	})
}

// FuzzEncodeText has a text, also one that YAML misreads without quotes, wherever an experiment may have one. What a
// file cannot contain is an error that names it.
func FuzzEncodeText(f *testing.F) {
	for _, text := range []string{"? b", "{", "x{x", "x[x", "- a", "a: b", "a #b", " a", "a ", "'", `"`, `\"`, "\u00a0",
		"~", "0.10", "0x1F", "1e3", "2020-01-01", "true", "no", "null", "<<", "---", "...", "%", "|", ">", "&a", "*a",
		"!!str a", "\tb", "\xff", "a\nb", "\u2028", "😀", "1..4x2", "s3fifo(small=0.1,ghost=0.9)", strings.Repeat("[", 200),
		strings.Repeat("k", 2000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values := Values{"x"}
		if list, err := params.ExpandRange(text); err == nil && len(list) == 1 {
			values = Values(list)
		}
		file := &File{Name: text, About: text, Changes: values, Absent: map[string]string{text: text},
			Groups:   map[string][]string{text: {text, text}},
			Caches:   []Part{{Use: text}, {Use: text, As: text}},
			Policies: []Policy{{Policy: text}, {Policy: text, With: map[string]Values{text: {values[0], "x"}}}},
			Traces:   []Trace{{Name: text, File: text, Files: values}}}
		if yamlhint.IsLine(text) {
			checkStored(t, file)
			return
		}
		if _, err := file.Encode(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("cannot store %q", text)) {
			t.Fatalf("the text %q is stored, or an error says something else: %v", text, err)
		}
	})
}

// Half-open intervals are texts with open brackets, which nest nothing: a file may have more of them than levels.
func TestEncodeKeepsOpenBrackets(t *testing.T) {
	f := &File{Groups: map[string][]string{"intervals": {}}}
	for i := range 2 * yamlhint.MaxNesting {
		f.Groups["intervals"] = append(f.Groups["intervals"], fmt.Sprintf("[%d, %d)", i, i+1))
	}
	checkStored(t, f)
}

// An empty list or map is the same as none.
func TestEncodeAcceptsEmptyKeys(t *testing.T) {
	text := strings.Replace(base, "[lru, arc]", "[lru, {policy: arc, with: {}}]", 1) + "figures: []\ngroups: {}\n"
	f := must.Get(parse([]byte(text), source{name: "test.yaml"}))(t)
	checkStored(t, f)
}

// keysOf returns the paths to all fields of a struct and of those in it.
func keysOf(t reflect.Type, above []string) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		path := append(append([]string{}, above...), f.Name)
		inner := f.Type
		for drawn[inner] == nil && (inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice) {
			inner = inner.Elem()
		}
		if drawn[inner] == nil && inner.Kind() == reflect.Struct {
			keys = append(keys, keysOf(inner, path)...)
			continue
		}
		keys = append(keys, strings.Join(path, "."))
	}
	return keys
}

// drawer fills values by reflection, so that a new key cannot be forgotten.
type drawer struct {
	*rapid.T
	alone bool     // fills only the field at path, and those that no file lacks; otherwise each by chance
	path  []string // to the field, from the value that is filled
}

// fill draws a value. Lists and maps are never empty, because files do not contain empty ones.
func (d drawer) fill(v reflect.Value) {
	if draw := drawn[v.Type()]; draw != nil {
		v.Set(draw(d.T))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fillStruct(v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.fill(v.Elem())
	case reflect.Slice:
		n := 1
		if !d.alone {
			n = rapid.IntRange(1, 2).Draw(d.T, "items")
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			d.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		d.fill(value)
		v.SetMapIndex(reflect.ValueOf(oneLine.Draw(d.T, "key")), value)
	case reflect.String:
		v.SetString(anyText.Draw(d.T, "text"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(int64(rapid.IntRange(-9, 9).Draw(d.T, "int")))
	case reflect.Float64:
		v.SetFloat(anyNumber.Draw(d.T, "number"))
	default:
		d.Fatalf("no values of type %s are drawn; add them", v.Type())
	}
}

// fillStruct fills the keys that every file has, and those that are wanted.
func (d drawer) fillStruct(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		inner, wanted := d, false
		switch {
		case !d.alone:
			wanted = rapid.Bool().Draw(d.T, "has "+field.Name)
		case len(d.path) > 0 && d.path[0] == field.Name:
			inner.path, wanted = d.path[1:], true
		default:
			inner.path = nil
		}
		optional := strings.Contains(field.Tag.Get("yaml"), ",omitempty")
		switch {
		case wanted || !optional:
			inner.fill(v.Field(i))
		}
	}
}

var (
	anyText = rapid.StringOf(rapid.RuneFrom([]rune("ab0 :#-'\"\\%&*!|>[]{},?@`\u00a0\u2028é€😀~.=")))
	oneLine = rapid.Map(anyText, func(s string) string { return "x" + s + "x" })
	// anyNumber yields numbers of which every bit must be kept.
	anyNumber = rapid.Float64Range(-1e20, 1e20)
)

// drawn are the types whose own parsers do not accept every value.
var drawn = map[reflect.Type]func(*rapid.T) reflect.Value{
	reflect.TypeFor[Values](): drawnBy(rapid.Map(rapid.SliceOfN(oneLine, 1, 3), func(v []string) Values { return v })),
	reflect.TypeFor[Capacities](): drawnBy(rapid.SampledFrom([]Capacities{{"7"}, {"1%"}, {"10", "1%..4%x2"},
		{"64MiB", "0x10"}})),
	reflect.TypeFor[Seeds](): drawnBy(rapid.Map(rapid.SliceOfNDistinct(rapid.Uint64Range(0, 1<<62), 1, 3,
		rapid.ID[uint64]), func(s []uint64) Seeds { return s })),
	reflect.TypeFor[Number](): drawnBy(rapid.Map(anyNumber, func(x float64) Number { return Number(x) })),
	reflect.TypeFor[Numbers](): drawnBy(rapid.Map(rapid.SliceOfN(anyNumber, 1, 3), func(list []float64) (all Numbers) {
		for _, x := range list {
			all = append(all, Number(x))
		}
		return all
	})),
	reflect.TypeFor[Point](): drawnBy(rapid.Custom(func(t *rapid.T) Point {
		at := map[string]Values{oneLine.Draw(t, "dimension"): {oneLine.Draw(t, "place")}, "policy": {"lru"}}
		return Point{At: at, Values: Numbers{Number(anyNumber.Draw(t, "value"))}}
	})),
}

func drawnBy[T any](g *rapid.Generator[T]) func(*rapid.T) reflect.Value {
	return func(t *rapid.T) reflect.Value { return reflect.ValueOf(g.Draw(t, "value")) }
}
