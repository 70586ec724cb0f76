package jinja

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limits bound what a template does with one conversation.
type Limits struct {
	Text int64 // bytes of the longest text
	Work int64 // bytes that are read and made; a step of the template counts as some
}

const (
	// bytes of work
	ofStep  = 16  // an operator, a name, a filter
	ofRound = 256 // a round of a loop, a call
	ofValue = 16  // a value of a list or an object

	deepestCalls = 100
)

// ErrRaised says that a template has called raise_exception.
var ErrRaised = errors.New("raise_exception")

// failure carries an error up to Parse or Render.
type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// recovered returns the error with which a call fails.
func recovered(call func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
	}()
	call()
	return nil
}

// run is the state of a template that is being computed.
type run struct {
	limits Limits
	left   int64 // work
	out    *strings.Builder
	scope  *scope
	calls  int // within each other
	when   time.Time
}

// scope has the names of a template, a macro or a round of a loop.
type scope struct {
	names  map[string]any
	parent *scope
}

func (s *scope) set(name string, v any) {
	if s.names == nil {
		s.names = map[string]any{}
	}
	s.names[name] = v
}

// named returns the value of a name.
func (r *run) named(name string) any {
	for s := r.scope; s != nil; s = s.parent {
		r.step()
		if v, ok := s.names[name]; ok {
			return v
		}
	}
	return undefined{}
}

// Render computes a template. strftime_now writes the date when.
func (t *Template) Render(values map[string]any, limits Limits, when time.Time) (text string, err error) {
	r := &run{limits: limits, left: limits.Work, when: when,
		scope: &scope{parent: &scope{names: values, parent: &scope{names: globals}}}}
	err = recovered(func() { text = r.captured(func() { r.exec(t.body) }) })
	return text, err
}

func (r *run) exec(body []statement) jump {
	for _, s := range body {
		if j := s(r); j != next {
			return j
		}
	}
	return next
}

// within computes something in a new scope.
func (r *run) within(parent *scope, do func()) {
	before := r.scope
	r.scope = &scope{parent: parent}
	do()
	r.scope = before
}

// captured returns what is printed meanwhile.
func (r *run) captured(do func()) string {
	before := r.out
	r.out = &strings.Builder{}
	do()
	text := r.out.String()
	r.out = before
	return text
}

func (r *run) print(text string) {
	r.work(int64(len(text)) + ofStep)
	if int64(r.out.Len()+len(text)) > r.limits.Text {
		r.failSize()
	}
	r.out.WriteString(text)
}

// work counts what a template does.
func (r *run) work(n int64) {
	if r.left -= n; r.left < 0 {
		fail("more than %d bytes of work for one conversation", r.limits.Work)
	}
}

func (r *run) step() { r.work(ofStep) }

func (r *run) failSize() { fail("more than %d bytes of text for one conversation", r.limits.Text) }

// reserve counts a text before it is made.
func (r *run) reserve(n int64) {
	if n > r.limits.Text {
		r.failSize()
	}
	r.work(n)
}

// made counts a text that was made of a checked value.
func (r *run) made(text string) string {
	r.reserve(int64(len(text)))
	return text
}

// list counts the values of a list that is being made.
func (r *run) list(items []any) *List {
	r.work(ofValue * int64(len(items)))
	return listOf(items)
}

// check counts all parts of a value, and refuses one that is nested too deeply or has too long a text.
func (r *run) check(v any) {
	left := r.limits.Text
	r.visit(v, &left, 0)
}

func (r *run) visit(v any, left *int64, depth int) {
	const leastText = 2 // bytes of the text of any value in a list
	if depth > deepest {
		panic(failure{ErrDeep})
	}
	size := int64(leastText)
	switch v := v.(type) {
	case string:
		size = int64(len(v))
	case markup:
		size = int64(len(v))
	case *List:
		for _, item := range v.Items {
			r.visit(item, left, depth+1)
		}
	case *Dict:
		for _, key := range v.Keys {
			r.visit(key, left, depth+1)
			r.visit(v.Data[key], left, depth+1)
		}
	}
	r.work(size + ofStep)
	if *left -= size; *left < 0 {
		r.failSize()
	}
}

// str returns a value as Python's str does.
func (r *run) str(v any) string {
	if text, ok := textOf(v); ok {
		r.work(int64(len(text)))
		return text
	}
	r.check(v)
	return r.made(repr(v))
}

// items returns the values that a loop goes over; none of what has none, where Python fails.
func (r *run) items(v any) []any {
	switch v := v.(type) {
	case *List:
		return v.Items
	case *Dict:
		return v.Keys
	}
	text, _ := textOf(v)
	r.work(ofValue * int64(len(text)))
	all := make([]any, 0, len(text))
	for _, c := range text {
		all = append(all, string(c))
	}
	return all
}

// args are the arguments of a call; those of a filter and of a method begin with their value.
type args struct {
	list  []any
	named map[string]any
}

func (a *args) first() any { return a.at(0, "") }

// at returns an argument that has a place or a name.
func (a *args) at(place int, name string) any {
	if place < len(a.list) {
		return a.list[place]
	}
	if v, ok := a.named[name]; ok {
		return v
	}
	return undefined{}
}

// need returns an argument that must be there.
func (a *args) need(place int) any {
	if place >= len(a.list) {
		fail("%d arguments instead of %d", len(a.list), place+1)
	}
	return a.list[place]
}

// given returns an argument that is neither missing nor none.
func (a *args) given(place int, name string) (v any, ok bool) {
	v = a.at(place, name)
	return v, v != nil && v != (undefined{})
}

// text returns an argument as a text, or another text if it is not given.
func (a *args) text(r *run, place int, name, otherwise string) string {
	if v, ok := a.given(place, name); ok {
		return r.str(v)
	}
	return otherwise
}

// int returns an argument that is a whole number, or another number if it is not given.
func (a *args) int(place int, name string, otherwise int64) int64 {
	v, ok := a.given(place, name)
	if !ok {
		return otherwise
	}
	n, ok := whole(v)
	if !ok {
		fail("%s instead of a whole number", kindOf(v))
	}
	return n
}

// function is what can be called.
type function struct {
	name string
	call func(r *run, a *args) any
}

func (r *run) call(f any, a *args) any {
	r.work(ofRound)
	called, ok := f.(*function)
	if !ok {
		fail("a call of %s", kindOf(f))
	}
	if r.calls++; r.calls > deepestCalls {
		fail("more than %d calls within each other", deepestCalls)
	}
	v := called.call(r, a)
	r.calls--
	return v
}
