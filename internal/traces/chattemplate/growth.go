package chattemplate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ardanlabs/jinja"
)

// This file has what the library does without limits: filters and methods whose texts may be far longer than what they
// are made of, and methods that change a list or an object, which must not come to hold itself.

// growing are the functions of this file, by the names that rewritten templates call.
func (t *Template) growing() map[string]function {
	return map[string]function{replaceName: t.replace, joinName: t.join, indentName: t.indent, formatName: t.format,
		pushName: t.push, insertName: t.insert, updateName: t.update, keepName: t.keep}
}

// at returns an argument that has a place or a name.
func at(args []jinja.Value, place int, named map[string]jinja.Value, name string) (v jinja.Value, ok bool) {
	if place < len(args) {
		return args[place], true
	}
	v, ok = named[name]
	return v, ok
}

// replace is the filter and the method of that name: replace(text, old, new, count).
func (t *Template) replace(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if len(args) < 3 {
		return jinja.Undefined(), errors.New("replace: want a text, what to replace in it, and by what")
	}
	text, old, by := str(args[0]), str(args[1]), str(args[2])
	most := -1
	if v, ok := at(args, 3, named, "count"); ok && v.IsInt() {
		most = int(v.AsInt())
	}
	count := strings.Count(text, old)
	if most >= 0 {
		count = min(count, most)
	}
	if int64(len(text))+int64(count)*int64(len(by)-len(old)) > t.most {
		return jinja.Undefined(), t.errSize()
	}
	return jinja.NewString(strings.Replace(text, old, by, most)), nil
}

// join is the filter of that name: join(list, separator, attribute).
func (t *Template) join(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if !first(args).IsList() {
		text, err := t.str(first(args))
		return jinja.NewString(text), err
	}
	between, attribute := "", ""
	if v, ok := at(args, 1, named, "d"); ok {
		between = str(v)
	}
	if v, ok := at(args, 2, named, "attribute"); ok {
		attribute = str(v)
	}
	var to strings.Builder
	for i, item := range args[0].AsList().Items {
		if attribute != "" && item.IsDict() {
			if v, ok := item.AsDict().Get(attribute); ok {
				item = v
			}
		}
		text, err := t.str(item)
		if err != nil {
			return jinja.Undefined(), err
		}
		if i > 0 {
			to.WriteString(between)
		}
		if to.WriteString(text); int64(to.Len()) > t.most {
			return jinja.Undefined(), t.errSize()
		}
	}
	return jinja.NewString(to.String()), nil
}

// lineBreaks replaces all line breaks that Python knows by one.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n",
	"\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// indent is the filter of that name: indent(text, width, first, blank), where a width may be a text. The first line is
// indented if first says so, and empty ones after it if blank does.
func (t *Template) indent(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	width, pad := int64(4), ""
	if v, ok := at(args, 1, named, "width"); ok && v.IsString() {
		pad, width = v.AsString(), 0
	} else if ok && v.IsInt() {
		width = max(0, v.AsInt())
	}
	is := func(place int, name string) bool {
		v, ok := at(args, place, named, name)
		return ok && v.IsTruthy()
	}
	first, blank := is(2, "first"), is(3, "blank")
	text := lineBreaks.Replace(str(args[0]))
	lines := strings.Split(text, "\n")
	if width > t.most || int64(len(text))+int64(len(lines))*(width+int64(len(pad))) > t.most {
		return jinja.Undefined(), t.errSize()
	}
	pad += strings.Repeat(" ", int(width))
	for i, line := range lines {
		if i == 0 && first || i > 0 && (blank || line != "") {
			lines[i] = pad + line
		}
	}
	return jinja.NewString(strings.Join(lines, "\n")), nil
}

