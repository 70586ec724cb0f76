// Package frequency has the policies that evict by the number of requests.
package frequency

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{lfuEntry, crLFUEntry, lfuDAEntry, gdsfEntry, campEntry, gdWheelEntry,
	sizeEntry}
