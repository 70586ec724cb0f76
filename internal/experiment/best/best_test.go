package best

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// marks returns which records are the best.
func marks(recs ...records.Record) (best []bool) {
	for _, same := range ByPoint(recs) {
		Mark(recs, same)
	}
	for _, rec := range recs {
		best = append(best, rec.Best)
	}
	return best
}

func TestWhoCompetesWithWhom(t *testing.T) {
	at := func(point, policy, axes string, seed uint64, hitRatio float64) records.Record {
		kind := "online"
		if policy == "opt" {
			kind = "offline"
		}
		return records.Record{Origin: records.Origin{TraceFiles: point}, Policy: policy, Kind: kind, Axes: axes, Seed: seed,
			Values: metric.ValuesOf(map[string]float64{"hit_ratio": hitRatio})}
	}
	for _, test := range []struct {
		name string
		recs []records.Record
		want []bool
	}{
		{"a policy without the axis competes at each place", []records.Record{
			at("p", "lru", "", 0, 0.5), at("p", "s3fifo", "small=0.1", 0, 0.6), at("p", "s3fifo", "small=0.2", 0, 0.55),
			at("p", "s3fifo", "small=0.9", 0, 0.4),
		}, []bool{false, true, true, false}},
		{"draws of chance compete seed by seed", []records.Record{
			at("p", "random", "", 0, 0.6), at("p", "random", "", 1, 0.7), at("p", "marker", "", 0, 0.5),
			at("p", "lru", "", 0, 0.65),
		}, []bool{false, true, false, false}},
		{"a seed without rivals is not the best of any", []records.Record{at("p", "random", "", 0,
			0.6), at("p", "random", "", 1, 0.7)}, []bool{false, false}},
		{"other points do not compete", []records.Record{at("p", "lru", "", 0,
			0.5), at("q", "arc", "", 0, 0.6)}, []bool{false, false}},
		{"equals are all the best", []records.Record{at("p", "lru", "", 0,
			0.5), at("p", "arc", "", 0, 0.5)}, []bool{true, true}},
		{"nothing to compare with", []records.Record{at("p", "lru", "", 0, 0.5)}, []bool{false}},
		{"optima do not compete", []records.Record{at("p", "lru", "", 0,
			0.5), at("p", "opt", "", 0, 0.9)}, []bool{false, false}},
	} {
		if got := marks(test.recs...); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
