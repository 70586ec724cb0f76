package replicas

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// CachesOf returns Config.NewCache for nodes that all have the cache that an entry builds from a config. Node 0 makes
// the random choices of a cell without a router.
func CachesOf(entry cache.Entry, config cache.Config) func(node int) (cache.Replica, error) {
	return func(node int) (cache.Replica, error) {
		own := config
		own.AnyOrder = true
		own.Seed ^= uint64(node) * random.Golden
		if err := own.ForNode(); err != nil {
			return nil, err
		}
		made, err := entry.New(own)
		if err != nil {
			return nil, err
		}
		replica, ok := made.(cache.Replica)
		if !ok {
			return nil, fmt.Errorf("a cache of type %T is for one node", made)
		}
		return replica, nil
	}
}

// CheckTrace rejects a router that needs more of a trace of prompts than it has. Without a model, times are the
// trace's.
func CheckTrace(router route.Spec, t *traces.Trace, modelled bool) error {
	columns := prompts.Of(t.Kind)
	if columns == nil {
		return fmt.Errorf("router %s sends prompts to nodes, but %s has none; cachesim formats lists the formats with "+
			"prompts", router, t.Name)
	}
	sessions := router.Entry.Sessions
	switch {
	case router.Entry.New == nil:
		return fmt.Errorf("router %s routes requests for objects, but %s has prompts; choose another router (see: cachesim "+
			"routers)", router, t.Name)
	case route.IsForObjects(router):
		return fmt.Errorf("router %s: lose, back and behind are for objects; for prompts write --nodes 4@0s,3@3600s, or "+
			"share tiers", router)
	case sessions != nil && sessions(router.Params) && columns.Sessions == nil:
		return fmt.Errorf("router %s keeps conversations on a node, but %s does not name them; use hash, or a router that "+
			"looks at prefixes", router, t.Name)
	case len(route.ChangesOf(router)) > 1 && !modelled && columns.Arrivals == nil:
		return fmt.Errorf("router %s: nodes change at times, but %s has no times; give one number of nodes, or add --model "+
			"prefill, which has a clock", router, t.Name)
	}
	return nil
}

// Estimates of the memory in bytes.
const (
	cacheBytes   = 4 + 1     // per block and node, of a prefix tree
	nodePrompt   = 4         // per prompt and node
	promptBytes  = 4 + 1 + 4 // per prompt
	requestBytes = 4 + 4 + 1 // per requested block, of the bound
	blockBytes   = 2         // per block, of the router
)

// Bytes estimates the memory of all nodes and their router; policy is what the policy of one node takes.
func Bytes(t *traces.Trace, router route.Spec, policy int64) int64 {
	blocks, promptCount := int64(t.NumObjects), int64(len(t.Groups))
	each := policy + (cacheBytes+router.Entry.Bytes)*blocks + nodePrompt*promptCount
	return int64(route.Most(route.ChangesOf(router)))*each + promptBytes*promptCount +
		requestBytes*int64(len(t.Objects)) + blockBytes*blocks
}
