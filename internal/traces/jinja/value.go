package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A value is nil (None), bool, int64, float64, string, markup, *List, *Dict, *function, *loopState, *cycler or
// undefined.

// List is a list or a tuple of Python.
type List struct {
	Items []any
	tuple bool
}

// Dict is a dict of Python, which keeps the order of its keys.
type Dict struct {
	Keys      []any
	Data      map[any]any
	namespace bool // its attributes can be set
}

type (
	undefined struct{}
	markup    string // a text that is marked as safe: what it is joined with is escaped
)

// NewDict returns an empty dict.
func NewDict() *Dict { return &Dict{Data: map[any]any{}} }

// Set adds or replaces a value.
func (d *Dict) Set(key, value any) {
	if _, ok := d.Data[key]; !ok {
		d.Keys = append(d.Keys, key)
	}
	d.Data[key] = value
}

// Delete removes a key.
func (d *Dict) Delete(key any) {
	delete(d.Data, key)
	d.Keys = slices.DeleteFunc(d.Keys, func(other any) bool { return other == key })
}

// pairs returns the items of a dict as tuples.
func (d *Dict) pairs() []any {
	all := make([]any, len(d.Keys))
	for i, key := range d.Keys {
		all[i] = tuple(key, d.Data[key])
	}
	return all
}

func tuple(items ...any) *List { return &List{items, true} }

func listOf(items []any) *List { return &List{Items: items} }

// textOf returns the text that a value is.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

func isTrue(v any) bool {
	if text, ok := textOf(v); ok {
		return text != ""
	}
	if f, ok := number(v); ok {
		return f != 0
	}
	switch v := v.(type) {
	case nil, undefined:
		return false
	case *List:
		return len(v.Items) > 0
	case *Dict:
		return v.namespace || len(v.Keys) > 0
	}
	return true
}

// number returns a value as Python computes with it. True is 1.
func number(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// whole returns a whole number.
func whole(v any) (n int64, ok bool) {
	if n, ok = v.(int64); ok {
		return n, true
	}
	b, ok := v.(bool)
	if b {
		n = 1
	}
	return n, ok
}

// equal compares values that have been checked.
func equal(a, b any) bool {
	if x, ok := textOf(a); ok {
		y, ok := textOf(b)
		return ok && x == y
	}
	if x, ok := number(a); ok {
		m, whole1 := whole(a)
		n, whole2 := whole(b)
		if whole1 && whole2 {
			return m == n
		}
		y, ok := number(b)
		return ok && x == y
	}
	switch x := a.(type) {
	case *List:
		y, ok := b.(*List)
		return ok && x.tuple == y.tuple && slices.EqualFunc(x.Items, y.Items, equal)
	case *Dict:
		y, ok := b.(*Dict)
		if !ok || len(x.Keys) != len(y.Keys) || x.namespace {
			return x == y
		}
		for key, v := range x.Data {
			if other, ok := y.Data[key]; !ok || !equal(v, other) {
				return false
			}
		}
		return true
	}
	return a == b
}

// kindOf names the type of a value in errors.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "none"
	case undefined:
		return "an undefined value"
	case bool:
		return "a truth value"
	case int64, float64:
		return "a number"
	case string, markup:
		return "a text"
	case *List:
		return "a list"
	case *Dict:
		return "an object"
	}
	return "a function"
}

// str returns a value as Python's str does. An undefined one is empty.
func str(v any) string {
	if text, ok := textOf(v); ok {
		return text
	}
	return repr(v)
}

// repr returns a value as Python's repr does.
func repr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case undefined:
		return ""
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return floatText(v)
	case string:
		return quote(v)
	case markup:
		return "Markup(" + quote(string(v)) + ")"
	case *List:
		parts := make([]string, len(v.Items))
		for i, item := range v.Items {
			parts[i] = repr(item)
		}
		switch text := strings.Join(parts, ", "); {
		case v.tuple && len(parts) == 1:
			return "(" + text + ",)"
		case v.tuple:
			return "(" + text + ")"
		default:
			return "[" + text + "]"
		}
	case *Dict:
		parts := make([]string, len(v.Keys))
		for i, key := range v.Keys {
			parts[i] = repr(key) + ": " + repr(v.Data[key])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "<function>"
}

// quote writes a text as Python's repr does.
func quote(text string) string {
	mark := '\''
	if strings.ContainsRune(text, '\'') && !strings.ContainsRune(text, '"') {
		mark = '"'
	}
	var to strings.Builder
	to.WriteRune(mark)
	for _, r := range text {
		switch {
		case writeEscaped(&to, r, mark):
		case unicode.IsPrint(r):
			to.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&to, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&to, `\u%04x`, r)
		default:
			fmt.Fprintf(&to, `\U%08x`, r)
		}
	}
	to.WriteRune(mark)
	return to.String()
}

// writeEscaped writes a character that has a short escape in Python and in JSON, and reports whether r is one. mark is
// around the text.
func writeEscaped(to *strings.Builder, r, mark rune) bool {
	switch r {
	case mark, '\\':
		to.WriteByte('\\')
		to.WriteRune(r)
	case '\n':
		to.WriteString(`\n`)
	case '\r':
		to.WriteString(`\r`)
	case '\t':
		to.WriteString(`\t`)
	default:
		return false
	}
	return true
}

