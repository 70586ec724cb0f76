// Package libraries has the policies of caches that programs import, each as its library runs it at the version that
// the entry names. The counts of the library itself are in testdata/authors, and docs/policies-libraries.md says what
// is not modelled: threads, and buffers that lose hits.
package libraries

import "slices"

// Entries are the policies of this package that admit by frequency.
var Entries = slices.Concat(
	foyerLFUEntries,
	mokaEntries,
	otterEntries,
	ristrettoEntries,
	theineEntries,
)

// Ordered are those that evict by the order of requests alone.
var Ordered = slices.Concat(
	foyerEntries,
	golangLRUEntries,
	guavaEntries,
	quickCacheEntries,
)
