package records

import (
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
)

// IsShare reports whether a metric, or a dimension, is a ratio that is shown as a percentage.
func IsShare(name string) bool {
	m, _ := metric.Lookup(name)
	return m.Unit == metric.Share || name == DimCapacityShare
}

func HigherIsBetter(name string) bool {
	m, _ := metric.Lookup(name)
	return m.Better == metric.Higher
}

func LowerIsBetter(name string) bool {
	m, _ := metric.Lookup(name)
	return m.Better == metric.Lower
}

// MetricName returns the name of a metric, or of a dimension, for people: "hit ratio".
func MetricName(name string) string {
	if m, _ := metric.Lookup(name); m.Name == name {
		return m.Label()
	}
	return strings.ReplaceAll(name, "_", " ")
}

// AxisName returns the name of a metric, or of a dimension, on the axis of a figure: "P99 latency (ms)".
func AxisName(name string) string {
	if m, _ := metric.Lookup(name); m.Name == name {
		return m.AxisLabel()
	}
	return MetricName(name)
}

// MetricText formats a value of a metric for people, as its declaration says.
func MetricText(name string, x float64) string {
	m, _ := metric.Lookup(name)
	if m.Name == "" {
		return show.Trimmed(x, 4)
	}
	return m.Text(x)
}

// DifferenceText formats the difference between two values of a metric, with its sign.
func DifferenceText(name string, x float64) string {
	m, _ := metric.Lookup(name)
	return m.DifferenceText(x)
}
