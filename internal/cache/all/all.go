// Package all registers every cache that has a folder of its own. The simulator imports it for that; a new folder of a
// cache is added here.
package all

import (
	_ "github.com/cachesim/cachesim/internal/cache/prefix"   // prompts
	_ "github.com/cachesim/cachesim/internal/cache/semantic" // queries with embeddings
	_ "github.com/cachesim/cachesim/internal/cache/sets"     // batches over small sets
)
