// Package queues has the policies that evict in order of arrival.
package queues

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{fifoEntry, clockEntry, sieveEntry, s3fifoEntry, s4fifoEntry, clock2QPlusEntry,
	s3fifoDynamicEntry, qdlpEntry, twoQEntry, tuQueueEntry, fifoMergeEntry,
	sfifoEntry, ripqEntry}
