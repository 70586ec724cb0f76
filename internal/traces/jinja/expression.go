package jinja

import (
	"math"
	"slices"
	"strings"
)

// deepestExpression is how many expressions can be within each other in a tag.
const deepestExpression = 500

// nested reads an expression within another one.
func (p *parser) nested(read func() expression) expression {
	if p.depth++; p.depth > deepestExpression {
		fail("more than %d expressions within each other", deepestExpression)
	}
	e := read()
	p.depth--
	return e
}

// tuple reads an expression, or several with commas between them, which are a tuple.
func (p *parser) tuple() expression { return p.tupleOf(p.expression) }

func (p *parser) tupleOf(read func() expression) expression {
	first := read()
	if p.peek().text != "," {
		return first
	}
	all := []expression{first}
	for p.skip(",") && !p.endsTuple() {
		all = append(all, read())
	}
	return func(r *run) any { return &List{r.values(all), true} }
}

func (p *parser) endsTuple() bool {
	return p.peek().kind == 0 || p.peek().text == ")" || p.peek().text == "="
}

func (r *run) values(all []expression) []any {
	r.work(ofValue * int64(len(all)))
	values := make([]any, len(all))
	for i, e := range all {
		values[i] = e(r)
	}
	return values
}

func (p *parser) expression() expression {
	return p.nested(func() expression {
		value := p.or()
		for p.skip("if") {
			first, condition := value, p.or()
			otherwise := func(*run) any { return undefined{} }
			if p.skip("else") {
				otherwise = p.expression()
			}
			value = func(r *run) any {
				if r.step(); isTrue(condition(r)) {
					return first(r)
				}
				return otherwise(r)
			}
		}
		return value
	})
}

func (p *parser) or() expression  { return p.either("or", true, p.and) }
func (p *parser) and() expression { return p.either("and", false, p.not) }

// either reads values between a word: the first one that decides, or the last one.
func (p *parser) either(word string, decides bool, read func() expression) expression {
	left := read()
	for p.skip(word) {
		first, second := left, read()
		left = func(r *run) any {
			r.step()
			if v := first(r); isTrue(v) == decides {
				return v
			}
			return second(r)
		}
	}
	return left
}

func (p *parser) not() expression {
	if !p.skip("not") {
		return p.comparison()
	}
	value := p.nested(p.not)
	return func(r *run) any { return !isTrue(value(r)) }
}

// comparison reads values with comparisons between them: all of a < b < c must hold.
func (p *parser) comparison() expression {
	first := p.sum()
	type part struct {
		holds func(r *run, a, b any) bool
		value expression
	}
	var all []part
	for {
		operator := p.peek().text
		negated := operator == "not" && p.tokens[1].text == "in"
		if negated {
			p.take()
			operator = "in"
		}
		holds, ok := comparisons[operator]
		if !ok || p.peek().kind == 's' {
			break
		}
		p.take()
		if negated {
			holds = func(r *run, a, b any) bool { return !contains(r, a, b) }
		}
		all = append(all, part{holds, p.sum()})
	}
	if all == nil {
		return first
	}
	return func(r *run) any {
		left := first(r)
		for _, a := range all {
			r.step()
			right := a.value(r)
			if !a.holds(r, left, right) {
				return false
			}
			left = right
		}
		return true
	}
}

var comparisons = map[string]func(r *run, a, b any) bool{
	"==": equals,
	"!=": func(r *run, a, b any) bool { return !equals(r, a, b) },
	"<":  func(r *run, a, b any) bool { return compare(r, a, b) < 0 },
	"<=": func(r *run, a, b any) bool { return compare(r, a, b) <= 0 },
	">":  func(r *run, a, b any) bool { return compare(r, a, b) > 0 },
	">=": func(r *run, a, b any) bool { return compare(r, a, b) >= 0 },
	"in": contains,
}

func equals(r *run, a, b any) bool {
	r.check(a)
	r.check(b)
	return equal(a, b)
}

// compare returns a negative number if a is less than b, and a positive one if it is more.
func compare(r *run, a, b any) int {
	r.check(a)
	r.check(b)
	return order(a, b)
}

