// Package learned holds the policies that follow predictions in one way or another, except those with packages of their
// own: the policies with which LCR compares LARU (section 2), and policies from the theory of algorithms with
// predictions. All of them count objects, not bytes, and load every missed object.
package learned

import "github.com/cachesim/cachesim/internal/policies"

// Entries are the policies of this package.
var Entries = []policies.Entry{
	fpbEntry,
	fpbBinaryEntry,
	hfEntry,
	fpbMarkingEntry,
	predictiveMarkerEntry,
	lMarkerEntry,
	lNonMarkerEntry,
	blindOracleLRUEntry,
	robustFTPEntry,
	followRobustEntry,
	trustDoubtEntry,
	markerOrLRUEntry,
	optMarkingEntry,
	guardEntry,
}
