package prefix

import (
	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/cache"
)

// NewInGroups returns a cache that keeps blocks as vLLM does for a model with a pool, in so many blocks of the pool.
func NewInGroups(c cache.Config, pool llm.Pool, blocks int) *Cache {
	return &Cache{Front: NewFront(c), held: make([]Held, len(c.Trace.Groups)),
		store: groupedOf(c.Trace, pool, float64(blocks+1))} // one is reserved
}
