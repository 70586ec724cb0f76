package sim_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// A record has the time of predictions where a predictor made some, and only there.
func TestOnlyPredictionsHaveATime(t *testing.T) {
	tr := simtest.FromKeys(strings.Repeat("abcdefghij", 20) + strings.Repeat("ajbicd", 20))
	for policy, predicts := range map[string]bool{"laru": true, "fpb": true, "lru": false, "opt": false} {
		c := simtest.Cell(t, policy, simtest.Objects(4)[0])
		times := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c).Times
		if times[metric.NsPerRequest.Name] <= 0 {
			t.Errorf("%s has no time per request", policy)
		}
		if ns, got := times[predict.NsMetric.Name]; got != predicts || predicts && ns <= 0 {
			t.Errorf("%s has a time of predictions: %v, %v ns, want %v", policy, got, ns, predicts)
		}
	}
}

func TestKeysAndReferencesOfPrefetchingCells(t *testing.T) {
	plain := simtest.Cell(t, "lru", capacity.Of(3, false))
	lists := must.Get(sim.KindOf("prefetcher").ParseList("none,next"))(t)
	none, next := plain, plain
	lists[0].Into(&none.Parts)
	lists[1].Into(&next.Parts)
	if none.Key() != plain.Key() {
		t.Errorf("with the prefetcher none a cell is %s, without one %s", none.Key(), plain.Key())
	}
	if next.Key() == plain.Key() {
		t.Errorf("with and without a prefetcher a cell is %s", plain.Key())
	}
	for _, reference := range sim.References(next) {
		if reference.Prefetcher != nil {
			t.Errorf("it is compared with %s, which prefetches", reference.Key())
		}
	}
}
