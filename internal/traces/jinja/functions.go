package jinja

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// method is a method or a filter: the first argument is its value.
type method = func(r *run, a *args) any

// globals are the functions that any template can call.
var globals = map[string]any{
	"range":     &function{"range", numbers},
	"namespace": &function{"namespace", func(r *run, a *args) any { d := dictOf(r, a); d.namespace = true; return d }},
	"dict":      &function{"dict", func(r *run, a *args) any { return dictOf(r, a) }},
	"joiner":    &function{"joiner", joiner},
	"cycler":    &function{"cycler", func(_ *run, a *args) any { a.need(0); return &cycler{items: a.list} }},
	"raise_exception": &function{"raise_exception", func(r *run, a *args) any {
		panic(failure{fmt.Errorf("%w: %s", ErrRaised, r.str(a.first()))})
	}},
	"strftime_now": &function{"strftime_now", func(r *run, a *args) any { return formatDate(r.when, r.str(a.first())) }},
}

// joiner returns a function whose first call gives nothing, and every further one a separator.
func joiner(r *run, a *args) any {
	between, called := a.text(r, 0, "sep", ", "), false
	return &function{"joiner", func(*run, *args) any {
		if !called {
			called = true
			return ""
		}
		return between
	}}
}

// cycler gives its items in turn, again and again.
type cycler struct {
	items []any
	at    int
}

func (c *cycler) attribute(name string) any {
	switch name {
	case "current":
		return c.items[c.at]
	case "next":
		return &function{name, func(*run, *args) any {
			v := c.items[c.at]
			c.at = (c.at + 1) % len(c.items)
			return v
		}}
	case "reset":
		return &function{name, func(*run, *args) any { c.at = 0; return nil }}
	}
	return undefined{}
}