func order(a, b any) int {
	x, text1 := textOf(a)
	y, text2 := textOf(b)
	if text1 && text2 {
		return strings.Compare(x, y)
	}
	m, number1 := number(a)
	n, number2 := number(b)
	if number1 && number2 {
		i, whole1 := whole(a)
		j, whole2 := whole(b)
		switch {
		case whole1 && whole2 && i < j || m < n:
			return -1
		case whole1 && whole2 && i == j || m == n:
			return 0
		}
		return 1
	}
	v, list1 := a.(*List)
	w, list2 := b.(*List)
	if !list1 || !list2 {
		fail("%s cannot be compared with %s", kindOf(a), kindOf(b))
	}
	return slices.CompareFunc(v.Items, w.Items, order)
}

// contains reports whether b contains a.
func contains(r *run, a, b any) bool {
	switch b := b.(type) {
	case *Dict:
		_, ok := b.Data[r.key(a)]
		return ok
	case *List:
		r.check(a)
		r.check(b)
		return slices.ContainsFunc(b.Items, func(item any) bool { return equal(a, item) })
	}
	text, ok := textOf(b)
	part, isText := textOf(a)
	r.work(int64(len(text)))
	return ok && isText && strings.Contains(text, part)
}

// binary reads values with operators between them, from left to right.
func (p *parser) binary(read func() expression, operators ...string) expression {
	left := read()
	for slices.Contains(operators, p.peek().text) && p.peek().kind == 'o' {
		first, compute := left, arithmetic[p.take().text]
		second := read()
		left = func(r *run) any {
			r.step()
			a := first(r)
			return compute(r, a, second(r))
		}
	}
	return left
}

