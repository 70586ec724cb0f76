package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Needs returns what the cells with these parts need from their trace, together; bytes says that a capacity counts
// bytes. In a cache with a capacity of its own, sizes in the trace do not count. Lengths of prompts are enough if a
// model of time uses them in every cell.
func Needs(all []Parts, bytes bool) (needs traces.Needs) {
	for i := range all {
		own, stated := OwnCapacity(all[i].Cache)
		needs.Sizes = needs.Sizes || (bytes && !stated || own.Bytes) && !cache.HasPools(all[i].Cache)
		needs = needs.Union(all[i].needs())
	}
	needs.Lengths = !slices.ContainsFunc(all, Parts.NeedsContents)
	return needs
}

// NeedsContents reports whether lengths of prompts are not enough, as no model of time uses them alone.
func (p Parts) NeedsContents() bool { return p.Model == nil || !p.Model.Entry.Lengths }

// needs returns what replays need from their trace. Several parts need keys: caches hash them, prefetchers and caches
// with streams compute with them, some policies compare them, and some use their prefixes as topics, in caches without
// better information.
func (p Parts) needs() traces.Needs {
	p = p.Replayed()
	relates, queries := p.Policy.Entry.Relates, cache.ServesQueries(p.Cache)
	patterns := cache.HasStreams(p.Cache) || p.Allocator != nil && p.Allocator.Entry.Patterns
	addresses := patterns || p.Prefetcher != nil && p.Prefetcher.Entry.Addresses
	needs := traces.Needs{
		Times: slices.ContainsFunc(p.policies(), policies.NeedsClock) || patterns || p.changesNodes() ||
			cache.Sweeps(p.Allocator),
		Clock: p.Cache.Entry.Clock,
		Ends:  cache.KeepsTime(p.Cache),
		Keys: cache.KeepsTime(p.Cache) || p.Cache.Entry.Associative != nil || addresses || relates && !queries ||
			policies.NeedsKeys(p.Policy) || p.routesByKeys(),
		Kind: queries || relates || p.Cache.Entry.Pools != nil, Embeddings: queries,
		Attention: cache.ServesHeads(p.Cache),
	}
	if p.Model != nil && p.Model.Entry.Needs != nil {
		needs = needs.Union(p.Model.Entry.Needs(p.Model.Params))
	}
	return needs
}
