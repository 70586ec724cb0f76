package cost

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// An interval contains the capacity that it is of, whatever three digits make of its ends.
func TestCapacityIn(t *testing.T) {
	o := Offer{Capacity: 123_165_736, CapacityIn: &[2]int64{61_583_916, 123_165_736}}
	if got := capacityIn(o); got != " (58.7 to 117.5 MiB)" {
		t.Error(got)
	}
}

// What reaches the origin behind a sample is scaled to the whole trace, and its share is the estimate for that: the
// requests and bytes beyond those expected are hits.
func TestReachOfASample(t *testing.T) {
	r := records.Record{Label: "lru", Capacity: 100, CapacityUnit: records.Bytes, SampleRate: 0.1}
	for m, n := range map[metric.Metric]int64{metric.Requests: 1500, metric.Hits: 1000, metric.Misses: 500,
		metric.RequestedBytes: 30_000, metric.HitBytes: 24_000} {
		r.SetInt(m, n)
	}
	r.Set(metric.HitRatio, 0.5)      // 500 of 1,000 that were expected
	r.Set(metric.ByteHitRatio, 0.25) // 6,000 of 8,000
	want := "lru at 100 B: 50% of the requests (5,000 of 10,000) and 75% of the bytes (60 kB of 80 kB) reach the " +
		"origin, without a cache all of them"
	if got := (Reach{best: r}).Sentence(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Without a cache a sample misses as many bytes as the whole trace has, not as many as the sample.
func TestNoCacheOfASample(t *testing.T) {
	prices, err := Parse("memory=1 USD/GB-month,egress=1/GB")
	if err != nil {
		t.Fatal(err)
	}
	none := records.Record{Policy: "no-cache", Capacity: 100, CapacityUnit: records.Bytes, SampleRate: 0.1}
	none.SetInt(metric.Requests, 1500)
	none.SetInt(metric.Misses, 1500)
	none.SetInt(metric.RequestedBytes, 30_000)
	for bytes, want := range map[float64]float64{0: 20, 8: 8} { // per request
		b := Bill{Prices: prices, PerSecond: 1, Bytes: bytes}
		p, ok := b.point(&none)
		if want *= secondsOfMonth; !ok || p.origin.bytes != want || p.origin.requests != secondsOfMonth {
			t.Errorf("%v bytes per request: %+v, want %v", bytes, p.origin, want)
		}
		recs := []records.Record{none}
		b.Charge(recs)
		if again, ok := recorded(recs); !ok || again.Bytes != bytes {
			t.Errorf("%v bytes per request are %v in a record", bytes, again.Bytes)
		}
	}
}

func TestNameOf(t *testing.T) {
	for want, r := range map[string]records.Record{
		"lru at 1 object":      {Label: "lru", Capacity: 1, CapacityUnit: records.Objects},
		"lru at 1,000 objects": {Label: "lru", Capacity: 1000, CapacityUnit: records.Objects},
		"lru at 1 B":           {Label: "lru", Capacity: 1, CapacityUnit: records.Bytes},
	} {
		if got := nameOf(&r); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
