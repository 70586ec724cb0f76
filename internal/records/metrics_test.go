package records

import (
	"testing"

	_ "github.com/cachesim/cachesim/internal/clock/models" // declares metrics
	_ "github.com/cachesim/cachesim/internal/sim/all"      // declares metrics
)

func TestTimesKeepThreeDigits(t *testing.T) {
	for _, c := range []struct {
		metric string
		x      float64
		want   string
	}{
		{"latency_mean_ms", 1.155, "1.155"}, {"latency_p99_ms", 12345.678, "12,345.678"},
		{"latency_p50_ms", 0.00012345, "0.000123"},
		{"latency_p95_ms", 0.050004, "0.0500"}, {"latency_p95_ms", 0, "0.000"},
		{"throughput", 0.8125, "0.812"}, {"throughput", 78424.94, "78,424.9"},
		{"prediction_ns_per_request", 3.456, "3.46"},
	} {
		if got := MetricText(c.metric, c.x); got != c.want {
			t.Errorf("%s of %v: %s, want %s", c.metric, c.x, got, c.want)
		}
	}
}
