package records

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// IsShare reports whether a metric, or a dimension, is a part of 1 that people read as a percentage.
func IsShare(name string) bool {
	return slices.Contains([]string{
		"hit_ratio", "byte_hit_ratio", "token_hit_ratio", "block_hit_ratio", "normalized_hit_ratio", "wrong_answer_ratio", "wrong_hit_ratio", DimCapacityShare,
	}, name)
}

// HigherIsBetter reports whether a metric is a gain. Some metrics are neither that nor a cost.
func HigherIsBetter(metric string) bool {
	return slices.Contains([]string{"hits", "hit_ratio", "hit_bytes", "byte_hit_ratio", "normalized_hit_ratio"}, metric)
}

// MetricName writes the name of a metric, or of a dimension, for people: "hit ratio".
func MetricName(name string) string {
	if name == "ns_per_request" {
		return "ns/request"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// MetricText writes a value of a metric for people: 47.12%, 914,145, 1.204.
func MetricText(metric string, x float64) string {
	switch {
	case IsShare(metric):
		return percent(x)
	case metric == "competitive_ratio" || metric == "competitive_ratio_max":
		return fmt.Sprintf("%.3f", x)
	case metric == "ns_per_request":
		return fmt.Sprintf("%.1f", x)
	case slices.ContainsFunc(fields, func(f field) bool { return f.name == metric }) && math.Abs(x) < 1<<53:
		return Count(int64(math.Round(x)))
	}
	return trimmed(x, 4) // a counter of a policy, which may be anything
}

// differenceText writes the difference between two values of a metric, with its sign; that of shares in percentage points. Equal values
// differ by "0".
func differenceText(metric string, x float64) string {
	text := MetricText(metric, math.Abs(x))
	if IsShare(metric) {
		text = strings.TrimSuffix(text, "%")
	}
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case x > 0:
		return "+" + text
	}
	return "−" + text
}
