package sim

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Needs returns what the cells of these caches and policies need of their trace; bytes says that a capacity counts
// bytes. Keys are for caches that hash them, and for policies that make topics of their prefixes in caches that know
// nothing better of the objects.
func Needs(caches []cache.Spec, specs []policies.Spec, bytes bool) (needs traces.Needs) {
	needs.Sizes = bytes
	for _, c := range caches {
		for _, p := range specs {
			relates, queries := p.Entry.Relates, c.Entry.Queries
			needs = needs.Union(traces.Needs{
				Times: policies.NeedsClock(p), Keys: c.Entry.Keys || relates && !queries,
				Kind: queries || relates, Embeddings: queries,
			})
		}
	}
	return needs
}
