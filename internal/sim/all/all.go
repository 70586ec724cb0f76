// Package all registers every cache that has a folder of its own. The simulator imports it for that; add new folders of
// caches here. It also registers what only such caches use.
package all

import (
	_ "github.com/cachesim/cachesim/internal/cache/prefix"   // prompts
	_ "github.com/cachesim/cachesim/internal/cache/semantic" // queries with embeddings
	_ "github.com/cachesim/cachesim/internal/cache/sets"     // batches over small sets
	_ "github.com/cachesim/cachesim/internal/serving/pools"  // recommender requests

	_ "github.com/cachesim/cachesim/internal/cache/igtcache"      // a policy that manages its cache
	_ "github.com/cachesim/cachesim/internal/serving/controllers" // of serving nodes
	_ "github.com/cachesim/cachesim/internal/serving/nodemodels"  // models of time of serving nodes
	_ "github.com/cachesim/cachesim/internal/serving/traffic"     // requests to serving nodes
)
