package sim

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// Every part of a replay is of a kind that records know, so that no list of kinds can forget one.
func TestEveryPartHasAKind(t *testing.T) {
	parts := reflect.TypeFor[Parts]()
	for i := range parts.NumField() {
		name := strings.ToLower(parts.Field(i).Name)
		if name == "policy" || name == "checksum" {
			continue
		}
		found := false
		for _, k := range Kinds {
			found = found || k.Name == name
		}
		if !found {
			t.Errorf("no kind is called %s", name)
		}
	}
}

// What knows the future never gets the star, whatever the kind of the part that knows it.
func TestPartsThatKnowTheFutureDoNotCompete(t *testing.T) {
	knowing := map[string][]string{}
	for _, k := range Kinds {
		for _, name := range k.Names() {
			rec := records.Record{Policy: "lru", Label: "lru", Kind: "online", Cache: "exact"}
			*k.Field(&rec) = name
			rec.Set(metric.HitRatio, 0.9)
			other := records.Record{Policy: "fifo", Label: "fifo", Kind: "online", Cache: "exact"}
			other.Set(metric.HitRatio, 0.1)
			recs := []records.Record{rec, other, {Policy: "mru", Label: "mru", Kind: "online", Cache: "exact"}}
			MarkBest(recs)
			if k.KnowsFuture(name) {
				knowing[k.Name] = append(knowing[k.Name], name)
				if rec.Competes() || recs[0].Best || !recs[1].Best {
					t.Errorf("%s %s knows the future and competes", k.Name, name)
				}
			} else if !rec.Competes() {
				t.Errorf("%s %s does not compete", k.Name, name)
			}
		}
	}
	for _, name := range []string{"predictor", "prefetcher", "allocator"} {
		if len(knowing[name]) == 0 {
			t.Errorf("no %s knows the future; the test expects one", name)
		}
	}
	t.Log(knowing)
}

// Where nothing hits, nothing is best.
func TestNoHitsNoStar(t *testing.T) {
	for _, ratio := range []float64{0, 0.01} {
		recs := make([]records.Record, 2)
		for i, policy := range []string{"lru", "fifo"} {
			recs[i] = records.Record{Policy: policy, Label: policy, Kind: "online", Cache: "exact"}
			recs[i].Set(metric.HitRatio, ratio)
		}
		MarkBest(recs)
		for _, rec := range recs {
			if rec.Best != (ratio > 0) {
				t.Errorf("%s with a hit ratio of %v, the highest: best %v", rec.Policy, ratio, rec.Best)
			}
		}
	}
}
