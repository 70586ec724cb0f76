package jsonlogs

import (
	"github.com/cachesim/cachesim/internal/traces/source"
)

// kind is what a value is.
type kind uint8

const (
	missing kind = iota // or null
	text
	number
	truth  // true or false
	nested // an object or an array
)

var kindNames = [...]string{missing: "missing", text: "a text", number: "a number", truth: "true or false",
	nested: "an object or an array"}

// value is what a line has at a path.
type value struct {
	kind kind
	text []byte // of a text without quotes and escapes; valid until the next line
}

// node is a place in the objects of a log, with what lies below it.
type node struct {
	step
	slot     int // of its value, or none
	children []node
}

const none = -1

// scanner reads the values at some paths from the object that each line is. It looks at each byte once, and allocates
// nothing per line.
type scanner struct {
	json   source.JSONScanner
	root   node
	values []value // of the last line, by slot
}

// add makes the scanner read the value at a path, and returns its slot.
func (s *scanner) add(p path) int {
	at := &s.root
	for _, next := range p {
		at = at.child(next)
	}
	if at.slot == none {
		at.slot = len(s.values)
		s.values = append(s.values, value{})
	}
	return at.slot
}

func newScanner() *scanner { return &scanner{root: node{slot: none}} }

// child returns the place that a step leads to, and makes it if necessary.
func (n *node) child(next step) *node {
	for i := range n.children {
		if n.children[i].step == next {
			return &n.children[i]
		}
	}
	n.children = append(n.children, node{step: next, slot: none})
	return &n.children[len(n.children)-1]
}

// scan reads a line. A field that is there twice has its last value.
func (s *scanner) scan(line []byte) error {
	s.json.Reset(line)
	clear(s.values)
	if err := s.fields(&s.root); err != nil {
		return err
	}
	return s.json.End()
}

func (s *scanner) fields(n *node) error {
	return s.json.Object(func(name []byte) error {
		for i := range n.children {
			if child := &n.children[i]; child.index == field && string(name) == child.name {
				return s.value(child)
			}
		}
		return s.json.Skip()
	})
}

func (s *scanner) elements(n *node) error {
	at := -1
	return s.json.Array(func() error {
		at++
		for i := range n.children {
			if child := &n.children[i]; child.index == at {
				return s.value(child)
			}
		}
		return s.json.Skip()
	})
}

func (s *scanner) value(n *node) (err error) {
	var v value
	switch s.json.Peek() {
	case '{':
		v.kind = nested
		err = s.fields(n)
	case '[':
		v.kind = nested
		err = s.elements(n)
	case '"':
		v.kind = text
		v.text, err = s.json.String()
	case 't', 'f', 'n':
		start := s.json.Pos
		err = s.json.Skip()
		if s.json.Text[start] != 'n' {
			v = value{truth, s.json.Text[start:s.json.Pos]}
		}
	default:
		v.kind = number
		v.text, err = s.json.Number()
	}
	if n.slot != none {
		s.values[n.slot] = v
	}
	return err
}
