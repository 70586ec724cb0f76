package cache

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// KeysFor returns the objects' keys with their signs flipped, for Config.Key, if a policy depends on keys and all of
// them are integers. Addresses outside the trace that a prefetcher proposes follow, in the order of their numbers.
func KeysFor(policy policies.Spec, t *traces.Trace) func(policies.Object) uint64 {
	if !policies.NeedsKeys(policy) || t.Keys == nil {
		return nil
	}
	ranks, ok := stream.KeyRanks(t.Keys)
	if !ok {
		return nil
	}
	return func(o policies.Object) uint64 {
		if int(o) < len(ranks) {
			return ranks[o]
		}
		return math.MaxUint64 - uint64(policies.NoObject-o)
	}
}
