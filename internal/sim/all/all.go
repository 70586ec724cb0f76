// Package all has the table of the parts that live in folders of their own, and registers them. The simulator imports
// it; a new folder of parts is a line here. It is a package of its own because tests of packages below the simulator
// need the parts, too.
package all

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/igtcache"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/cache/semantic"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/cache/sets"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/cache/tiers"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	_ "github.com/cachesim/cachesim/internal/oracle/predictors"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/engines"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
	"github.com/cachesim/cachesim/internal/serving/hlem/nodemodels"
	"github.com/cachesim/cachesim/internal/serving/hlem/pools"
	"github.com/cachesim/cachesim/internal/serving/hlem/traffic"
	"github.com/cachesim/cachesim/internal/serving/replicas"
	"github.com/cachesim/cachesim/internal/traces/gen"
)

func init() {
	cache.Registry.Register(pools.Entries...)
	cache.Registry.Register(prefix.Entries...)
	cache.Registry.Register(semantic.Entries...)
	cache.Registry.Register(sets.Entries...)
	cache.Registry.Register(igtcache.Entries...)
	cache.Registry.Register(tiers.Entries...)
	cache.Registry.Register(kv.Entries...)
	cache.Registry.Register(servers.Caches...)
	policies.Register(policies.Systems, append([]policies.Entry{igtcache.Shorthand}, kv.Policies...)...)
	policies.Register(policies.Engines, engines.Entries...)
	policies.Register(policies.Servers, servers.Policies...)
	allocate.Registry.Register(controllers.Entries...)
	models.Registry.Register(nodemodels.Entries...)
	gen.Register(traffic.Generators...)

	// The order is that of columns in tables and files of results.
	metric.Register("parts that recognise how files are read", streams.Metrics...)
	declare("allocator", allocate.Registry.All(), func(e allocate.Entry) []metric.Metric { return e.Metrics })
	metric.Register("policies that use a predictor", predict.Metrics...)
	declare("predictor", predict.Registry.All(), func(e predict.Entry) []metric.Metric { return e.Metrics })
	declare("policy", policies.Registry.All(), func(e policies.Entry) []metric.Metric { return e.Metrics })
	for _, e := range models.Registry.All() {
		metric.Register("model "+e.Name, models.LatencyMetrics...)
		metric.Register("model "+e.Name, e.Metrics...)
	}
	metric.Register("every prefetcher", prefetch.Metrics...)
	metric.Register("prefetchers, by bytes", prefetch.BytesMetrics...)
	metric.Register("every router", replicas.Metrics...)
	metric.Register("every router of objects", replicas.ObjectMetrics...)
	declare("cache", cache.Registry.All(), func(e cache.Entry) []metric.Metric { return e.Metrics })
}

func declare[E params.Named](kind string, entries []E, metrics func(E) []metric.Metric) {
	for _, e := range entries {
		name, _ := e.Signature()
		metric.Register(kind+" "+name, metrics(e)...)
	}
}
