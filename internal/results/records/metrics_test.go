package records

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
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

// In tables of policies, each metric with a better direction is marked at its best value.
func TestTheBestOfEachMetricIsMarked(t *testing.T) {
	low, high, third := 1.155, 1.164, 1.16
	for _, metric := range []string{"throughput", "token_hit_ratio", "block_hit_ratio", "latency_mean_ms"} {
		recs := []Record{cell("a", "lru", 100, 0.1), cell("a", "arc", 100, 0.1), cell("a", "lfu", 100, 0.1)}
		recs[0].SetNamed(metric, low)
		recs[1].SetNamed(metric, high)
		recs[2].SetNamed(metric, third)
		tables := must.Get(Pivot{Cells: metric}.Tables(recs))(t)
		want := []bool{LowerIsBetter(metric), HigherIsBetter(metric), false}
		for i, row := range tables.Tables[0].Rows {
			if c := row.Cells[0]; c.Best != want[i] {
				t.Errorf("%s of %s: %s marked %v, want %v", metric, row.Name, c.Text, c.Best, want[i])
			}
		}
	}
}
