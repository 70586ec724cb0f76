// Package baselines has the policies that others are compared with: at random, without a choice, or with room for
// everything.
package baselines

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{randomEntry, markerEntry, uniformEntry, infiniteEntry, twoRandomEntry, noCacheEntry}
