package claims

import (
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

// String formats the claim in a normalised form that Parse reads back.
func (c *Claim) String() string {
	var w strings.Builder
	c.says.write(&w)
	if c.shareText != "" {
		w.WriteString(" at " + c.shareText + " of points")
	}
	w.WriteString(c.where())
	return w.String()
}

// where formats the conditions: " where trace = oltp and noise < 0.5".
func (c *Claim) where() string {
	var w strings.Builder
	for i, cond := range c.conditions {
		w.WriteString([]string{" where ", " and "}[min(i, 1)])
		writeCondition(&w, cond)
	}
	return w.String()
}

func writeCondition(w *strings.Builder, c records.Condition) {
	w.WriteString(quoted(c.Dimension) + " " + c.Op + " ")
	separator := ", "
	if c.Op == "between" {
		separator = " and "
	}
	for i, v := range c.Values {
		if i > 0 {
			w.WriteString(separator)
		}
		w.WriteString(quotedPlace(v))
	}
}

func (c comparison) write(w *strings.Builder) {
	if c.between {
		c.values[1].write(w, alone)
		w.WriteString(" between ")
		c.values[0].write(w, alone)
		w.WriteString(" and ")
		c.values[2].write(w, alone)
		c.within.write(w)
		return
	}
	for i, x := range c.values {
		if i > 0 {
			w.WriteString(" " + c.ops[i-1] + " ")
		}
		x.write(w, alone)
	}
	c.within.write(w)
}

func (t trend) write(w *strings.Builder) {
	t.value.write(w, alone)
	w.WriteString(" " + string(t.moves) + " " + t.moves.preposition() + " " + quoted(t.along))
	t.within.write(w)
}

// preposition is the word between a movement and its dimension.
func (m movement) preposition() string {
	if m == isMonotone || m == isConstant {
		return "in"
	}
	return "with"
}

func (r ranking) write(w *strings.Builder) {
	r.value.write(w, alone)
	w.WriteString(" is " + string(r.rank) + " among " + quotedNames(r.among))
	r.within.write(w)
}

func (t *tolerance) write(w *strings.Builder) {
	if t == nil {
		return
	}
	w.WriteString(" within " + t.amount.text)
	if t.relative {
		w.WriteString(" of it")
	}
}

// position is the position of an expression, which decides whether it needs parentheses.
type position struct {
	level    int  // it must bind at least this tightly
	followed bool // next to an operator
}

// Levels of binding.
const (
	sumLevel = iota + 1
	productLevel
	factorLevel
)

var alone = position{}

func (n number) write(w *strings.Builder, _ position) { w.WriteString(n.text) }

func (f figure) write(w *strings.Builder, _ position) {
	w.WriteString(quoted(f.name) + "(" + quotedSpec(f.policy) + ")")
}

func (f fixed) write(w *strings.Builder, _ position) {
	w.WriteString(quoted(f.of.name) + "(" + quotedSpec(f.of.policy) + " at ")
	for i, c := range f.at {
		if i > 0 {
			w.WriteString(" and ")
		}
		writeCondition(w, c)
	}
	w.WriteByte(')')
}

func (n name) write(w *strings.Builder, _ position) { w.WriteString(quoted(string(n))) }

func (o operation) write(w *strings.Builder, at position) {
	level := productLevel
	if o.op == '+' || o.op == '-' {
		level = sumLevel
	}
	if level < at.level {
		w.WriteByte('(')
		defer w.WriteByte(')')
		at = alone
	}
	o.left.write(w, position{level, true})
	w.WriteString(" " + string(o.op) + " ")
	o.right.write(w, position{level + 1, at.followed})
}

func (n negation) write(w *strings.Builder, at position) {
	w.WriteByte('-')
	n.of.write(w, position{factorLevel, at.followed})
}

func (c call) write(w *strings.Builder, _ position) {
	w.WriteString(c.function + "(")
	for i, x := range c.arguments {
		if i > 0 {
			w.WriteString(", ")
		}
		x.write(w, alone)
	}
	w.WriteByte(')')
}

func (o over) write(w *strings.Builder, at position) {
	if at.followed {
		w.WriteByte('(')
		defer w.WriteByte(')')
	}
	w.WriteString(o.take + " over " + quotedNames(o.names) + " of ")
	o.of.write(w, position{factorLevel, false})
}

func quotedNames(names []string) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = quotedSpec(n)
	}
	return strings.Join(all, ", ")
}

// quoted formats the name of a metric or a dimension, in quotes if it would not be read as one word.
func quoted(text string) string {
	if wordEnd(text, 0) == len(text) && text != "" && !slices.Contains(keywords, text) &&
		!slices.Contains(functions, text) {
		return text
	}
	return inQuotes(text)
}

// quotedSpec formats a policy, with optional parameters, or a group.
func quotedSpec(text string) string {
	if end, err := specEnd(text, 0); err == nil && end == len(text) && !slices.Contains(keywords, text) {
		return text
	}
	return inQuotes(text)
}

// quotedPlace formats a place on a dimension: a word, or a number, possibly with a sign or a percent sign.
func quotedPlace(text string) string {
	if placeEnd(text, 0) == len(text) && text != "" && !slices.Contains(keywords, text) {
		return text
	}
	return inQuotes(text)
}

// inQuotes doubles quotes within the text, as in single-quoted YAML.
func inQuotes(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
