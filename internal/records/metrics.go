package records

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Unit is what a metric is counted in.
type Unit string

// Units of metrics.
const (
	Whole        Unit = "count"
	InBytes      Unit = "bytes"
	PartOf1      Unit = "share" // people read it as a percentage
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

// Metric is what is known about a figure of a record.
type Metric struct {
	Name   string // in JSON
	Unit   Unit
	Digits int // behind the point
	Better Better
}

// metrics are the figures of a record. How people read them in tables, pages and figures, and which value is marked as
// the best, follows from here alone.
var metrics = []Metric{
	{"requests", Whole, 0, Neither},
	{"hits", Whole, 0, Higher},
	{"misses", Whole, 0, Lower},
	{"hit_ratio", PartOf1, 2, Higher},
	{"evictions", Whole, 0, Neither},
	{"oversized", Whole, 0, Neither},
	{"bytes", InBytes, 0, Neither},
	{"hit_bytes", InBytes, 0, Higher},
	{"byte_hit_ratio", PartOf1, 2, Higher},
	{"prompts", Whole, 0, Neither},
	{"tokens", Whole, 0, Neither},
	{"hit_tokens", Whole, 0, Higher},
	{"token_hit_ratio", PartOf1, 2, Higher},
	{"block_hit_ratio", PartOf1, 2, Higher},
	{"normalized_hit_ratio", PartOf1, 2, Higher},
	{"labelled_requests", Whole, 0, Neither},
	{"labelled_hits", Whole, 0, Neither},
	{"wrong_hits", Whole, 0, Lower},
	{"wrong_answer_ratio", PartOf1, 2, Lower},
	{"wrong_hit_ratio", PartOf1, 2, Lower},
	{"latency_mean_ms", Milliseconds, 3, Lower},
	{"latency_p50_ms", Milliseconds, 3, Lower},
	{"latency_p95_ms", Milliseconds, 3, Lower},
	{"latency_p99_ms", Milliseconds, 3, Lower},
	{"throughput", PerSecond, 1, Higher},
	{"predictor_calls", Whole, 0, Lower},
	{"predictions", Whole, 0, Lower},
	{"opt_misses", Whole, 0, Neither},
	{"competitive_ratio", Ratio, 3, Lower},
	{"lower_bound_misses", Whole, 0, Neither},
	{"competitive_ratio_max", Ratio, 3, Lower},
	{"ns_per_request", Nanoseconds, 1, Lower},
	{"prediction_ns_per_request", Nanoseconds, 1, Lower},
}

// LookupMetric returns what is known about a metric; nothing is about the counters of policies.
func LookupMetric(name string) (m Metric, ok bool) {
	i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return metrics[i], true
}

// IsShare reports whether a metric, or a dimension, is a part of 1 that people read as a percentage.
func IsShare(name string) bool {
	m, _ := LookupMetric(name)
	return m.Unit == PartOf1 || name == DimCapacityShare
}

// HigherIsBetter reports whether a metric is a gain.
func HigherIsBetter(metric string) bool {
	m, _ := LookupMetric(metric)
	return m.Better == Higher
}

// LowerIsBetter reports whether a metric is a cost.
func LowerIsBetter(metric string) bool {
	m, _ := LookupMetric(metric)
	return m.Better == Lower
}

// MetricName writes the name of a metric, or of a dimension, for people: "hit ratio".
func MetricName(name string) string {
	if name == "ns_per_request" {
		return "ns/request"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// MetricText writes a value of a metric for people: 47.12%, 914,145, 1.204, 12,345.678. Small numbers keep
// three significant digits: 0.00123.
func MetricText(metric string, x float64) string {
	m, ok := LookupMetric(metric)
	if !ok {
		return trimmed(x, 4) // a counter of a policy, which may be anything
	}
	if m.Digits > 0 && m.Unit != PartOf1 && x != 0 {
		leading := int(math.Floor(math.Log10(math.Abs(x)))) // place of the first digit, 0 for that before the point
		m.Digits = max(m.Digits, 2-leading)
	}
	return m.text(x)
}

// text writes x with the digits of the metric.
func (m Metric) text(x float64) string {
	if m.Unit == PartOf1 {
		return strconv.FormatFloat(x*100, 'f', m.Digits, 64) + "%"
	}
	return english.Sprintf("%.*f", m.Digits, x)
}

// differenceText writes the difference between two values of a metric, with its sign; that of shares in percentage
// points. Values that look equal differ by "0".
func differenceText(metric string, x float64) string {
	text := trimmed(math.Abs(x), 4)
	if m, ok := LookupMetric(metric); ok {
		text = strings.TrimSuffix(m.text(math.Abs(x)), "%")
	}
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case x > 0:
		return "+" + text
	}
	return "−" + text
}
