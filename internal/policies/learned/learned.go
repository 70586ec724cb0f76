// Package learned holds policies that follow predictions and have no package of their own: those with which LCR
// compares LARU (section 2), and those of the theory of algorithms with predictions. All of them count objects, not
// bytes, and load every missed object.
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
