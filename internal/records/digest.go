package records

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

const digestName = "digest"

// byName are the fields in the order of their names, in which a digest goes through them.
var byName = slices.SortedFunc(slices.Values(fields), func(a, b field) int { return cmp.Compare(a.name, b.name) })

// digest returns the digest of all other fields that are set, by name and value, so that it is the same in every format
// and whatever a program writes for a field that is not set: null, zero or nothing.
func (r *Record) digest() string {
	sum := sha256.New()
	v := reflect.ValueOf(r).Elem()
	for _, f := range byName {
		if f.name != digestName && !v.Field(f.index).IsZero() {
			// What ends a line is one character or two, as CSV has it.
			fmt.Fprintf(sum, "%s=%q\n", f.name, strings.ReplaceAll(f.text(r), "\r\n", "\n"))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// sealed returns copies of records that are about to be written together, each with its digest.
func sealed(recs []Record) []Record {
	recs = slices.Clone(recs)
	for i := range recs {
		recs[i].FileRecords = int64(len(recs))
		recs[i].Digest = recs[i].digest()
	}
	return recs
}

// checkRead refuses a record that is not as it was written.
func (r *Record) checkRead() error {
	if err := r.Check(); err != nil || r.Digest == "" || r.Digest == r.digest() {
		return err
	}
	return fmt.Errorf("the record is damaged, or was changed after it was written: its digest is %.80q, want %q; "+
		"make it anew, or, if the change is meant, take out its digest", r.Digest, r.digest())
}

// WithoutDigest says how many of the records that were read at path have no digest, "" where all have one.
func WithoutDigest(path string, recs []Record) string {
	without := 0
	for _, r := range recs {
		if r.Digest == "" {
			without++
		}
	}
	if without == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d records have no digest, as those of older programs; damage in them cannot be seen",
		path, without, len(recs))
}

// Incomplete says how many of the records that were written together are at path, "" where all are.
func Incomplete(path string, recs []Record) string {
	there := map[int64]int64{} // by how many were written together
	for _, r := range recs {
		there[r.FileRecords]++
	}
	for _, together := range slices.Sorted(maps.Keys(there)) {
		if n := there[together]; together > 0 && n%together != 0 {
			return fmt.Sprintf("%s: %d of the %d records that were written together are there",
				path, n%together, together)
		}
	}
	return ""
}