// dictOf is dict: a dict or pairs, and named values.
func dictOf(r *run, a *args) *Dict {
	d := NewDict()
	switch v := a.first().(type) {
	case *Dict:
		for _, key := range r.list(v.Keys).Items {
			d.Set(key, v.Data[key])
		}
	case *List:
		for _, item := range r.list(v.Items).Items {
			pair, ok := item.(*List)
			if !ok || len(pair.Items) != 2 {
				fail("dict: want pairs")
			}
			d.Set(r.key(pair.Items[0]), pair.Items[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.named)) {
		d.Set(name, a.named[name])
	}
	return d
}

// numbers is range.
func numbers(r *run, a *args) any {
	from, until, step := int64(0), a.int(0, "", 0), int64(1)
	if len(a.list) > 1 {
		from, until, step = until, a.int(1, "", 0), a.int(2, "", 1)
	}
	if step == 0 || len(a.list) == 0 || len(a.list) > 3 {
		fail("range: want one to three whole numbers, the last of which is not 0")
	}
	var list []any
	for i := from; step > 0 && i < until || step < 0 && i > until; i += step {
		const most = 100_000 // as in Jinja
		if list = append(list, i); len(list) > most {
			fail("range: more than %d numbers", most)
		}
		r.work(ofValue)
	}
	return listOf(list)
}

func isSpace(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }

// strip removes white space, or characters that the second argument lists.
func strip(trim func(text string, cut func(rune) bool) string) method {
	return func(r *run, a *args) any {
		text, cut := r.str(a.first()), isSpace
		if v, ok := a.given(1, "chars"); ok {
			chars := r.str(v)
			cut = func(c rune) bool { return strings.ContainsRune(chars, c) }
		}
		return trim(text, cut)
	}
}

// onText is a method or a filter that changes a text.
func onText(change func(string) string) method {
	return func(r *run, a *args) any { return r.made(change(r.str(a.first()))) }
}

// capitalized makes the first letter of each part large and the others small. Before the first character is -1.
func capitalized(begins func(before rune) bool) method {
	return onText(func(text string) string {
		before := rune(-1)
		return strings.Map(func(c rune) rune {
			changed := unicode.ToLower(c)
			if begins(before) {
				changed = unicode.ToTitle(c)
			}
			before = c
			return changed
		}, text)
	})
}

// affix is startswith or endswith: the affix can be a tuple of several.
func affix(has func(text, affix string) bool) method {
	return func(r *run, a *args) any {
		text, candidates := r.str(a.first()), []any{a.at(1, "")}
		if list, ok := candidates[0].(*List); ok {
			candidates = list.Items
		}
		return slices.ContainsFunc(candidates, func(v any) bool { return has(text, r.str(v)) })
	}
}

// split splits a text at a separator or at white space.
func split(r *run, a *args) any {
	text, between, most := r.str(a.first()), a.text(r, 1, "sep", ""), int(a.int(2, "maxsplit", -1))
	r.work(ofValue * int64(len(text)))
	var parts []string
	switch _, given := a.given(1, "sep"); {
	case given && between == "":
		fail("split: an empty separator")
	case between != "" && most < 0:
		parts = strings.Split(text, between)
	case between != "":
		parts = strings.SplitN(text, between, most+1)
	case most < 0:
		parts = strings.FieldsFunc(text, isSpace)
	default:
		for text = strings.TrimLeftFunc(text, isSpace); text != ""; most-- {
			at := strings.IndexFunc(text, isSpace)
			if most == 0 || at < 0 {
				at = len(text)
			}
			parts, text = append(parts, text[:at]), strings.TrimLeftFunc(text[at:], isSpace)
		}
	}
	items := make([]any, len(parts))
	for i, part := range parts {
		items[i] = part
	}
	return listOf(items)
}

// lineBreaks replaces all line breaks that Python knows by one.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n",
	"\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// replace is the filter and the method of that name: replace(text, old, new, count).
func replace(r *run, a *args) any {
	if len(a.list) < 3 {
		fail("replace: want a text, what to replace in it, and by what")
	}
	text, old, by, most := r.str(a.list[0]), r.str(a.list[1]), r.str(a.list[2]), a.int(3, "count", -1)
	count := int64(strings.Count(text, old))
	if most >= 0 {
		count = min(count, most)
	}
	r.reserve(int64(len(text)) + count*int64(len(by)-len(old)))
	return strings.Replace(text, old, by, int(most))
}

// joined puts texts after each other, with another one between them.
func joined(r *run, items []any, between string) any {
	var to strings.Builder
	for i, item := range items {
		if i > 0 {
			to.WriteString(between)
		}
		if to.WriteString(r.str(item)); int64(to.Len()) > r.limits.Text {
			r.failSize()
		}
	}
	return r.made(to.String())
}

// indent is the filter of that name: indent(text, width, first, blank), where a width may be a text. The first line is
// indented if first says so, and empty ones after it if blank does.
func indent(r *run, a *args) any {
	const otherwise = 4
	width, pad := int64(0), ""
	if v, ok := textOf(a.at(1, "width")); ok {
		pad = v
	} else {
		width = max(0, a.int(1, "width", otherwise))
	}
	first, blank := isTrue(a.at(2, "first")), isTrue(a.at(3, "blank"))
	text := lineBreaks.Replace(r.str(a.first()))
	lines := strings.Split(text, "\n")
	if width > r.limits.Text {
		r.failSize()
	}
	r.reserve(int64(len(text)) + int64(len(lines))*(width+int64(len(pad))))
	pad += strings.Repeat(" ", int(width))
	for i, line := range lines {
		if i == 0 && first || i > 0 && (blank || line != "") {
			lines[i] = pad + line
		}
	}
	return strings.Join(lines, "\n")
}

// format is the method of that name: the fields {}, {0} and {name} of a text.
func format(r *run, a *args) any {
	var to strings.Builder
	place := 1
	for text := r.str(a.first()); text != ""; {
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
			fail("format: a bracket without the other one; a bracket itself is written twice")
		}
		field := text[1:end]
		v := a.at(place, field)
		if n, err := strconv.Atoi(field); err == nil && n >= 0 {
			v = a.at(n+1, field)
		} else if field != "" {
			v = a.at(len(a.list), field)
		} else {
			place++
		}
		if v == (undefined{}) {
			fail("format: no value for %.40s: want {}, {0} or {name}", text[:end+1])
		}
		if to.WriteString(r.str(v)); int64(to.Len()) > r.limits.Text {
			r.failSize()
		}
		text = text[end+1:]
	}
	return r.made(to.String())
}

// printf is the operator % of a text, and the filter format, without widths.
func printf(r *run, text string, values []any) any {
	parts := strings.Split(text, "%s")
	if len(parts) != len(values)+1 || strings.Contains(strings.ReplaceAll(text, "%s", ""), "%") {
		fail("format: %.40q of %d values: want as many %%s, and no other %%", text, len(values))
	}
	for i, v := range values {
		parts[i] += r.str(v)
	}
	return r.made(strings.Join(parts, ""))
}

// attributeOf returns what a path of attributes leads to.
func attributeOf(r *run, v, path any) any {
	for name := range strings.SplitSeq(r.str(path), ".") {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil {
			v = index(r, v, n)
		} else {
			v = index(r, v, name)
		}
	}
	return v
}

// keyed returns items, and the values to compare them by: an attribute, and texts in lower case.
func keyed(r *run, a *args, attribute any, caseSensitive bool) (items, keys []any) {
	items = r.items(a.first())
	keys = r.list(slices.Clone(items)).Items
	for i, v := range keys {
		if isTrue(attribute) {
			v = attributeOf(r, v, attribute)
		}
		r.check(v)
		if text, ok := textOf(v); ok && !caseSensitive {
			v = strings.ToLower(text)
		}
		keys[i] = v
	}
	return items, keys
}

// sorted is the filter sort: sort(items, reverse, case_sensitive, attribute).
func sorted(r *run, a *args) any {
	items, keys := keyed(r, a, a.at(3, "attribute"), isTrue(a.at(2, "case_sensitive")))
	return inOrder(r, items, keys, isTrue(a.at(1, "reverse")))
}

func inOrder(r *run, items, keys []any, reverse bool) any {
	places := make([]int, len(items))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(i, j int) int {
		if r.check(keys[i]); reverse {
			i, j = j, i
		}
		return order(keys[i], keys[j])
	})
	ordered := make([]any, len(items))
	for i, place := range places {
		ordered[i] = items[place]
	}
	return listOf(ordered)
}

