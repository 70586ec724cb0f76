// Package adaptive has the policies that evict by earlier requests too, and adapt to their worth.
package adaptive

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{arcEntry, carEntry, cartEntry, clockProEntry, clockProPlusEntry,
	clockProSimpleEntry, dclockEntry, frdEntry, lirsEntry, lirs2Entry, lruKEntry, mqEntry}
