// Package metric declares what replays measure. A part (a cache, a model, a policy, a predictor, a prefetcher, an
// allocator) declares its metrics once, in its entry: name, unit, whether higher or lower is better, how the values of
// several parts of a trace are combined, and what it means. Everything else follows from the declaration: how records
// store a metric, how tables and figures show it, which value is marked as the best, and what claims and tolerances do
// with it.
package metric

import (
	"errors"
	"fmt"
	"strings"
)

// Unit is the unit of a metric.
type Unit string

// Units of metrics. Values of Count and Bytes are whole numbers, unless the metric has Fractions.
const (
	Count        Unit = "count"
	Bytes        Unit = "bytes"
	Share        Unit = "share" // a ratio of at most 1, shown as a percentage
	Ratio        Unit = "ratio"
	Seconds      Unit = "s"
	Milliseconds Unit = "ms"
	Nanoseconds  Unit = "ns"
	PerSecond    Unit = "1/s"
	// 10^6 bytes per second
	MegabytesPerSecond Unit = "MB/s"
	// 10^9 bytes per second
	GigabytesPerSecond Unit = "GB/s"
)

// Better says whether higher or lower values are better.
type Better int

// Directions of metrics. More evictions, for example, are neither good nor bad.
const (
	Neither Better = iota
	Higher
	Lower
)

// String returns "higher", "lower" or "".
func (b Better) String() string { return [...]string{"", "higher", "lower"}[b] }

// Metric is the declaration of one metric.
type Metric struct {
	Name   string // in records: lower-case letters, digits and underscores
	Title  string // for people; "" for the name with spaces
	Unit   Unit
	Digits int // digits after the point, for people; for a ratio, of its percentage
	// Fractions says that values may be fractional although the unit counts whole things, as for a bound or a sum of
	// ratios.
	Fractions bool
	// OfMachine says that values depend on the machine and its load; records of experiments do not contain them.
	OfMachine bool
	// Checked says that every decision affects the metric, so that a check of a baseline compares it by default.
	Checked bool
	Better  Better
	Merge   Merge  // how the values of several parts are combined; the zero value adds them
	Doc     string // one line: what is measured
	Column  Column // in the table of a run
	Figure  Figure // over capacity
	// Labels is the kind of label if the metric has several values: with "tenant", the value of the tenant web is called
	// name[web]. "" if it has a single value.
	Labels string
	UpTo   string // the metric that is the upper end of an interval; "" for a single value
}

// Of returns the name of the value that a metric with labels has for one of them: tenant_hit_ratio[web].
func (m Metric) Of(label string) string { return m.Name + "[" + label + "]" }

// Column places a metric in the table of a run. The zero value leaves it out.
type Column struct {
	At   int    // position from the left; columns with equal positions are in the order of their declarations
	Head string // "" for the metric's title
	// Labels are the labels that have columns of their own if the metric has labels, from left to right, with spaces
	// between them. The head then follows the label.
	Labels string
	// Weight is from 0 to 99: a terminal that is too narrow for all columns leaves out the lowest weights
	// first.
	Weight int
	// IfAny leaves the column out if no record has a value above 0.
	IfAny bool
	// Unlike names a metric: the column is left out if all records have the same value there.
	Unlike string
	Digits int // digits after the point; 0: as the metric has
	// OfBounds says that the value is also shown for a bound, although no policy can reach it.
	OfBounds bool
	// Note is shown below a table with the column, NoteIfNone below one that lacks it only because of IfAny.
	Note, NoteIfNone string
}

// Figure says how a metric is drawn over capacity after a run. The zero value draws nothing.
type Figure struct {
	Title    string  // "Mean latency"
	File     string  // without extension; "" for the name of the metric
	Axis     string  // "" for the metric's label
	Interval string  // label of the axis if some value is an interval; "" for Axis
	Base     float64 // where bars start
}

// Whole reports whether values are whole numbers.
func (m Metric) Whole() bool { return (m.Unit == Count || m.Unit == Bytes) && !m.Fractions }

func (m Metric) check() error {
	switch {
	case m.Name == "" || strings.Trim(m.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		return fmt.Errorf("metric %q: want a name of lower-case letters, digits and underscores", m.Name)
	case m.Doc == "":
		return fmt.Errorf("metric %s has no line of documentation", m.Name)
	case m.Unit == "":
		return fmt.Errorf("metric %s has no unit", m.Name)
	case m.Digits < 0 || m.Whole() && m.Digits > 0:
		return fmt.Errorf("metric %s has %d digits after the point", m.Name, m.Digits)
	}
	if (m.Column.Labels != "") != (m.Column.At > 0 && m.Labels != "") {
		return fmt.Errorf("metric %s has labels %q in its column; a column of a metric with labels says which of them it "+
			"shows, and no other does", m.Name, m.Column.Labels)
	}
	if m.Column.Weight < 0 || m.Column.Weight > 99 {
		return fmt.Errorf("metric %s has a column of the weight %d; want 0 to 99", m.Name, m.Column.Weight)
	}
	return m.Merge.check(m)
}

// Merge says how the values of several parts (of a trace, of a cache) are combined.
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
	// Apart is for a metric that does not follow from the values of the parts, for example a percentile: the code that
	// makes the combined record computes it.
	Apart = Merge{rule: apart}
)

// MeanBy is the mean of the parts, weighted by their values of another metric.
func MeanBy(weight Metric) Merge { return Merge{rule: mean, whole: weight.Name} }

// Quotient is one combined metric divided by another, 0 if the latter is 0.
func Quotient(part, whole Metric) Merge { return Merge{quotient, part.Name, whole.Name} }

// String describes the rule in words.
func (m Merge) String() string {
	switch m.rule {
	case largest:
		return "maximum"
	case mean:
		return "mean by " + m.whole
	case quotient:
		return m.part + " / " + m.whole
	case apart:
		return "recomputed"
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