func (p *parser) sum() expression     { return p.binary(p.concat, "+", "-") }
func (p *parser) concat() expression  { return p.binary(p.product, "~") }
func (p *parser) product() expression { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() expression {
	return p.binary(func() expression { return p.unary(true) }, "**")
}

var arithmetic map[string]func(r *run, a, b any) any

func init() {
	arithmetic = map[string]func(r *run, a, b any) any{
		"+": add, "-": subtract, "*": multiply, "/": divide, "%": modulo,
		"~": func(r *run, a, b any) any { return concatenate(r, r.str(a), r.str(b)) },
		"//": func(_ *run, a, b any) any {
			checkDivisor(b)
			return compute("//", a, b, floorDivide, func(x, y float64) float64 { return math.Floor(x / y) })
		},
		"**": func(_ *run, a, b any) any {
			m, whole1 := whole(a)
			n, whole2 := whole(b)
			if whole1 && whole2 && n >= 0 {
				return wholePower(m, n)
			}
			return compute("**", a, b, nil, math.Pow)
		}}
}

// compute applies an operator to numbers. The result of whole ones is a whole one, if there is a function for them.
func compute(operator string, a, b any, ofWhole func(x, y int64) int64, ofFloats func(x, y float64) float64) any {
	x, ok1 := number(a)
	y, ok2 := number(b)
	if !ok1 || !ok2 {
		fail("%s %s %s: want numbers", kindOf(a), operator, kindOf(b))
	}
	m, whole1 := whole(a)
	n, whole2 := whole(b)
	result := ofFloats(x, y)
	if whole1 && whole2 && ofWhole != nil {
		checkWhole(result)
		return ofWhole(m, n)
	}
	return result
}

// checkWhole refuses whole numbers that Python has and Go does not.
func checkWhole(f float64) {
	if math.Abs(f) >= math.MaxInt64 {
		fail("a whole number of more than 63 bits")
	}
}

func wholePower(x, n int64) any {
	checkWhole(math.Pow(float64(x), float64(n)))
	if x >= -1 && x <= 1 {
		n = min(n, 2-n%2)
	}
	result := int64(1)
	for ; n > 0; n-- {
		result *= x
	}
	return result
}

func checkDivisor(v any) {
	if f, ok := number(v); ok && f == 0 {
		fail("a division by zero")
	}
}

func floorDivide(x, y int64) int64 {
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

func subtract(_ *run, a, b any) any {
	return compute("-", a, b, func(x, y int64) int64 { return x - y }, func(x, y float64) float64 { return x - y })
}

func divide(_ *run, a, b any) any {
	checkDivisor(b)
	return compute("/", a, b, nil, func(x, y float64) float64 { return x / y })
}

func modulo(r *run, a, b any) any {
	if text, ok := textOf(a); ok {
		if list, ok := b.(*List); ok && list.tuple {
			return printf(r, text, list.Items)
		}
		return printf(r, text, []any{b})
	}
	checkDivisor(b)
	return compute("%", a, b, func(x, y int64) int64 { return x - y*floorDivide(x, y) },
		func(x, y float64) float64 { return x - y*math.Floor(x/y) })
}

func add(r *run, a, b any) any {
	_, text1 := textOf(a)
	_, text2 := textOf(b)
	if text1 || text2 { // Python refuses a text and something else
		return addTexts(r, a, b)
	}
	v, list1 := a.(*List)
	w, list2 := b.(*List)
	if list1 && list2 && v.tuple == w.tuple {
		r.reserve(ofValue * int64(len(v.Items)+len(w.Items)))
		return &List{slices.Concat(v.Items, w.Items), v.tuple}
	}
	return compute("+", a, b, func(x, y int64) int64 { return x + y }, func(x, y float64) float64 { return x + y })
}

func concatenate(r *run, a, b string) string {
	r.reserve(int64(len(a) + len(b)))
	return a + b
}

// addTexts puts two texts one after the other. What a safe text is joined with is escaped.
func addTexts(r *run, a, b any) any {
	_, safe1 := a.(markup)
	_, safe2 := b.(markup)
	x, y := r.str(a), r.str(b)
	escape := func(text string) string {
		const longest = len("&quot;") // of an escaped character
		r.reserve(int64(longest * len(text)))
		return escaped.Replace(text)
	}
	switch {
	case !safe1 && !safe2:
		return concatenate(r, x, y)
	case !safe1:
		x = escape(x)
	case !safe2:
		y = escape(y)
	}
	return markup(concatenate(r, x, y))
}

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

func multiply(r *run, a, b any) any {
	n, ok := whole(b)
	if _, first := whole(a); first {
		a, b = b, a
		if _, second := whole(a); !second {
			n, ok = whole(b)
		}
	}
	text, isText := textOf(a)
	list, isList := a.(*List)
	if !ok || !isText && !isList {
		return compute("*", a, b, func(x, y int64) int64 { return x * y }, func(x, y float64) float64 { return x * y })
	}
	size := len(text)
	if isList {
		size = ofValue * len(list.Items)
	}
	if n = max(n, 0); size > 0 && n > r.limits.Text {
		r.failSize()
	}
	r.reserve(int64(size) * n)
	if size == 0 {
		n = 0
	}
	if isList {
		return &List{slices.Repeat(list.Items, int(n)), list.tuple}
	}
	return strings.Repeat(text, int(n))
}

func (p *parser) unary(filtered bool) (value expression) {
	if operator := p.peek().text; p.peek().kind == 'o' && (operator == "-" || operator == "+") {
		p.take()
		operand := p.nested(func() expression { return p.unary(false) })
		value = func(r *run) any {
			v := operand(r)
			if operator == "+" {
				return add(r, int64(0), v)
			}
			if f, ok := v.(float64); ok {
				return -f
			}
			return subtract(r, int64(0), v)
		}
	} else {
		value = p.primary()
	}
	for {
		switch t := p.peek(); {
		case t.kind == 'o' && (t.text == "." || t.text == "["):
			value = p.subscript(value)
		case t.kind == 'o' && t.text == "(":
			value = p.callOf(value)
		case filtered && t.kind == 'o' && t.text == "|":
			value = p.filters(value, false)
		case filtered && t.kind == 'n' && t.text == "is":
			value = p.test(value)
		default:
			return value
		}
	}
}

var constants = map[string]any{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

func (p *parser) primary() expression {
	t := p.take()
	switch {
	case t.kind == 's':
		text := t.value.(string)
		for p.peek().kind == 's' {
			text += p.take().value.(string)
		}
		return func(*run) any { return text }
	case t.kind == 'c':
		return func(*run) any { return t.value }
	case t.kind == 'n':
		if v, ok := constants[t.text]; ok {
			return func(*run) any { return v }
		}
		return func(r *run) any { return r.named(t.text) }
	case t.text == "(":
		if p.skip(")") {
			return func(*run) any { return tuple() }
		}
		value := p.tuple()
		p.expect(")")
		return value
	case t.text == "[":
		var all []expression
		for !p.skip("]") {
			if all = append(all, p.expression()); p.peek().text != "]" {
				p.expect(",")
			}
		}
		return func(r *run) any { return listOf(r.values(all)) }
	case t.text == "{":
		return p.dict()
	}
	p.tokens = append([]token{t}, p.tokens...)
	fail("unexpected %s", p.found())
	return nil
}

func (p *parser) dict() expression {
	var keys, values []expression
	for !p.skip("}") {
		keys = append(keys, p.expression())
		p.expect(":")
		if values = append(values, p.expression()); p.peek().text != "}" {
			p.expect(",")
		}
	}
	return func(r *run) any {
		d := NewDict()
		for i, key := range keys {
			r.work(4 * ofValue)
			d.Set(r.key(key(r)), values[i](r))
		}
		return d
	}
}

// key returns the key of an object that a value is.
func (r *run) key(v any) any {
	switch v := v.(type) {
	case string, markup:
		return r.str(v)
	case *List, *Dict:
		fail("%s as the key of an object: want a text or a number", kindOf(v))
	}
	return v
}

func (p *parser) subscript(value expression) expression {
	if p.take().text == "." {
		if t := p.peek(); t.kind == 'c' {
			p.take()
			return func(r *run) any { return index(r, value(r), t.value) }
		}
		name := p.name()
		return func(r *run) any { r.step(); return attribute(r, value(r), name) }
	}
	var bounds [3]expression
	if p.peek().text != ":" {
		bounds[0] = p.tuple()
	}
	if p.skip("]") {
		return func(r *run) any { r.step(); v := value(r); return index(r, v, bounds[0](r)) }
	}
	for i := 1; i < len(bounds) && p.skip(":"); i++ {
		if p.peek().text != ":" && p.peek().text != "]" {
			bounds[i] = p.expression()
		}
	}
	p.expect("]")
	return func(r *run) any {
		v := value(r)
		var values [3]any
		for i, bound := range bounds {
			if bound != nil {
				values[i] = bound(r)
			}
		}
		return slice(r, v, values)
	}
}

// attribute returns v.name: a method, or what an object has under that key.
func attribute(r *run, v any, name string) any {
	var methods map[string]method
	switch v := v.(type) {
	case string, markup:
		methods = textMethods
	case *List:
		methods = listMethods
	case interface{ attribute(name string) any }: // a loop or a cycler
		return v.attribute(name)
	case *function:
		if name == "name" {
			return v.name
		}
	case *Dict:
		if _, ok := dictMethods[name]; !ok || v.namespace {
			if value, ok := v.Data[name]; ok {
				return value
			}
			return undefined{}
		}
		methods = dictMethods
	}
	if call, ok := methods[name]; ok {
		return &function{name, func(r *run, a *args) any {
			return call(r, &args{append([]any{v}, a.list...), a.named})
		}}
	}
	return undefined{}
}

// index returns v[key].
func index(r *run, v, key any) any {
	switch v := v.(type) {
	case *Dict:
		if value, ok := v.Data[r.key(key)]; ok {
			return value
		}
	case *List:
		if n, ok := whole(key); ok {
			if n < 0 {
				n += int64(len(v.Items))
			}
			if n >= 0 && n < int64(len(v.Items)) {
				return v.Items[n]
			}
			return undefined{}
		}
	case string, markup:
		if _, ok := whole(key); ok {
			return index(r, listOf(r.items(v)), key)
		}
	}
	if name, ok := textOf(key); ok {
		return attribute(r, v, name)
	}
	return undefined{}
}

// slice returns v[from:to:step].
func slice(r *run, v any, bounds [3]any) any {
	_, isText := textOf(v)
	list, isList := v.(*List)
	switch {
	case isText:
		list = listOf(r.items(v))
	case v == undefined{}:
		return undefined{}
	case !isList:
		fail("a slice of %s: want a list or a text", kindOf(v))
	}
	n := int64(len(list.Items))
	bound := func(i int, otherwise, least, most int64) int64 {
		if bounds[i] == nil {
			return otherwise
		}
		at, ok := whole(bounds[i])
		if !ok {
			fail("a slice up to %s: want a whole number", kindOf(bounds[i]))
		}
		if at < 0 {
			at = max(at+n, least)
		}
		return min(at, most)
	}
	step := int64(1)
	if bounds[2] != nil {
		if step, _ = whole(bounds[2]); step == 0 {
			fail("a slice with steps of %s: want a whole number other than 0", str(bounds[2]))
		}
	}
	var from, to int64
	if step > 0 {
		from, to = bound(0, 0, 0, n), bound(1, n, 0, n)
	} else {
		from, to = bound(0, n-1, -1, n-1), bound(1, -1, -1, n-1)
	}
	var kept []any
	for at := from; step > 0 && at < to || step < 0 && at > to; at += step {
		if kept = append(kept, list.Items[at]); step > n || step < -n {
			break
		}
	}
	if isText {
		return joined(r, kept, "")
	}
	r.work(ofValue * int64(len(kept)))
	return &List{kept, list.tuple}
}

// arguments reads the arguments of a call.
func (p *parser) arguments() func(r *run) *args {
	var list, values []expression
	var names []string
	var more expression // after **
	p.expect("(")
	for !p.skip(")") {
		switch {
		case p.skip("**"):
			more = p.expression()
		case p.peek().kind == 'n' && p.tokens[1].text == "=" && p.tokens[1].kind == 'o':
			name := p.name()
			p.take()
			names, values = append(names, name), append(values, p.expression())
		default:
			list = append(list, p.expression())
		}
		if p.peek().text != ")" {
			p.expect(",")
		}
	}
	return func(r *run) *args {
		a := &args{list: r.values(list)}
		if more != nil || names != nil {
			a.named = map[string]any{}
		}
		if more != nil {
			for _, pair := range filters["items"](r, &args{list: []any{more(r)}}).(*List).Items {
				a.named[r.str(pair.(*List).Items[0])] = pair.(*List).Items[1]
			}
		}
		for i, name := range names {
			a.named[name] = values[i](r)
		}
		return a
	}
}

func (p *parser) callOf(value expression) expression {
	arguments := p.arguments()
	return func(r *run) any {
		f := value(r)
		if loop, ok := f.(*loopState); ok && loop.again != nil {
			f = loop.again
		}
		return r.call(f, arguments(r))
	}
}

// noArguments are those of a filter or a test without any.
func noArguments(*run) *args { return &args{} }

// filters reads the filters of a value; the first one follows no bar if it is inline.
func (p *parser) filters(value expression, inline bool) expression {
	for inline || p.skip("|") {
		inline = false
		name := p.name()
		filter, ok := filters[name]
		if !ok { // which may be in a branch that is never taken
			filter = func(*run, *args) any { fail("unknown filter %q", name); return nil }
		}
		arguments := noArguments
		if p.peek().text == "(" && p.peek().kind == 'o' {
			arguments = p.arguments()
		}
		filtered := value
		value = func(r *run) any {
			r.step()
			a := &args{list: []any{filtered(r)}}
			more := arguments(r)
			a.list, a.named = append(a.list, more.list...), more.named
			return filter(r, a)
		}
	}
	return value
}

// test reads "is" and the name of a test.
func (p *parser) test(value expression) expression {
	p.expect("is")
	negated := p.skip("not")
	name := p.name()
	test, ok := tests[name]
	if !ok {
		test = func(*run, *args) bool { fail("unknown test %q", name); return false }
	}
	arguments := noArguments
	switch t := p.peek(); {
	case t.kind == 'o' && t.text == "(":
		arguments = p.arguments()
	case t.kind == 's' || t.kind == 'c' || t.text == "[" || t.text == "{" ||
		t.kind == 'n' && !slices.Contains([]string{"else", "or", "and", "if", "is", "in", "not", "recursive"}, t.text):
		operand := p.primary()
		for p.peek().text == "." || p.peek().text == "[" {
			operand = p.subscript(operand)
		}
		arguments = func(r *run) *args { return &args{list: []any{operand(r)}} }
	}
	return func(r *run) any {
		r.step()
		a := &args{list: []any{value(r)}}
		more := arguments(r)
		a.list = append(a.list, more.list...)
		return test(r, a) != negated
	}
}
