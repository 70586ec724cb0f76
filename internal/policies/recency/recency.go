// Package recency has the policies that evict by the last request.
package recency

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{lruEntry, lruStackEntry, mruEntry, slruEntry, lruProbEntry, ttlEntry}
