package results

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// TestSampleMarks has samples whose caches are rounded, and an estimate below 0.
func TestSampleMarks(t *testing.T) {
	record := func(capacity, simulated, hits int64, ratio float64) records.Record {
		r := records.Record{Label: "lru", Capacity: capacity, CapacityUnit: "objects", SimulatedCapacity: simulated,
			SampleRate: 0.1}
		r.SetInt(metric.Hits, hits)
		r.Set(metric.HitRatio, ratio)
		return r
	}
	const begin = "sample of 10%: capacities and hit ratios are scaled to the whole trace; counts and other ratios " +
		"refer to the sample"
	for name, test := range map[string]struct {
		recs []records.Record
		want string
	}{
		"exact":  {[]records.Record{record(1000, 100, 5, 0.5), record(1009, 100, 5, 0.5)}, begin},
		"no hit": {[]records.Record{record(1000, 100, 0, 0)}, begin},
		"rounded": {[]records.Record{record(19, 1, 5, 0.5), record(19, 1, 5, 0.4)}, begin +
			"; rounded in the sample's cache: 19 as 1 instead of 1.9 objects"},
		"at least one": {[]records.Record{record(3, 1, 5, 0.5)}, begin +
			"; rounded in the sample's cache: 3 as 1 instead of 0.3 objects"},
		"below 0": {[]records.Record{record(1000, 100, 5, 0)}, begin +
			"; estimated below 0, shown as 0: lru at 1,000"},
		"a whole trace": {[]records.Record{{Label: "lru", Capacity: 19, SimulatedCapacity: 19, SampleRate: 1}}, ""},
		"more than few": {[]records.Record{record(1, 1, 1, 1), record(2, 1, 1, 1), record(3, 1, 1, 1), record(4, 1, 1, 1)},
			begin +
				"; rounded in the sample's cache: 1 as 1 instead of 0.1 objects, 2 as 1 instead of 0.2 objects, 3 as 1 instead " +
				"of 0.3 objects and 1 more"},
	} {
		if got := SampleNote(test.recs); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
