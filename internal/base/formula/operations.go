package formula

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// operation computes a column from one, two or three others.
type operation uint8

const (
	add operation = iota
	subtract
	multiply
	divide
	remainder
	power
	equal
	unequal
	less
	atMost
	and
	or
	least
	most
	negate
	not
	absolute
	up
	down
	nearest
	root
	exponential
	logarithm
	logarithm2
	choose // b where a is true, c elsewhere
)

// binaries are the operations of operators. Those of > and >= have their operands exchanged.
var binaries = map[string]operation{
	"+": add, "-": subtract, "*": multiply, "/": divide, "%": remainder, "**": power, "^": power,
	"==": equal, "!=": unequal, "<": less, ">": less, "<=": atMost, ">=": atMost,
	"and": and, "&&": and, "or": or, "||": or,
}

// function is an operation that is written as a call.
type function struct {
	do          operation
	least, most int // number of arguments; most is 0 for any number
}

// functions are those of numbers. With more than two arguments, they apply to the first two, then to that and the next.
var functions = map[string]function{
	"min": {least, 1, 0}, "max": {most, 1, 0}, "abs": {absolute, 1, 1}, "ceil": {up, 1, 1}, "floor": {down, 1, 1},
	"round": {nearest, 1, 1}, "sqrt": {root, 1, 1}, "exp": {exponential, 1, 1}, "log": {logarithm, 1, 1},
	"log2": {logarithm2, 1, 1}, "pow": {power, 2, 2},
}

func functionNames() []string { return slices.Sorted(maps.Keys(functions)) }

// wants says how many arguments a function has.
func (f function) wants() string {
	switch {
	case f.most == 0:
		return "at least one number"
	case f.most == 1:
		return "one number"
	}
	return fmt.Sprintf("%d numbers", f.most)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// run computes a step for n rows. Each operation is a loop of its own, so that what decides on it runs once for all.
func (s step) run(columns [][]float64, to []float64) {
	n := len(to)
	a, b := columns[s.a][:n], columns[s.b][:n]
	switch s.do {
	case add:
		for i := range to {
			to[i] = a[i] + b[i]
		}
	case subtract:
		for i := range to {
			to[i] = a[i] - b[i]
		}
	case multiply:
		for i := range to {
			to[i] = a[i] * b[i]
		}
	case divide:
		for i := range to {
			to[i] = a[i] / b[i]
		}
	case choose:
		c := columns[s.c][:n]
		for i := range to {
			to[i] = c[i]
			if a[i] != 0 {
				to[i] = b[i]
			}
		}
	default:
		s.runOther(a, b, to)
	}
}

func (s step) runOther(a, b, to []float64) {
	switch s.do {
	case equal:
		each(a, b, to, func(x, y float64) float64 { return truth(x == y) })
	case unequal:
		each(a, b, to, func(x, y float64) float64 { return truth(x != y) })
	case less:
		each(a, b, to, func(x, y float64) float64 { return truth(x < y) })
	case atMost:
		each(a, b, to, func(x, y float64) float64 { return truth(x <= y) })
	case and:
		each(a, b, to, func(x, y float64) float64 { return truth(x != 0 && y != 0) })
	case or:
		each(a, b, to, func(x, y float64) float64 { return truth(x != 0 || y != 0) })
	case not:
		each(a, b, to, func(x, _ float64) float64 { return truth(x == 0) })
	case negate:
		each(a, b, to, func(x, _ float64) float64 { return -x })
	case least:
		each(a, b, to, func(x, y float64) float64 { return min(x, y) })
	case most:
		each(a, b, to, func(x, y float64) float64 { return max(x, y) })
	case remainder:
		each(a, b, to, math.Mod)
	case power:
		each(a, b, to, math.Pow)
	case absolute:
		each(a, b, to, func(x, _ float64) float64 { return math.Abs(x) })
	case up:
		each(a, b, to, func(x, _ float64) float64 { return math.Ceil(x) })
	case down:
		each(a, b, to, func(x, _ float64) float64 { return math.Floor(x) })
	case nearest:
		each(a, b, to, func(x, _ float64) float64 { return math.Round(x) })
	case root:
		each(a, b, to, func(x, _ float64) float64 { return math.Sqrt(x) })
	case exponential:
		each(a, b, to, func(x, _ float64) float64 { return math.Exp(x) })
	case logarithm:
		each(a, b, to, func(x, _ float64) float64 { return math.Log(x) })
	case logarithm2:
		each(a, b, to, func(x, _ float64) float64 { return math.Log2(x) })
	}
}

func each(a, b, to []float64, f func(x, y float64) float64) {
	for i := range to {
		to[i] = f(a[i], b[i])
	}
}

// Machine evaluates a formula for up to a number of rows. It is for one goroutine.
type Machine struct {
	formula *Formula
	columns [][]float64
}

// NewMachine returns a Machine for up to rows rows.
func (f *Formula) NewMachine(rows int) *Machine {
	inputs := len(f.References)
	columns := make([][]float64, inputs+len(f.constants)+len(f.steps))
	cells := make([]float64, rows*len(columns))
	for i := range columns {
		columns[i] = cells[i*rows : (i+1)*rows]
	}
	for i, x := range f.constants {
		for row := range rows {
			columns[inputs+i][row] = x
		}
	}
	return &Machine{f, columns}
}

// Input returns the column of a reference, to be filled before Run.
func (m *Machine) Input(reference int) []float64 { return m.columns[reference] }

// Run returns the values of the first rows, until the next call. It changes nothing else.
func (m *Machine) Run(rows int) []float64 {
	first := len(m.columns) - len(m.formula.steps)
	for i, s := range m.formula.steps {
		s.run(m.columns, m.columns[first+i][:rows])
	}
	return m.columns[m.formula.result][:rows]
}
