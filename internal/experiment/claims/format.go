package claims

import (
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

// String formats the claim in a normalised form that Parse reads back.
func (c *Claim) String() string {
	share := ""
	if c.shareText != "" {
		share = " at " + c.shareText + " of points"
	}
	return c.says.String() + share + c.where()
}

// where formats the conditions: " where trace = oltp and noise < 0.5".
func (c *Claim) where() string {
	if len(c.conditions) == 0 {
		return ""
	}
	return " where " + joined(c.conditions, " and ", conditionText)
}

func joined[T any](items []T, separator string, text func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = text(item)
	}
	return strings.Join(texts, separator)
}

func conditionText(c records.Condition) string {
	separator := ", "
	if c.Op == "between" {
		separator = " and "
	}
	return quoted(c.Dimension) + " " + c.Op + " " + joined(c.Values, separator, quotedPlace)
}

func (c comparison) String() string {
	texts := make([]string, len(c.values))
	for i, x := range c.values {
		texts[i] = text(x)
	}
	if c.between {
		return texts[1] + " between " + texts[0] + " and " + texts[2] + c.within.String()
	}
	all := texts[0]
	for i, op := range c.ops {
		all += " " + op + " " + texts[i+1]
	}
	return all + c.within.String()
}

func (t trend) String() string {
	return text(t.value) + " " + t.moves.words() + " " + quoted(t.along) + t.within.String()
}

// words are the movement and the preposition between it and its dimension.
func (m movement) words() string {
	if m == isMonotone || m == isConstant {
		return string(m) + " in"
	}
	return string(m) + " with"
}

func (r ranking) String() string {
	return text(r.value) + " is " + string(r.rank) + " among " + quotedNames(r.among) + r.within.String()
}

func (t *tolerance) String() string {
	switch {
	case t == nil:
		return ""
	case t.relative:
		return " within " + t.amount.written + " of it"
	}
	return " within " + t.amount.written
}

// position is the position of an expression, which decides whether it needs parentheses.
type position struct {
	level    int  // it must bind at least this tightly
	followed bool // next to an operator
}

const (
	sumLevel = iota + 1
	productLevel
	factorLevel
)

var alone = position{}

func (n number) text(position) string { return n.written }

func (f figure) text(position) string { return quoted(f.name) + "(" + quotedSpec(f.policy) + ")" }

func (f fixed) text(position) string {
	return quoted(f.of.name) + "(" + quotedSpec(f.of.policy) + " at " + joined(f.at, " and ", conditionText) + ")"
}

func (n name) text(position) string { return quoted(string(n)) }

func (o operation) text(at position) string {
	level := productLevel
	if o.op == '+' || o.op == '-' {
		level = sumLevel
	}
	if level < at.level {
		return "(" + o.text(alone) + ")"
	}
	return o.left.text(position{level, true}) + " " + string(o.op) + " " + o.right.text(position{level + 1, at.followed})
}

func (n negation) text(at position) string {
	return "-" + n.of.text(position{factorLevel, at.followed})
}

func (c call) text(position) string { return c.function + "(" + joined(c.arguments, ", ", text) + ")" }

func (o over) text(at position) string {
	all := o.take + " over " + quotedNames(o.names) + " of " + o.of.text(position{factorLevel, false})
	if at.followed {
		return "(" + all + ")"
	}
	return all
}

func quotedNames(names []string) string { return joined(names, ", ", quotedSpec) }

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
