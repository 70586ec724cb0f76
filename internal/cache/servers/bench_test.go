package servers_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// BenchmarkServers replays trials through the servers, beside LRU by bytes of values.
func BenchmarkServers(b *testing.B) {
	load := func(name string) *traces.Trace {
		return tracetest.MustLoadText(b, string(trial(b, name)), read.Options{Needs: needs})
	}
	keys, web := load("kv-zipf"), load("web")
	for _, k := range servers.Kinds {
		tr, capacity := keys, int64(8<<20)
		if k.Memory != "maxmemory" && k.Memory != "m" {
			tr, capacity = web, 48<<20
		}
		b.Run(k.Name, func(b *testing.B) { benchCache(b, tr, k.Name, capacity) })
		b.Run(k.Name+"/lru", func(b *testing.B) { benchCache(b, tr, "lru", capacity) })
	}
}

// newCache returns the cache of a policy, which may stand for a server.
func newCache(t testing.TB, tr *traces.Trace, policy string, capacity int64, seed uint64) cache.Cache {
	t.Helper()
	spec := must.Get(policies.Registry.Parse(policy))(t)
	kind := cache.ExactSpec()
	if spec.Entry.ShortFor != nil {
		name, values, inside := spec.Entry.ShortFor(spec.Params)
		kind.Entry, _ = cache.Registry.Find(name)
		kind.Params, spec = values, inside
	}
	return must.Get(kind.Entry.New(cache.Config{Trace: tr, Capacity: capacity, Params: kind.Params, Policy: spec,
		Seed: seed}))(t)
}

func benchCache(b *testing.B, tr *traces.Trace, policy string, capacity int64) {
	const window = 1 << 15
	sizes := make([]int64, window)
	var n cache.Counts
	for b.Loop() {
		b.StopTimer()
		c := newCache(b, tr, policy, capacity, 1)
		n = cache.Counts{}
		b.StartTimer()
		for from := 0; from < len(tr.Objects); from += window {
			c.Serve(cache.WindowOf(tr, from, min(from+window, len(tr.Objects)), true, sizes), &n)
		}
	}
	b.ReportMetric(float64(len(tr.Objects))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mreq/s")
	b.ReportMetric(100*float64(n.Hits)/float64(n.Requests), "%hit")
}
