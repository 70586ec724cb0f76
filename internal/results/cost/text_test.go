package cost

import (
	"testing"

	"github.com/cachesim/cachesim/internal/results/records"
)

// An interval contains the capacity that it is of, whatever three digits make of its ends.
func TestCapacityIn(t *testing.T) {
	o := Offer{Capacity: 123_165_736, CapacityIn: &[2]int64{61_583_916, 123_165_736}}
	if got := capacityIn(o); got != " (58.7 to 117.5 MiB)" {
		t.Error(got)
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
