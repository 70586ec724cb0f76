package target

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/results/records"
)

// loggedAt returns records of lru and another policy, whose log says that this share of 1000 requests hit.
func loggedAt(share float64, readRatios ...float64) (recs []records.Record) {
	for i, capacity := range []int64{10, 100, 1000} {
		for _, policy := range []string{"arc", "lru", "opt"} {
			rec := records.Record{Trace: "log", Policy: policy, Label: policy, Kind: records.Online, Capacity: capacity,
				CapacityUnit: records.Objects}
			rec.Set(metric.HitRatio, []float64{0.1, 0.3, 0.5}[i])
			if policy == "opt" {
				rec.Kind = "offline"
			}
			if readRatios != nil {
				rec.Set(metric.ReadHitRatio, readRatios[i])
			}
			rec.SetInt(metric.LoggedRequests, 1000)
			rec.Set(metric.LoggedHitRatio, share)
			recs = append(recs, rec)
		}
	}
	return recs
}

func TestLogged(t *testing.T) {
	noun := func(*records.Record) string { return records.Objects }
	for _, test := range []struct {
		recs []records.Record
		want string
	}{
		{loggedAt(0.4), "40.00% hits of 1,000 requests that state it; lru here needs ~317 objects for that"},
		{loggedAt(0.3), "30.00% hits of 1,000 requests that state it; lru here needs 100 objects for that"},
		{loggedAt(0.6), "60.00% hits of 1,000 requests that state it; lru here has 50.00% at 1,000 objects, the largest " +
			"capacity replayed"},
		{loggedAt(0.05), "5.00% hits of 1,000 requests that state it; lru here has 10.00% at 10 objects, the smallest " +
			"capacity replayed"},
		// Writes do not count.
		{loggedAt(0.4, 0.4, 0.6, 0.8), "40.00% hits of 1,000 requests that state it; lru here needs 10 objects for that"},
	} {
		if got, want := Logged(test.recs, noun), []string{"the log itself says " + test.want}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	alone := slices.DeleteFunc(loggedAt(0.4), func(r records.Record) bool { return r.Policy != "opt" })
	if got := Logged(alone, noun); len(got) != 1 || got[0] != "the log itself says 40.00% hits of 1,000 requests that "+
		"state it" {
		t.Errorf("without an online policy: %q", got)
	}
	sized := loggedAt(0.4)
	sized[0].Set(metric.LoggedByteHitRatio, 0.25)
	if got := Logged(sized[:1], noun); len(got) != 1 || got[0] != "the log itself says 40.00% hits (25.00% of the bytes) "+
		"of 1,000 requests that state it; arc here has 10.00% at 10 objects, the largest capacity replayed" {
		t.Errorf("with bytes: %q", got)
	}
	if got := Logged([]records.Record{{}}, noun); got != nil {
		t.Errorf("a log that says nothing: %q", got)
	}
}