// dictSorted is the filter dictsort: dictsort(dict, case_sensitive, by, reverse).
func dictSorted(r *run, a *args) any {
	d, ok := a.first().(*Dict)
	if !ok {
		fail("dictsort of %s: want an object", kindOf(a.first()))
	}
	by := "0"
	if a.text(r, 2, "by", "key") == "value" {
		by = "1"
	}
	items, keys := keyed(r, &args{list: []any{listOf(d.pairs())}}, by, isTrue(a.at(1, "case_sensitive")))
	return inOrder(r, items, keys, isTrue(a.at(3, "reverse")))
}

// extreme is the filter min or max.
func extreme(reverse bool) method {
	return func(r *run, a *args) any {
		items, keys := keyed(r, a, a.at(2, "attribute"), isTrue(a.at(1, "case_sensitive")))
		return index(r, inOrder(r, items, keys, reverse), int64(0))
	}
}

func unique(r *run, a *args) any {
	items, keys := keyed(r, a, a.at(2, "attribute"), isTrue(a.at(1, "case_sensitive")))
	var kept []any
	seen := map[string]bool{}
	for i, item := range items {
		if key := repr(keys[i]); !seen[key] {
			seen[key] = true
			kept = append(kept, item)
		}
	}
	return listOf(kept)
}

// choose is select, reject, selectattr or rejectattr: items for which a test holds, or does not.
func choose(ofAttribute, want bool) method {
	return func(r *run, a *args) any {
		items, rest := r.items(a.first()), a.list[1:]
		var attribute any
		if ofAttribute {
			if len(rest) == 0 {
				fail("selectattr: want an attribute")
			}
			attribute, rest = rest[0], rest[1:]
		}
		test := func(_ *run, a *args) bool { return isTrue(a.first()) }
		if len(rest) > 0 {
			name, ok := r.str(rest[0]), false
			if test, ok = tests[name]; !ok {
				fail("unknown test %q", name)
			}
			rest = rest[1:]
		}
		var kept []any
		for _, item := range items {
			r.step()
			v := item
			if ofAttribute {
				v = attributeOf(r, v, attribute)
			}
			if test(r, &args{list: append([]any{v}, rest...)}) == want {
				kept = append(kept, item)
			}
		}
		return r.list(kept)
	}
}

// mapped is the filter map: an attribute of each item, or a filter of it.
func mapped(r *run, a *args) any {
	items := r.items(a.first())
	all := make([]any, 0, len(items))
	attribute, byAttribute := a.named["attribute"]
	var filter method
	if !byAttribute {
		name, ok := r.str(a.at(1, "")), false
		if filter, ok = filters[name]; !ok {
			fail("unknown filter %q", name)
		}
	}
	for _, item := range items {
		r.step()
		if byAttribute {
			v := attributeOf(r, item, attribute)
			if fallback, ok := a.named["default"]; ok && v == (undefined{}) {
				v = fallback
			}
			all = append(all, v)
			continue
		}
		all = append(all, filter(r, &args{append([]any{item}, a.list[2:]...), a.named}))
	}
	return r.list(all)
}

