package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
	requests "github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// BenchmarkRecommender replays recommender requests on nodes of 640 GB, whose arrival, start and end are three events
// each.
func BenchmarkRecommender(b *testing.B) {
	for _, parts := range []string{"1 lru", "4 lru", "4 s3fifo"} {
		b.Run(parts, func(b *testing.B) {
			nodes, policy, _ := strings.Cut(parts, " ")
			spec := "recommender(epochs=10,nodes=" + nodes + ")"
			w := must.Get(workload.Generated(spec, 1))(b)
			tr := must.Get(w.Load(b.Context(), nil, traces.LoadOptions{Needs: traces.Needs{Times: true, Kind: true}}))(b)
			c := Cell{Parts: Parts{Policy: mustSpec(policy)}}
			for _, list := range []string{"cache=pools(memory=80GB,nodes=" + nodes + ")",
				"model=recommender(optimum=off)"} {
				into(b, &c.Parts, list)
			}
			c.Capacity = capacity.Of(c.Cache.Entry.Capacity(c.Cache.Params), true)
			requests.Of(tr.Kind).Profile(0) // of all users, once for all replays
			r := NewReplayer(tr, ReplayerOptions{})
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
