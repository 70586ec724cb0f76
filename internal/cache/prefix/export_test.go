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

// NewStated returns a cache that keeps blocks and states as SGLang does.
func NewStated(c cache.Config, states States) *Cache {
	s, err := newStated(c, states)
	if err != nil {
		panic(err)
	}
	return &Cache{Front: NewFront(c), held: make([]Held, len(c.Trace.Groups)), store: s}
}