func length(r *run, a *args) any {
	if text, ok := textOf(a.first()); ok {
		r.work(int64(len(text)))
		return int64(utf8.RuneCountInString(text))
	}
	switch v := a.first().(type) {
	case *List:
		return int64(len(v.Items))
	case *Dict:
		return int64(len(v.Keys))
	}
	return int64(0)
}

// toNumber is the filter int or float: of a text that is no number, a default value.
func toNumber(convert func(float64) any, otherwise any) method {
	return func(r *run, a *args) any {
		f, ok := number(a.first())
		if text, isText := textOf(a.first()); isText {
			r.work(int64(len(text)))
			var err error
			f, err = strconv.ParseFloat(strings.TrimFunc(text, isSpace), 64)
			ok = err == nil
		}
		switch v := a.at(1, "default"); {
		case ok:
			return convert(f)
		case v != undefined{}:
			return v
		}
		return otherwise
	}
}

func toWhole(f float64) any {
	checkWhole(f)
	return int64(f)
}

// round is the filter of that name: round(number, precision, method).
func round(r *run, a *args) any {
	f, ok := number(a.first())
	if !ok {
		fail("round of %s: want a number", kindOf(a.first()))
	}
	precision := a.int(1, "precision", 0)
	scale := math.Pow(10, float64(precision))
	switch a.text(r, 2, "method", "common") {
	case "ceil":
		return math.Ceil(f*scale) / scale
	case "floor":
		return math.Floor(f*scale) / scale
	}
	const most = 100 // digits
	if precision >= 0 {
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(min(precision, most)), 64), 64)
		return f
	}
	return math.RoundToEven(f*scale) / scale
}

func absolute(r *run, a *args) any {
	if compare(r, a.first(), int64(0)) < 0 {
		return subtract(r, int64(0), a.first())
	}
	return a.first()
}

// sum is the filter of that name: sum(items, attribute, start).
func sum(r *run, a *args) any {
	total, ok := a.given(2, "start")
	if !ok {
		total = int64(0)
	}
	for _, v := range byAttribute(r, a, 1) {
		r.step()
		total = add(r, total, v)
	}
	return total
}

// byAttribute returns the items of a value or, if an argument names an attribute, what they have there.
func byAttribute(r *run, a *args, place int) []any {
	items := r.items(a.first())
	path, ok := a.given(place, "attribute")
	if !ok {
		return items
	}
	items = slices.Clone(items)
	for i, item := range items {
		items[i] = attributeOf(r, item, path)
	}
	return items
}

// batch is the filter of that name: lists of n items. The last list is filled up if a filler is given.
func batch(r *run, a *args) any {
	n := a.int(1, "linecount", 0)
	if n < 1 {
		fail("batch: %d items per list, want at least 1", n)
	}
	var all []any
	for part := range slices.Chunk(r.items(a.first()), int(n)) {
		part = slices.Clone(part)
		if fill, ok := a.given(2, "fill_with"); ok {
			for int64(len(part)) < n {
				r.work(ofValue)
				part = append(part, fill)
			}
		}
		all = append(all, r.list(part))
	}
	return r.list(all)
}

// countWords is the filter wordcount.
func countWords(r *run, a *args) any {
	apart := func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) && c != '_' }
	return int64(len(strings.FieldsFunc(r.str(a.first()), apart)))
}

// filters are those of Jinja that chat templates use.
var filters map[string]method