// format is the method of that name: the fields {}, {0} and {name} of a text.
func (t *Template) format(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if !first(args).IsString() {
		return jinja.Undefined(), errors.New("format: want a text")
	}
	var to strings.Builder
	next := 1
	for text := args[0].AsString(); text != ""; {
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			to.WriteString(text)
			break
		}
		to.WriteString(text[:at])
		if text = text[at:]; strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "}}") {
			to.WriteByte(text[0])
			text = text[2:]
			continue
		}
		end := strings.IndexByte(text, '}')
		if end < 1 {
			return jinja.Undefined(), errors.New("format: a bracket without the other one; a bracket itself is written twice")
		}
		v, ok := fieldOf(text[1:end], args, named, &next)
		if !ok {
			return jinja.Undefined(), fmt.Errorf("format: no value for %.40s: want {}, {0} or {name}", text[:end+1])
		}
		field, err := t.str(v)
		if to.WriteString(field); err == nil && int64(to.Len()) > t.most {
			err = t.errSize()
		}
		if err != nil {
			return jinja.Undefined(), err
		}
		text = text[end+1:]
	}
	return jinja.NewString(to.String()), nil
}

// fieldOf returns the value of a field of a format.
func fieldOf(field string, args []jinja.Value, named map[string]jinja.Value, next *int) (v jinja.Value, ok bool) {
	place, err := *next, error(nil)
	if field == "" {
		*next++
	} else if place, err = strconv.Atoi(field); err != nil {
		v, ok = named[field]
		return v, ok
	} else {
		place++ // after the text
	}
	if place < 1 || place >= len(args) {
		return v, false
	}
	return args[place], true
}

// push is the method append of a list.
func (t *Template) push(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 2 || !args[0].IsList() {
		return jinja.Undefined(), errors.New("append: want a list and a value")
	}
	err := t.mayHold(args[0], args[1])
	if err == nil {
		args[0].AsList().Append(args[1])
	}
	return jinja.None(), err
}

// insert is the method of a list.
func (t *Template) insert(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 3 || !args[0].IsList() || !args[1].IsInt() {
		return jinja.Undefined(), errors.New("insert: want a list, a place and a value")
	}
	err := t.mayHold(args[0], args[2])
	if err == nil {
		list, place := args[0].AsList(), int(args[1].AsInt())
		if place < 0 {
			place += list.Len()
		}
		place = min(max(place, 0), list.Len())
		list.Append(args[2])
		copy(list.Items[place+1:], list.Items[place:])
		list.Items[place] = args[2]
	}
	return jinja.None(), err
}

// update is the method of an object.
func (t *Template) update(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 2 || len(named) > 0 || !args[0].IsDict() || !args[1].IsDict() {
		return jinja.Undefined(), errors.New("update: want an object and another one")
	}
	other := args[1].AsDict()
	for _, key := range other.Keys {
		if err := t.mayHold(args[0], other.Data[key]); err != nil {
			return jinja.Undefined(), err
		}
	}
	for _, key := range other.Keys {
		args[0].AsDict().Set(key, other.Data[key])
	}
	return jinja.None(), nil
}

// keep returns a value that an attribute of a namespace gets.
func (t *Template) keep(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 2 {
		return jinja.Undefined(), errors.New("set: want one value")
	}
	return args[1], t.mayHold(args[0], args[1])
}

// mayHold refuses a value that a list or an object cannot hold: one that is too large, or holds it already. The library
// would follow such a circle for ever, where it compares values.
func (t *Template) mayHold(holder, v jinja.Value) error {
	if err := t.checkSize(v); err != nil {
		return err
	}
	if holds(v, holder) {
		return errors.New("a list or an object within itself")
	}
	return nil
}

// holds reports whether a value is another one, a list or an object, or holds it.
func holds(v, other jinja.Value) bool {
	switch {
	case v.IsList():
		if other.IsList() && v.AsList() == other.AsList() {
			return true
		}
		for _, item := range v.AsList().Items {
			if holds(item, other) {
				return true
			}
		}
	case v.IsDict():
		if other.IsDict() && v.AsDict() == other.AsDict() {
			return true
		}
		for _, item := range v.AsDict().Data {
			if holds(item, other) {
				return true
			}
		}
	}
	return false
}
