package yamlhint

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// CheckShape rejects a value that does not fit its type, and keys that its type does not have. Types with their own
// parser check themselves. keyed maps types that may also be plain texts to the types of their form with keys.
func CheckShape(node ast.Node, t reflect.Type, owner string, keyed map[reflect.Type]reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if withKeys, ok := keyed[t]; ok {
		if _, isText := Scalar(node); isText {
			return nil
		}
		t = withKeys
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.NodeUnmarshaler]()) {
		if node.Type() == ast.NullType { // the YAML library does not call them in this case
			return Wrong(node, owner+" to have a value")
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return checkMapping(node, t, owner, keyed)
	case reflect.Slice:
		list, ok := node.(*ast.SequenceNode)
		if !ok {
			return Wrong(node, owner+" to be a list, written [a, b] or with one - for each")
		}
		for _, item := range list.Values {
			if err := CheckShape(item, t.Elem(), "each of "+owner, keyed); err != nil {
				return err
			}
		}
		return nil
	}
	return checkScalar(node, t.Kind(), owner)
}

func checkScalar(node ast.Node, kind reflect.Kind, owner string) error {
	text, ok := Scalar(node)
	want := "a text"
	var err error
	switch kind {
	case reflect.Int:
		want = "a whole number"
		_, err = strconv.Atoi(text)
	case reflect.Float64:
		want = "a number"
		_, err = strconv.ParseFloat(text, 64)
	case reflect.Bool:
		want = "true or false"
		_, ok = node.(*ast.BoolNode)
	default:
		// The YAML library would make 0.1 of the text 0.10.
		if ok && !IsText(node) {
			want = "a text, in quotes"
			ok = false
		}
	}
	if !ok || err != nil {
		return Wrong(node, owner+" to be "+want)
	}
	return nil
}

func checkMapping(node ast.Node, t reflect.Type, owner string, keyed map[reflect.Type]reflect.Type) error {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		return Wrong(node, owner+" to have keys with values")
	}
	lines := map[string]int{}
	for _, entry := range mapping.Values {
		token := entry.Key.GetToken()
		refuse := func(err error) error { return &yaml.SyntaxError{Message: err.Error(), Token: token} }
		key, ok := Scalar(entry.Key)
		if !ok || !IsText(entry.Key) {
			return refuse(fmt.Errorf("want a name as a key of %s; numbers, true and false need quotes", owner))
		}
		if line, twice := lines[key]; twice {
			return refuse(fmt.Errorf("key %q appears twice; it is on line %d already", key, line))
		}
		lines[key] = token.Position.Line
		var of reflect.Type
		if t.Kind() == reflect.Map {
			of = t.Elem()
		} else if of = maps.Collect(keysOf(t))[key]; of == nil {
			return refuse(suggest.Unknown("key", key, KeyNames(t)))
		}
		if err := CheckShape(entry.Value, of, key, keyed); err != nil {
			return err
		}
	}
	return nil
}

// KeyNames returns a struct's YAML keys, in its order.
func KeyNames(t reflect.Type) (names []string) {
	for name := range keysOf(t) {
		names = append(names, name)
	}
	return names
}

// keysOf yields a struct's YAML keys and their types.
func keysOf(t reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			if name != "" && !yield(name, t.Field(i).Type) {
				return
			}
		}
	}
}

// DropEmpty replaces empty lists and maps by nil, as if their keys had been left out: Encode leaves them out.
func DropEmpty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			DropEmpty(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				DropEmpty(v.Field(i))
			}
		}
	case reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			DropEmpty(v.Index(i))
		}
	}
}
