// Package formula evaluates expressions over named numbers, such as "hits / (now - loaded) / size", for many rows at
// once. Compile reads an expression; its language is that of github.com/expr-lang/expr, as far as it has numbers.
package formula

import "slices"

// Longest is the greatest length of an expression, in bytes: what reading it needs grows with it.
const Longest = 10_000

// Names are what an expression may use beside numbers, operators and functions.
type Names struct {
	Values  []string // names of numbers, such as size
	Indexed []string // functions of a whole number from 1 to MaxIndex: gap(2)
	// Shares are functions of an expression and of a share from 0 to 1, such as quantile(size, 0.9).
	Shares   []string
	MaxIndex int
	// Missing says for a name that users may expect why there is none of it, and what to write instead.
	Missing map[string]string
}

// Reference is what an expression uses of its Names: a value, or a function with its arguments.
type Reference struct {
	Name  string
	Index int      // of one that is indexed
	Of    *Formula // of a share
	Share float64
}

// Formula is a compiled expression. It is a list of steps, each of which computes a column from others: first come
// those of the references, then the constants.
type Formula struct {
	References []Reference
	constants  []float64
	steps      []step
	result     int // the column
}

type step struct {
	do      operation
	a, b, c int // columns; those that the operation does not have are equal to a
}

// Uses reports whether a formula has a reference of which a condition is true, also within others.
func (f *Formula) Uses(is func(Reference) bool) bool {
	return slices.ContainsFunc(f.References, func(r Reference) bool {
		return is(r) || r.Of != nil && r.Of.Uses(is)
	})
}

// columns collects the parts of a Formula in the order in which an expression has them.
type columns []column

// column is one of a reference, a constant and a step.
type column struct {
	reference *Reference
	constant  float64
	step      *step
}

func (c *columns) add(col column) int {
	*c = append(*c, col)
	return len(*c) - 1
}

func (c *columns) constant(x float64) int { return c.add(column{constant: x}) }

// refer returns the column of a reference, which it shares with equal ones before it.
func (c *columns) refer(r Reference) int {
	for i, col := range *c {
		if col.reference != nil && r.Of == nil && *col.reference == r {
			return i
		}
	}
	return c.add(column{reference: &r})
}

// apply adds a step for an operation on columns.
func (c *columns) apply(do operation, of ...int) int {
	s := step{do, of[0], of[0], of[0]}
	if len(of) > 1 {
		s.b = of[1]
	}
	if len(of) > 2 {
		s.c = of[2]
	}
	return c.add(column{step: &s})
}

// formula moves references to the front, followed by constants.
func (c *columns) formula(result int) *Formula {
	f := &Formula{}
	place := make([]int, len(*c))
	next := 0
	number := func(is func(column) bool, take func(column)) {
		for i, col := range *c {
			if is(col) {
				place[i] = next
				next++
				take(col)
			}
		}
	}
	number(func(col column) bool { return col.reference != nil },
		func(col column) { f.References = append(f.References, *col.reference) })
	number(func(col column) bool { return col.reference == nil && col.step == nil },
		func(col column) { f.constants = append(f.constants, col.constant) })
	number(func(col column) bool { return col.step != nil }, func(col column) {
		f.steps = append(f.steps, step{col.step.do, place[col.step.a], place[col.step.b], place[col.step.c]})
	})
	f.result = place[result]
	return f
}
