package replicas

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// reporter is a cache of which only the counters are known.
type reporter struct {
	cache.Replica
	counters []policies.Counter
}

func (r reporter) Counters() []policies.Counter { return r.counters }

// TestCountersAreMerged: the counters of nodes, of those that were removed, too, are combined by the rules of their
// metrics.
func TestCountersAreMerged(t *testing.T) {
	node := func(hit, tokens, largest float64) cache.Replica {
		return reporter{counters: []policies.Counter{policies.Count(prefix.HitTokens, hit),
			policies.Count(prefix.Tokens, tokens), policies.Count(prefix.TokenHitRatio, hit/tokens),
			policies.Count(streams.NodesMetric, largest)}}
	}
	k := &Cluster{lives: []life{{cache: node(1, 10, 7), removed: true}, {cache: node(2, 20, 5)}, {cache: node(9, 18, 6)}}}
	k.bury(&k.lives[0])
	var got metric.Values
	for _, c := range k.Counters() {
		got.SetNamed(c.Name(), c.Value)
	}
	for m, want := range map[string]float64{prefix.HitTokens.Name: 12, prefix.Tokens.Name: 48,
		prefix.TokenHitRatio.Name: 0.25, streams.NodesMetric.Name: 7} {
		if x, _ := got.Get(m); x != want {
			t.Errorf("%s is %v, want %v", m, x, want)
		}
	}
}
