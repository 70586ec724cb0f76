// Package custom has the policies that users write themselves. rank chooses by an expression over what the cache knows
// of each object. Those that run outside of this program are in packages of their own.
package custom

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/custom/modules"
	"github.com/cachesim/cachesim/internal/policies/custom/programs"
)

// Entries are the policies of this package.
var Entries = []policies.Entry{rankEntry, modules.Entry, programs.Entry}
