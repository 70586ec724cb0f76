// Package jinja computes templates in the language Jinja, as Python's implementation does with the settings of
// transformers: trim_blocks, lstrip_blocks, loop controls, generation blocks, and its tojson. What a template reads and
// makes has a limit, at every step.
package jinja

import (
	"slices"
	"strings"
)

// Template is a parsed template.
type Template struct{ body []statement }

// jump says how a statement ends.
type jump int

const (
	next jump = iota
	breaks
	continues
)

type (
	statement  func(r *run) jump
	expression func(r *run) any
)

// Parse reads a template.
func Parse(source string) (t *Template, err error) {
	source = strings.TrimSuffix(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	p := &parser{scanner: scanner{source: source, lineBegins: true}}
	err = recovered(func() { t = &Template{p.body("")} })
	return t, err
}

// parser reads a template, a tag at a time.
type parser struct {
	scanner
	tokens []token // of the tag
	depth  int     // of expressions within each other
	loops  int     // that are open
}

// body reads the statements up to a tag with one of the names, which end the block of a name.
func (p *parser) body(block string, ends ...string) (body []statement) {
	for {
		text, tag := p.next()
		if text != "" {
			body = append(body, func(r *run) jump { r.print(text); return next })
		}
		switch tag.kind {
		case 0:
			if block != "" {
				fail("%s without its end", block)
			}
			return body
		case 'r':
			body = append(body, func(r *run) jump { r.print(tag.raw); return next })
		case '{':
			if p.tokens = tag.tokens; p.tokens[0].kind == 0 {
				fail("an empty expression")
			}
			value := p.tuple()
			p.finish()
			body = append(body, func(r *run) jump { r.print(r.str(value(r))); return next })
		case '%':
			p.tokens = tag.tokens
			if slices.Contains(ends, p.peek().text) {
				return body
			}
			if s := p.statement(); s != nil {
				body = append(body, s)
			}
		}
	}
}

// block reads the rest of a tag, and the body of the block that it begins.
func (p *parser) block(name string) []statement {
	p.finish()
	body := p.body(name, "end"+name)
	p.take()
	if name == "macro" && p.peek().kind == 'n' { // the end of a macro can have its name
		p.take()
	}
	p.finish()
	return body
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) take() token {
	t := p.tokens[0]
	if t.kind != 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// skip passes over an operator or a word, and reports whether it was there.
func (p *parser) skip(text string) bool {
	if p.peek().text != text {
		return false
	}
	p.take()
	return true
}

func (p *parser) expect(text string) {
	if !p.skip(text) {
		fail("%s instead of %q", p.found(), text)
	}
}

func (p *parser) name() string {
	if p.peek().kind != 'n' {
		fail("%s instead of a name", p.found())
	}
	return p.take().text
}

// found describes the next token in errors.
func (p *parser) found() string {
	switch t := p.peek(); t.kind {
	case 0:
		return "the end of a tag"
	case 's', 'c':
		return repr(t.value)
	default:
		return quote(t.text)
	}
}

func (p *parser) finish() {
	if p.peek().kind != 0 {
		fail("unexpected %s", p.found())
	}
}

func (p *parser) statement() statement {
	switch name := p.name(); name {
	case "if":
		return p.ifBlock()
	case "for":
		return p.loop()
	case "set":
		return p.set()
	case "macro":
		macro := p.name()
		all := p.parameters()
		define := macroOf(macro, all, p.block(name))
		return func(r *run) jump { r.scope.set(macro, define(r)); return next }
	case "call":
		return p.callBlock()
	case "filter":
		var body []statement
		value := p.filters(func(r *run) any { return r.captured(func() { r.exec(body) }) }, true)
		body = p.block(name)
		return func(r *run) jump { r.print(r.str(value(r))); return next }
	case "generation": // marks answers for training
		body := p.block(name)
		return func(r *run) jump { return r.exec(body) }
	case "break", "continue":
		if p.loops == 0 {
			fail("%s outside a loop", name)
		}
		p.finish()
		j := breaks
		if name == "continue" {
			j = continues
		}
		return func(*run) jump { return j }
	default:
		if strings.HasPrefix(name, "end") || name == "else" || name == "elif" {
			fail("%s without its beginning", name)
		}
		fail("the statement %.40q is not supported", name)
		return nil
	}
}

func (p *parser) ifBlock() statement {
	condition := p.expression()
	p.finish()
	body := p.body("if", "elif", "else", "endif")
	var otherwise []statement
	switch p.name() {
	case "elif":
		otherwise = []statement{p.ifBlock()}
	case "else":
		otherwise = p.block("if")
	default:
		p.finish()
	}
	return func(r *run) jump {
		if isTrue(condition(r)) {
			return r.exec(body)
		}
		return r.exec(otherwise)
	}
}

// targets reads the names that a loop or an assignment sets, and returns what sets them.
func (p *parser) targets() func(r *run, v any) {
	one := func() func(r *run, v any) {
		if p.skip("(") {
			nested := p.targets()
			p.expect(")")
			return nested
		}
		name := p.name()
		if !p.skip(".") {
			return func(r *run, v any) { r.scope.set(name, v) }
		}
		attribute := p.name()
		return func(r *run, v any) {
			space, ok := r.named(name).(*Dict)
			if !ok || !space.namespace {
				fail("%s.%s cannot be set: %s is no namespace", name, attribute, name)
			}
			space.Set(attribute, v)
		}
	}
	first := one()
	if p.peek().text != "," {
		return first
	}
	all := []func(*run, any){first}
	for p.skip(",") && p.peek().kind == 'n' && p.peek().text != "in" {
		all = append(all, one())
	}
	return func(r *run, v any) {
		values := r.items(v)
		if len(values) != len(all) {
			fail("%d values for %d names", len(values), len(all))
		}
		for i, set := range all {
			set(r, values[i])
		}
	}
}

func (p *parser) set() statement {
	set := p.targets()
	if p.skip("=") {
		value := p.tuple()
		p.finish()
		return func(r *run) jump { r.step(); set(r, value(r)); return next }
	}
	var body []statement
	value := p.filters(func(r *run) any { return r.captured(func() { r.exec(body) }) }, false)
	body = p.block("set")
	return func(r *run) jump { set(r, value(r)); return next }
}

// loopState is the loop of a round.
type loopState struct {
	items []any
	at    int
	again *function // of a recursive loop
}

func (l *loopState) attribute(name string) any {
	n, last := int64(l.at), int64(len(l.items)-1)
	switch name {
	case "index":
		return n + 1
	case "index0":
		return n
	case "revindex":
		return last - n + 1
	case "revindex0":
		return last - n
	case "first":
		return n == 0
	case "last":
		return n == last
	case "length":
		return last + 1
	case "cycle":
		return &function{name, func(_ *run, a *args) any { a.need(0); return a.list[l.at%len(a.list)] }}
	case "previtem":
		if n > 0 {
			return l.items[n-1]
		}
	case "nextitem":
		if n < last {
			return l.items[n+1]
		}
	}
	return undefined{}
}

func (p *parser) loop() statement {
	set := p.targets()
	p.expect("in")
	list := p.tupleOf(p.or)
	var condition expression
	if p.skip("if") {
		condition = p.expression()
	}
	recursive := p.skip("recursive")
	p.finish()
	p.loops++
	body := p.body("for", "else", "endfor")
	p.loops--
	var otherwise []statement
	if p.name() == "else" {
		otherwise = p.block("for")
	} else {
		p.finish()
	}
	var rounds func(r *run, items []any) jump
	rounds = func(r *run, items []any) (j jump) {
		outside := r.scope
		if condition != nil {
			var kept []any
			for _, item := range items {
				r.work(ofRound)
				r.within(outside, func() {
					if set(r, item); isTrue(condition(r)) {
						kept = append(kept, item)
					}
				})
			}
			items = kept
		}
		state := &loopState{items: items}
		if recursive {
			state.again = &function{"loop", func(r *run, a *args) any {
				return r.captured(func() { rounds(r, r.items(a.first())) })
			}}
		}
		for state.at = range items {
			r.work(ofRound)
			r.within(outside, func() {
				r.scope.set("loop", state)
				set(r, items[state.at])
				j = r.exec(body)
			})
			if j == breaks {
				break
			}
		}
		if len(items) == 0 {
			return r.exec(otherwise)
		}
		return next
	}
	return func(r *run) jump { return rounds(r, r.items(list(r))) }
}

// parameter is one of a macro.
type parameter struct {
	name     string
	fallback expression
}

func (p *parser) parameters() (all []parameter) {
	p.expect("(")
	for !p.skip(")") {
		a := parameter{name: p.name()}
		if p.skip("=") {
			a.fallback = p.expression()
		}
		if all = append(all, a); p.peek().text != ")" {
			p.expect(",")
		}
	}
	return all
}

func macroOf(name string, all []parameter, body []statement) func(r *run) *function {
	return func(r *run) *function {
		defined := r.scope
		return &function{name, func(r *run, a *args) (text any) {
			r.within(defined, func() {
				for i, parameter := range all {
					v := a.at(i, parameter.name)
					if v == (undefined{}) && parameter.fallback != nil {
						v = parameter.fallback(r)
					}
					r.scope.set(parameter.name, v)
				}
				r.scope.set("varargs", tuple(a.list[min(len(all), len(a.list)):]...))
				if caller, ok := a.named["caller"]; ok {
					r.scope.set("caller", caller)
				}
				text = r.captured(func() { r.exec(body) })
			})
			return text
		}}
	}
}

// callBlock reads a call of a macro that gets the body as its caller.
func (p *parser) callBlock() statement {
	var all []parameter
	if p.peek().text == "(" {
		all = p.parameters()
	}
	called := p.primary()
	for p.peek().text == "." || p.peek().text == "[" {
		called = p.subscript(called)
	}
	arguments := p.arguments()
	caller := macroOf("caller", all, p.block("call"))
	return func(r *run) jump {
		f, a := called(r), arguments(r)
		if a.named == nil {
			a.named = map[string]any{}
		}
		a.named["caller"] = caller(r)
		r.print(r.str(r.call(f, a)))
		return next
	}
}
