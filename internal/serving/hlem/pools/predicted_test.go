package pools

import (
	"runtime"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
)

// Pools of which a model computes what is served have no memory per shard and user.
func TestPredictedPoolsAreSmall(t *testing.T) {
	lru := must.Get(policies.Registry.Parse(policies.Recency()))(t)
	allocated := func(predicted bool) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must.Get(New(Config{Nodes: 2, GPUs: 1, Memory: 1 << 36, Start: 0.5, Least: 0.1, Most: 0.9, Embeddings: lru,
			Users: lru, Requests: &recommended.Columns{Shards: 1 << 20, ShardRows: 1024}, Count: 1 << 20,
			Predicted: predicted}))(t)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if served, predicted := allocated(false), allocated(true); predicted > 1<<20 || served < 4<<20 {
		t.Errorf("%d bytes if requests are predicted, %d if they are served; want less than 1 MiB and more than 4",
			predicted, served)
	}
}
