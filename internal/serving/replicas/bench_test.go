package replicas_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	_ "github.com/cachesim/cachesim/internal/sim/all"
)

// BenchmarkNodes serves prompts on eight nodes in turn, without the bound.
func BenchmarkNodes(b *testing.B) {
	tr := randomPrompts(rand.New(rand.NewPCG(1, 36)), 20_000, 12, 6)
	for _, kind := range []string{"prefix", "tiers(host=4x)",
		"tiers(host=4x,remote=40x,mode=write-through,shared=remote)"} {
		b.Run(kind, func(b *testing.B) {
			c := cell(b, kind, "lru", "round-robin(nodes=8)", "", 200)
			for range b.N {
				b.StopTimer()
				config := cache.Config{Trace: tr, Capacity: 200, Unit: true, Params: c.Cache.Params, Policy: c.Policy}
				nodes := replicas.Config{Trace: tr, Router: *c.Router, Capacity: 200,
					NewCache: replicas.CachesOf(c.Cache.Entry, config)}
				if of := c.Cache.Entry.Together; of != nil {
					nodes.Together = must.Get(of(config))(b)
					nodes.NewCache = nodes.Together.New
				}
				k := must.Get(replicas.New(nodes))(b)
				b.StartTimer()
				var n cache.Counts
				k.Serve(cache.WindowOf(tr, 0, len(tr.Objects), false, nil), &n)
			}
			b.ReportMetric(float64(len(tr.Objects))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mblocks/s")
		})
	}
}
