package target

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

func TestLogged(t *testing.T) {
	r := records.Record{CapacityUnit: records.Objects}
	r.SetInt(metric.LoggedRequests, 1000)
	r.Set(metric.LoggedHitRatio, 0.4)
	lru := found("lru", 317, true)
	const says = "the log itself says 40.00% hits of 1,000 requests that state it"
	for want, n := range map[string]*Need{
		says: nil,
		says + "; lru here needs 317 objects for that": &lru,
		says + "; lru here does not reach that at any capacity: 35.00% with everything in the cache": {Policy: "lru",
			How: Never, Below: Point{1000, 0.35}},
		says + "; arc here needs between 10 and 20 objects for that": {Policy: "arc", How: Between, Below: Point{10, 0.3},
			Above: Point{20, 0.5}},
	} {
		if got := Logged(&r, n, records.Objects); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	r.Set(metric.LoggedByteHitRatio, 0.25)
	const sized = "the log itself says 40.00% hits (25.00% of the bytes) of 1,000 requests that state it"
	if got := Logged(&r, nil, records.Objects); got != sized {
		t.Errorf("%s, want %s", got, sized)
	}
	if r.Set(metric.HitRatio, 0.3); OfReads(&r) != 0.3 {
		t.Error("reads of a log without writes")
	}
	if r.Set(metric.ReadHitRatio, 0.2); OfReads(&r) != 0.2 {
		t.Error("writes count as reads")
	}
}
