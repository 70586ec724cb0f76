package claims

import (
	"fmt"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
)

// manyRecords makes 100,000 records: 10 traces, 10 capacities, 10 policies, 5 seeds and 20 places on an axis.
func manyRecords() (recs []records.Record) {
	for trace := range 10 {
		for capacity := range 10 {
			for policy := range 10 {
				for at := range 100 {
					hits := int64(at*at+policy*capacity) % 1000
					recs = append(recs, records.Record{
						Trace:    fmt.Sprint("trace", trace),
						Label:    fmt.Sprint("p", policy),
						Capacity: int64(capacity + 1),
						Kind:     "online",
						Axes:     fmt.Sprintf("noise=%d", at/5),
						Seed:     uint64(at % 5),
						Values: metric.ValuesOf(map[string]float64{"requests": 1000, "hits": float64(hits),
							"misses": float64(1000 - hits), "hit_ratio": float64(hits) / 1000}),
					})
				}
			}
		}
	}
	return recs
}

func BenchmarkNewData(b *testing.B) {
	in := Input{Records: manyRecords()}
	for b.Loop() {
		NewData(in)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	d := NewData(Input{Records: manyRecords()})
	for _, text := range []string{
		"hit_ratio(p1) > hit_ratio(p2)",
		"hit_ratio(p1) / max over all of hit_ratio between 0.5 and 1",
		"mean over trace of hit_ratio(p1) > 40% where noise < 5",
		"hit_ratio(p1) never decreases with capacity",
		"hit_ratio(p1) is first among online",
		"max over seed of misses(p1) <= misses(p2)",
	} {
		c := must.Get(Parse(text))(b)
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				c.Evaluate(d)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		must.Get(Parse("hit_ratio(rac) / max over baselines of hit_ratio between 1.05 and 1.12 where trace = oltp and " +
			"capacity in 250, 500"))(b)
	}
}
