package sim

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Needs returns what the cells of these parts need of their trace, together; bytes says that a capacity counts bytes.
func Needs(all []Parts, bytes bool) (needs traces.Needs) {
	needs.Sizes = bytes
	for i := range all {
		needs = needs.Union(all[i].needs())
	}
	return needs
}

// needs returns what replays need of their trace. Keys are for caches that hash them, for prefetchers that compute with
// them, and for policies that make topics of their prefixes in caches that know nothing better of the objects.
func (p *Parts) needs() traces.Needs {
	relates, queries := p.Policy.Entry.Relates, p.Cache.Entry.Queries
	addresses := p.Prefetcher != nil && p.Prefetcher.Entry.Addresses
	return traces.Needs{
		Times: policies.NeedsClock(p.Policy), Keys: p.Cache.Entry.Keys || addresses || relates && !queries,
		Kind: queries || relates, Embeddings: queries,
	}
}
