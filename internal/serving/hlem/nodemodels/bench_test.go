package nodemodels_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
)

// BenchmarkRecommender replays recommender requests on nodes of 640 GB, whose arrival, start and end are three events
// each.
func BenchmarkRecommender(b *testing.B) {
	for _, parts := range []string{"1 lru", "4 lru", "4 s3fifo"} {
		b.Run(parts, func(b *testing.B) {
			nodes, policy, _ := strings.Cut(parts, " ")
			tr := simtest.Generated(b, "recommender(epochs=10,nodes="+nodes+")", requestsAndTimes)
			c := simtest.Cell(b, policy, capacity.Capacity{}, "cache=pools(memory=80GB,nodes="+nodes+")",
				"model=recommender(optimum=off)")
			recommended.Of(tr.Kind).Profile(0) // of all users, once for all replays
			r := sim.NewReplayer(tr, sim.ReplayerOptions{})
			served := int64(0)
			start := time.Now()
			for b.Loop() {
				rec := must.Get(r.Replay(b.Context(), c))(b)
				served += rec.Int(metric.Requests)
			}
			b.ReportMetric(3*float64(served)/time.Since(start).Seconds(), "events/s")
		})
	}
}
