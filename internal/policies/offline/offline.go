// Package offline holds the policies that see the whole trace, and lower bounds on misses. Other policies are compared
// with them.
package offline

import "github.com/cachesim/cachesim/internal/policies"

func init() {
	policies.Register(policies.Foresight,
		optEntry,
		optBypassEntry,
		farthestSimilarEntry,
		farthestSimilarBypassEntry,
		beladySizeEntry,
		pfoolEntry,
		unheldEntry,
		pfooSimilarEntry,
	)
}
