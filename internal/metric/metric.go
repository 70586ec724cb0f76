// Package metric declares what replays measure. A part (a cache, a model, a policy, a predictor, a prefetcher, an
// allocator) declares its metrics once, in its entry: name, unit, which way is better, how the values of several parts
// of a trace become one, and what it means. How records store a metric, how tables and figures show it, which value is
// marked as the best and what claims and tolerances make of it all follow from the declaration.
package metric

import (
	"errors"
	"fmt"
	"strings"
)

// Unit is what a metric is counted in.
type Unit string

// Units of metrics. Values of Count and Bytes are whole numbers, unless the metric says otherwise.
const (
	Count        Unit = "count"
	Bytes        Unit = "bytes"
	Share        Unit = "share" // a part of 1, which people read as a percentage
	Ratio        Unit = "ratio"
	Milliseconds Unit = "ms"
	Nanoseconds  Unit = "ns"
	PerSecond    Unit = "1/s"
)

// Better says which way a metric is to go.
type Better int

// Directions of metrics. Evictions, say, are neither good nor bad.
const (
	Neither Better = iota
	Higher
	Lower
)

// String returns "higher", "lower" or "".
func (b Better) String() string { return [...]string{"", "higher", "lower"}[b] }

// Metric is the declaration of one metric.
type Metric struct {
	Name   string // in records: small letters, digits and underscores
	Title  string // for people; "" for the name with spaces
	Unit   Unit
	Digits int // behind the point, for people; of a share, of its percentage
	// Fractions says that values may have some although the unit counts whole things, as a bound or a sum of shares does.
	Fractions bool
	// OfMachine says that values depend on the machine and on what else it does; records of experiments lack them.
	OfMachine bool
	// Checked says that every decision shows in the metric, so that a check of a baseline compares it unless told
	// otherwise.
	Checked bool
	Better  Better
	Merge   Merge  // how the values of several parts become one; the zero value adds them up
	Doc     string // one line: what is measured
	Column  Column // in the table of a run
	Figure  Figure // over capacity
	// Labels is what the metric has several values by, "tenant" say: that of the tenant web is called name[web]. "" where
	// it has a single one.
	Labels string
	UpTo   string // the metric that is the other end of an interval; "" for a single value
}

// Column says where a metric stands in the table of a run. The zero value leaves it out.
type Column struct {
	At   int    // from the left; those of equal numbers stand in the order of their declarations
	Head string // "" for the metric's title
	// Weight is from 0 to 99: where a terminal has no room for all columns, those of the least weight leave first.
	Weight int
	// IfAny leaves the column out unless some record has a value above 0.
	IfAny  bool
	Digits int // behind the point; 0: those of the metric
	// OfBounds says that the value of a bound is written too, though it is none that a policy can have.
	OfBounds bool
	// Note stands below a table that has the column, NoteIfNone below one that lacks it for IfAny only.
	Note, NoteIfNone string
}

// Figure says how a metric is drawn over capacity after a run. The zero value leaves it out.
type Figure struct {
	Title    string  // "Mean latency"
	File     string  // without its ending; "" for the name of the metric
	Axis     string  // "" for what people read in place of the metric's name
	Interval string  // axis where some value is an interval; "" for Axis
	Base     float64 // where bars begin
}

// Whole reports whether values are whole numbers.
func (m Metric) Whole() bool { return (m.Unit == Count || m.Unit == Bytes) && !m.Fractions }

// check refuses a declaration that cannot be meant.
func (m Metric) check() error {
	switch {
	case m.Name == "" || strings.Trim(m.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return fmt.Errorf("metric %q: want a name of small letters, digits and underscores", m.Name)
	case m.Doc == "":
		return fmt.Errorf("metric %s has no line of documentation", m.Name)
	case m.Unit == "":
		return fmt.Errorf("metric %s has no unit", m.Name)
	case m.Digits < 0 || m.Whole() && m.Digits > 0:
		return fmt.Errorf("metric %s has %d digits behind the point", m.Name, m.Digits)
	}
	if m.Column.Weight < 0 || m.Column.Weight > 99 {
		return fmt.Errorf("metric %s has a column of the weight %d; want 0 to 99", m.Name, m.Column.Weight)
	}
	return m.Merge.check(m)
}

// Merge says how the values of several parts (of a trace, of a cache) become the value of the whole.
type Merge struct {
	rule        mergeRule
	part, whole string // names of metrics
}

type mergeRule uint8

const (
	sum mergeRule = iota
	largest
	mean
	quotient
	apart
)

// Rules of merging. Sum is the zero value.
var (
	Sum = Merge{rule: sum}
	Max = Merge{rule: largest}
	// Apart is the rule of what does not follow from the values of the parts, as a percentile: who makes the record of the
	// whole sets it anew.
	Apart = Merge{rule: apart}
)

// MeanBy is the mean of the parts, each as often as its value of another metric says.
func MeanBy(weight Metric) Merge { return Merge{rule: mean, whole: weight.Name} }

// Quotient is one metric of the whole over another, 0 where that is 0.
func Quotient(part, whole Metric) Merge { return Merge{quotient, part.Name, whole.Name} }

// IsQuotient reports whether the metric follows from two others.
func (m Merge) IsQuotient() bool { return m.rule == quotient }

// String says the rule in words.
func (m Merge) String() string {
	switch m.rule {
	case largest:
		return "maximum"
	case mean:
		return "mean by " + m.whole
	case quotient:
		return m.part + " / " + m.whole
	case apart:
		return "made anew"
	}
	return "sum"
}

func (m Merge) check(of Metric) error {
	if of.Whole() && (m.rule == mean || m.rule == quotient) {
		return fmt.Errorf("metric %s counts whole things, but a %s has fractions", of.Name, m)
	}
	if m.part == of.Name || m.whole == of.Name {
		return errors.New("metric " + of.Name + " is merged by itself")
	}
	return nil
}
