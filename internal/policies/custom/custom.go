// Package custom has the policies that users write themselves. rank chooses by an expression over what the cache knows
// of each object.
package custom

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{rankEntry}
