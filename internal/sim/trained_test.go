package sim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// TestTrainedPredictionsOnARealTrace replays the first 30000 ratings of MovieTweetings with models small enough for a
// test.
func TestTrainedPredictionsOnARealTrace(t *testing.T) {
	dir := os.Getenv("CACHESIM_TRACES")
	if dir == "" {
		t.Skip("CACHESIM_TRACES is not set")
	}
	file := filepath.Join(dir, "dlrm", "movietweetings-ratings.dat.zst")
	trace := must.Get(read.Load(t.Context(), []string{file},
		read.Options{Selection: read.Selection{Limit: 30000}}))(t)
	const trained, weak = "gbm(window=10000,horizon=10000,retrain=2000)", "gbm(window=10000,horizon=10000,weak=true)"
	hits := map[string]float64{}
	for _, rec := range simtest.Run(t, trace, simtest.Options{Policies: "lru,laru,fpb",
		Parts: []string{"predictor=" + trained + "," + weak}, Capacities: simtest.Objects(180)}) {
		hits[rec.Label+" "+rec.Predictor] = rec.Float(metric.HitRatio)
		if rec.Predictor != "" && !rec.Has(predict.TrainingsMetric) {
			t.Errorf("%s with %s: the record does not say how often it was trained", rec.Label, rec.Predictor)
		}
	}
	lru := hits["lru "]
	for label, least := range map[string]float64{"laru " + trained: lru + 0.03, "fpb " + trained: lru + 0.07, "laru " +
		weak: lru - 0.02} {
		if hits[label] < least {
			t.Errorf("%s hits %.4f of the requests, LRU %.4f: want at least %.4f", label, hits[label], lru, least)
		}
	}
	t.Log(hits)
}
