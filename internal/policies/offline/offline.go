// Package offline holds the policies that know the whole trace, and the bounds on misses: what others are held against.
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
		pfooSimilarEntry,
	)
}
