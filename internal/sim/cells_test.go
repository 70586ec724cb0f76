package sim_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
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