func init() {
	filters = map[string]method{
		"tojson": toJSON, "fromjson": fromJSON, "from_json": fromJSON, "length": length, "count": length,
		"batch": batch, "wordcount": countWords,
		"int": toNumber(toWhole, int64(0)), "float": toNumber(func(f float64) any { return f }, 0.0),
		"round": round, "abs": absolute, "sum": sum, "replace": replace, "indent": indent,
		"sort": sorted, "dictsort": dictSorted, "min": extreme(false), "max": extreme(true), "unique": unique, "map": mapped,
		"select": choose(false, true), "reject": choose(false, false), "selectattr": choose(true, true),
		"rejectattr": choose(true, false), "default": orElse, "d": orElse, "trim": strip(strings.TrimFunc),
		"lower": onText(strings.ToLower), "upper": onText(strings.ToUpper),
		"capitalize": capitalized(func(c rune) bool { return c < 0 }),
		"title": capitalized(func(c rune) bool {
			return c < 0 || unicode.IsSpace(c) || strings.ContainsRune("-({[<", c)
		}),
		"string": onText(func(text string) string { return text }),
		"safe":   func(r *run, a *args) any { return markup(r.str(a.first())) },
		"escape": escape, "e": escape,
		"format": func(r *run, a *args) any { return printf(r, r.str(a.first()), a.list[1:]) },
		"items": func(r *run, a *args) any {
			d, ok := a.first().(*Dict)
			if !ok && a.first() != (undefined{}) {
				fail("items of %s: want an object", kindOf(a.first()))
			} else if !ok {
				d = NewDict()
			}
			return r.list(d.pairs())
		},
		"join":  func(r *run, a *args) any { return joined(r, byAttribute(r, a, 2), a.text(r, 1, "d", "")) },
		"list":  func(r *run, a *args) any { return r.list(slices.Clone(r.items(a.first()))) },
		"first": func(r *run, a *args) any { return index(r, listOf(r.items(a.first())), int64(0)) },
		"last":  func(r *run, a *args) any { return index(r, listOf(r.items(a.first())), int64(-1)) },
		"reverse": func(r *run, a *args) any {
			items := slices.Clone(r.items(a.first()))
			slices.Reverse(items)
			if _, ok := textOf(a.first()); ok {
				return joined(r, items, "")
			}
			return r.list(items)
		},
	}
}

func fromJSON(r *run, a *args) any {
	text := r.str(a.first())
	r.work(ofValue * int64(len(text)))
	v, err := Decode([]byte(text))
	if err != nil {
		fail("fromjson: %w", err)
	}
	return v
}

// orElse is the filter default: default(value, fallback, boolean).
func orElse(_ *run, a *args) any {
	v := a.first()
	if v == (undefined{}) || isTrue(a.at(2, "boolean")) && !isTrue(v) {
		if v = a.at(1, "default_value"); v == (undefined{}) {
			return ""
		}
	}
	return v
}

func escape(r *run, a *args) any {
	if safe, ok := a.first().(markup); ok {
		return safe
	}
	return markup(r.made(escaped.Replace(r.str(a.first()))))
}

var textMethods, listMethods, dictMethods map[string]method

func init() {
	textMethods = map[string]method{
		"strip": strip(strings.TrimFunc), "lstrip": strip(strings.TrimLeftFunc), "rstrip": strip(strings.TrimRightFunc),
		"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix), "split": split, "replace": replace,
		"upper": filters["upper"], "lower": filters["lower"], "capitalize": filters["capitalize"], "format": format,
		"title": capitalized(func(c rune) bool { return !unicode.IsLetter(c) }),
		"join":  func(r *run, a *args) any { return joined(r, r.items(a.need(1)), r.str(a.first())) },
		"count": func(r *run, a *args) any { return int64(strings.Count(r.str(a.first()), r.str(a.need(1)))) },
		"find": func(r *run, a *args) any {
			before, _, ok := strings.Cut(r.str(a.first()), r.str(a.need(1)))
			if !ok {
				return int64(-1)
			}
			return int64(utf8.RuneCountInString(before))
		},
	}
	listMethods = map[string]method{
		"append": func(r *run, a *args) any { return insert(a.first().(*List), math.MaxInt, a.need(1)) },
		"insert": func(r *run, a *args) any {
			l := r.list(a.first().(*List).Items)
			return insert(a.first().(*List), place(a.int(1, "", 0), len(l.Items)), a.need(2))
		},
		"pop": func(r *run, a *args) any {
			l := a.first().(*List)
			at := place(a.int(1, "", -1), len(l.Items))
			if at >= len(l.Items) {
				fail("pop: the list has no such value")
			}
			v := l.Items[at]
			l.Items = slices.Concat(l.Items[:at], r.list(l.Items).Items[at+1:])
			return v
		},
	}
	dictMethods = map[string]method{
		"items": filters["items"],
		"keys":  filters["list"],
		"values": func(r *run, a *args) any {
			all := a.first().(*Dict).pairs()
			for i, pair := range all {
				all[i] = pair.(*List).Items[1]
			}
			return r.list(all)
		},
		"get": func(r *run, a *args) any {
			if v, ok := a.first().(*Dict).Data[r.key(a.need(1))]; ok {
				return v
			}
			if len(a.list) > 2 {
				return a.list[2]
			}
			return nil
		},
		"pop": func(r *run, a *args) any {
			d, key := a.first().(*Dict), r.key(a.need(1))
			v, ok := d.Data[key]
			if !ok && len(a.list) < 3 {
				fail("pop: the object has no %s", repr(key))
			} else if !ok {
				return a.list[2]
			}
			d.Keys = r.list(slices.Clone(d.Keys)).Items
			d.Delete(key)
			return v
		},
		"update": func(r *run, a *args) any {
			other := dictOf(r, &args{a.list[1:], a.named})
			for _, key := range other.Keys {
				a.first().(*Dict).Set(key, other.Data[key])
			}
			return nil
		},
	}
}

