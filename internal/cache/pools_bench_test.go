package cache_test

import (
	"runtime"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
)

// BenchmarkPools has 10 000 pools stand beside each other, over 10 M objects that are divided among them at random and
// all requested once, in any order of the pools, and as often again. Each pool has room for a tenth of its members.
func BenchmarkPools(b *testing.B) {
	const pools, objects, capacity = 10_000, 10_000_000, 100
	for _, shared := range []bool{true, false} {
		for _, name := range []string{"lru", "s3fifo", "arc", "lfu"} {
			b.Run(map[bool]string{true: "partition/", false: "apart/"}[shared]+name, func(b *testing.B) {
				entry, _ := policies.Registry.Find(name)
				spec, err := policies.Registry.Parse(name)
				must.Do(b, err)
				for b.Loop() {
					b.StopTimer()
					before := policytest.ReachableBytes()
					b.StartTimer()
					var partition *cache.Partition
					if shared {
						partition = cache.NewPartition(objects)
					}
					config := policytest.ConfigOf(b, entry, &traces.Trace{NumObjects: objects}, capacity, true)
					all := make([]*cache.Pool, pools)
					for i := range all {
						all[i] = must.Get(cache.NewMemberPool(spec, config, cache.NewMembers(partition)))(b)
					}
					draws := random.NewDraws(1)
					for pos := range 2 * objects {
						o := policies.Object(pos)
						if pos >= objects {
							o = policies.Object(draws.Below(objects))
						}
						pool := all[random.Mix(uint64(o))%pools]
						pool.Request(policies.Request{Object: o, Query: o, Pos: pos, Size: 1})
					}
					b.StopTimer()
					b.ReportMetric(float64(policytest.ReachableBytes()-before)/objects, "B/object")
					runtime.KeepAlive(all)
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*objects), "ns/request")
			})
		}
	}
}
