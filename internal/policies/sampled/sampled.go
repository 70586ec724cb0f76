// Package sampled has the policies that evict by the value of a few sampled residents.
package sampled

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{hyperbolicEntry, lhdEntry}
