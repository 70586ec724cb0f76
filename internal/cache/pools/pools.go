// Package pools is the memory of nodes that serve recommendations, after HLEM (arXiv 2605.04450, section IV-B): each
// node has a pool of embedding shards (EMB) and one of the keys and values of users' histories (KV), and an allocator
// moves the border between them. A page is the unit of both: a shard needs one, a user as many as its history does.
package pools

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
)

// checkPolicy rejects a policy that does not work in a pool.
func checkPolicy(pool string, e policies.Entry, bytes bool) error {
	const cachePools = "cache pools"
	switch {
	case e.Kind != policies.Online:
		return fmt.Errorf("%s: %s knows the requests of the trace, but here their order depends on the cache; use a policy "+
			"that knows only the past (see: cachesim policies)", cachePools, e.Name)
	case e.Unbounded:
		return fmt.Errorf("%s: policy %s ignores capacities, but the memory of a node is limited", cachePools, e.Name)
	case e.Manages:
		return fmt.Errorf("%s: policy %s is a whole cache, not one of a pool", cachePools, e.Name)
	case e.Relates:
		return fmt.Errorf("%s: policy %s uses relations between objects, which users and shards do not have", cachePools,
			e.Name)
	case bytes && e.Units == policies.UnitsObjects:
		return fmt.Errorf("%s: policy %s works only where every object has the same size, but users need different "+
			"numbers of pages; use it for the embeddings alone, with %s=lru or another", cachePools, e.Name, pool)
	case !bytes && e.Units == policies.UnitsBytes:
		return fmt.Errorf("%s: policy %s works only where sizes count, but every shard is a page; use it for the users "+
			"alone, with %s=lru or another", cachePools, e.Name, pool)
	}
	return nil
}
