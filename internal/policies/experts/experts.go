// Package experts holds policies that follow one of two simpler policies at a time. They choose at random, with weights
// that shrink as a policy is blamed for misses.
package experts

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{lecarEntry, cacheusEntry, srLRUEntry, duelEntry, bestEntry}