// floatText writes a number as Python's repr does: the shortest text, with an exponent outside 1e-4 to 1e16.
func floatText(f float64) string {
	switch size := math.Abs(f); {
	case math.IsInf(f, 0) || math.IsNaN(f):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'f', -1, 64)), "+")
	case f != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// jsonStyle is how json.dumps of Python writes.
type jsonStyle struct {
	item, key string // separators
	indent    string // of one level; items are on lines of their own if lines is set
	lines     bool
	ascii     bool
	sorted    bool
	most      int64 // bytes, after which lists and objects are not continued
}

// toJSON is tojson as transformers defines it.
func toJSON(r *run, a *args) any {
	r.check(a.first())
	style := jsonStyle{item: ", ", key: ": ", most: r.limits.Text, ascii: isTrue(a.at(1, "ensure_ascii")),
		sorted: isTrue(a.at(4, "sort_keys"))}
	if indent, ok := a.given(2, "indent"); ok {
		const most = 100
		style.lines, style.item = true, ","
		if n, ok := whole(indent); ok {
			indent = strings.Repeat(" ", int(max(0, min(n, most))))
		}
		style.indent = r.str(indent)
	}
	if separators := a.at(3, "separators"); isTrue(separators) {
		two, ok := separators.(*List)
		if !ok || len(two.Items) != 2 {
			fail("tojson: want two separators")
		}
		style.item, style.key = r.str(two.Items[0]), r.str(two.Items[1])
	}
	var to strings.Builder
	style.write(&to, a.first(), "\n")
	return r.made(to.String())
}

// write appends a value; line is the beginning of its lines.
func (s *jsonStyle) write(to *strings.Builder, v any, line string) {
	switch v := v.(type) {
	case nil:
		to.WriteString("null")
	case bool:
		to.WriteString(strings.ToLower(repr(v)))
	case int64, float64:
		to.WriteString(repr(v))
	case string, markup:
		s.writeText(to, str(v))
	case *List:
		s.writeAll(to, "[]", len(v.Items), line, func(i int, line string) { s.write(to, v.Items[i], line) })
	case *Dict:
		keys := v.Keys
		if s.sorted {
			keys = slices.SortedFunc(slices.Values(keys), func(a, b any) int { return strings.Compare(str(a), str(b)) })
		}
		s.writeAll(to, "{}", len(keys), line, func(i int, line string) {
			s.writeText(to, str(keys[i]))
			to.WriteString(s.key)
			s.write(to, v.Data[keys[i]], line)
		})
	default:
		fail("tojson of %s", kindOf(v))
	}
}

func (s *jsonStyle) writeAll(to *strings.Builder, brackets string, n int, line string,
	write func(i int, line string)) {
	to.WriteByte(brackets[0])
	inner := line + s.indent
	for i := 0; i < n && int64(to.Len()) <= s.most; i++ {
		if i > 0 {
			to.WriteString(s.item)
		}
		if s.lines {
			to.WriteString(inner)
		}
		write(i, inner)
	}
	if s.lines && n > 0 {
		to.WriteString(line)
	}
	to.WriteByte(brackets[1])
}

func (s *jsonStyle) writeText(to *strings.Builder, text string) {
	to.WriteByte('"')
	for _, r := range text {
		switch {
		case writeEscaped(to, r, '"'):
		case r == '\b':
			to.WriteString(`\b`)
		case r == '\f':
			to.WriteString(`\f`)
		case r < 0x20 || s.ascii && r >= 0x7f && r < 0x10000:
			fmt.Fprintf(to, `\u%04x`, r)
		case s.ascii && r >= 0x10000:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(to, `\u%04x\u%04x`, high, low)
		default:
			to.WriteRune(r)
		}
	}
	to.WriteByte('"')
}

// deepest is how many lists and objects can be within each other, so that no recursion over a value fills the stack.
const deepest = 1000

// ErrDeep says that a value is nested too deeply.
var ErrDeep = fmt.Errorf("more than %d lists or objects within each other", deepest)

// Decode reads a value in JSON. Objects keep the order of their fields.
func Decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, err := decodeNext(d, 0)
	if err == nil && d.More() {
		err = errors.New("want one value of JSON")
	}
	return value, err
}

func decodeNext(d *json.Decoder, depth int) (any, error) {
	if depth > deepest {
		return nil, ErrDeep
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		if n, err := token.Int64(); err == nil {
			return n, nil
		}
		f, err := token.Float64()
		return f, err
	case json.Delim:
		list, object := &List{}, NewDict()
		for d.More() {
			var key json.Token
			if token == '{' {
				if key, err = d.Token(); err != nil {
					return nil, err
				}
			}
			value, err := decodeNext(d, depth+1)
			if err != nil {
				return nil, err
			}
			if token == '{' {
				object.Set(key, value)
			} else {
				list.Items = append(list.Items, value)
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if token == '{' {
			return object, nil
		}
		return list, nil
	}
	return token, nil
}
