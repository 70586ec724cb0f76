// Package offline holds the policies that see the whole trace, and lower bounds on misses. Other policies are compared
// with them.
package offline

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{
	optEntry,
	optBypassEntry,
	farthestSimilarEntry,
	farthestSimilarBypassEntry,
	beladySizeEntry,
	pfoolEntry,
	unheldEntry,
	pfooSimilarEntry,
}
