package records

import (
	"slices"
	"testing"
)

// Whoever adds a figure to Record says here what it is.
func TestEveryMetricIsInTheTable(t *testing.T) {
	names := MetricNames()
	for _, name := range names {
		if _, ok := LookupMetric(name); !ok {
			t.Errorf("%s is in no row of metrics: its unit, its digits and which way is better are unknown", name)
		}
	}
	for _, m := range metrics {
		if !slices.Contains(names, m.Name) {
			t.Errorf("metrics has %s, which is no figure of a Record", m.Name)
		}
	}
}

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

// Each metric that has a good end gets the mark there, in tables of policies.
func TestTheBestOfEachMetricIsMarked(t *testing.T) {
	low, high, third := 1.155, 1.164, 1.16
	set := map[string]func(r *Record, x *float64){
		"throughput":      func(r *Record, x *float64) { r.Throughput = x },
		"token_hit_ratio": func(r *Record, x *float64) { r.TokenHitRatio = x },
		"block_hit_ratio": func(r *Record, x *float64) { r.BlockHitRatio = x },
		"latency_mean_ms": func(r *Record, x *float64) { r.LatencyMean = x },
	}
	for metric, into := range set {
		recs := []Record{cell("a", "lru", 100, 0.1), cell("a", "arc", 100, 0.1), cell("a", "lfu", 100, 0.1)}
		into(&recs[0], &low)
		into(&recs[1], &high)
		into(&recs[2], &third)
		tables, err := Pivot{Cells: metric}.Tables(recs)
		if err != nil {
			t.Fatal(err)
		}
		want := []bool{LowerIsBetter(metric), HigherIsBetter(metric), false}
		for i, row := range tables.Tables[0].Rows {
			if c := row.Cells[0]; c.Best != want[i] {
				t.Errorf("%s of %s: %s marked %v, want %v", metric, row.Name, c.Text, c.Best, want[i])
			}
		}
	}
}