func insert(l *List, at int, v any) any {
	l.Items = slices.Insert(l.Items, min(at, len(l.Items)), v)
	return nil
}

// place returns a place in a list of n values, from its end if it is negative.
func place(at int64, n int) int {
	if at < 0 {
		at += int64(n)
	}
	return int(min(max(at, 0), int64(n)))
}

// tests are what follows "is".
var tests map[string]func(r *run, a *args) bool

func init() {
	kind := func(kinds ...string) func(*run, *args) bool {
		return func(_ *run, a *args) bool { return slices.Contains(kinds, kindOf(a.first())) }
	}
	remainder := func(want int64) func(*run, *args) bool {
		return func(r *run, a *args) bool { return equal(modulo(r, a.first(), a.int(1, "num", 2)), want) }
	}
	inCase := func(changed func(string) string) func(*run, *args) bool {
		return func(r *run, a *args) bool {
			text := r.str(a.first())
			return text == changed(text) && strings.ContainsFunc(text, unicode.IsLetter)
		}
	}
	tests = map[string]func(*run, *args) bool{
		"defined": func(_ *run, a *args) bool { return a.first() != undefined{} }, "undefined": kind("an undefined value"),
		"none": kind("none"), "boolean": kind("a truth value"), "string": kind("a text"), "mapping": kind("an object"),
		"number": kind("a number", "a truth value"), "callable": kind("a function"),
		"sequence": kind("a text", "a list", "an object", "an undefined value"),
		"iterable": kind("a text", "a list", "an object", "an undefined value"),
		"integer":  func(_ *run, a *args) bool { _, ok := a.first().(int64); return ok },
		"float":    func(_ *run, a *args) bool { _, ok := a.first().(float64); return ok },
		"true":     func(_ *run, a *args) bool { return a.first() == true },
		"false":    func(_ *run, a *args) bool { return a.first() == false },
		"sameas":   func(r *run, a *args) bool { r.check(a.first()); return a.first() == a.at(1, "") },
		"odd":      remainder(1), "even": remainder(0), "divisibleby": remainder(0),
		"in":    func(r *run, a *args) bool { return contains(r, a.first(), a.at(1, "")) },
		"upper": inCase(strings.ToUpper), "lower": inCase(strings.ToLower),
	}
	for names, operator := range map[string]string{"eq equalto ==": "==", "ne !=": "!=", "lt lessthan <": "<",
		"le <=": "<=", "gt greaterthan >": ">", "ge >=": ">="} {
		for name := range strings.FieldsSeq(names) {
			tests[name] = func(r *run, a *args) bool { return comparisons[operator](r, a.first(), a.at(1, "")) }
		}
	}
}

// formatDate writes a time as strftime does.
func formatDate(when time.Time, format string) string {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'B': "January",
		'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon", 'p': "PM", 'I': "03", 'y': "06", 'e': "_2", 'j': "002", 'Z': "MST",
		'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06",
		'X': "15:04:05"}
	var to strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			to.WriteByte(format[i])
			continue
		}
		i++
		short := format[i] == '-' && i+1 < len(format) // without a leading zero
		if short {
			i++
		}
		text := "%" + format[i:i+1]
		if layout, ok := layouts[format[i]]; ok {
			text = when.Format(layout)
		} else if format[i] == '%' {
			text = "%"
		}
		if short {
			text = strings.TrimLeft(text, "0 ")
		}
		to.WriteString(text)
	}
	return to.String()
}
