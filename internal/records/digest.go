package records

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
)

const digestName = "digest"

// digest returns the digest of all other set fields, by name and value. It is therefore the same in every format, and
// independent of how a program writes unset fields: null, zero or nothing. It leaves out what depends on the machine,
// so that two runs with the same results have the same digest.
func (r *Record) digest() string {
	return r.digestOf(func(name string) bool {
		m, _ := metric.Lookup(name)
		return !m.OfMachine
	})
}

// firstDigest is the digest that records had before it left anything out.
func (r *Record) firstDigest() string { return r.digestOf(func(string) bool { return true }) }

// digestOf returns the digest of all set fields, and of the metrics that covers names.
func (r *Record) digestOf(covers func(name string) bool) string {
	var lines []string
	add := func(f field) {
		if f.name != digestName && !f.isZero(r) {
			text, _ := f.text(r) // a line end in it may be one or two characters, as CSV has it
			lines = append(lines, fmt.Sprintf("%s=%q\n", f.name, strings.ReplaceAll(text, "\r\n", "\n")))
		}
	}
	for _, f := range identity {
		add(f)
	}
	for name := range r.Values.Names() {
		if covers(name) {
			add(metricFieldOf(name))
		}
	}
	for _, f := range behind {
		add(f)
	}
	slices.SortFunc(lines, func(a, b string) int {
		return cmp.Compare(a[:strings.Index(a, "=")], b[:strings.Index(b, "=")])
	})
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:8]) // enough to notice damage, which is all that it is for
}

// DigestOfResults returns the digest of what replays measured: of the values that do not depend on the machine, with
// the trace, policy, capacity, seed and axes of each record, in any order. How a trace was read, parameters and
// versions are not in it.
func DigestOfResults(recs []Record) string {
	var all []string
	for _, r := range recs {
		of := Record{Trace: r.Trace, Label: r.Label, CapacityText: r.CapacityText, Seed: r.Seed, Axes: r.Axes,
			Values: r.Values}
		all = append(all, of.digest())
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "")))
	return hex.EncodeToString(sum[:8])
}

// sealed returns copies of records that are about to be written together, each with its digest, and with zeros for the
// metrics of every record.
func sealed(recs []Record) []Record {
	recs = slices.Clone(recs)
	for i := range recs {
		for _, m := range metric.Always {
			if !recs[i].Has(m) {
				recs[i].Set(m, 0)
			}
		}
		recs[i].FileRecords = int64(len(recs))
		recs[i].Digest = recs[i].digest()
	}
	return recs
}

// checkRead rejects a record that no replay can have produced, or that was changed after it was written.
func (r *Record) checkRead() error {
	if err := r.Check(); err != nil || r.Digest == "" || r.Digest == r.digest() || r.Digest == r.firstDigest() {
		return err
	}
	return fmt.Errorf("the record is damaged or was changed: its digest is %.80q, want %q; run it again, or remove the "+
		"digest of a deliberate change", r.Digest, r.digest())
}

// WithoutDigest says how many of the records read at path have no digest; "" if all have one.
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
	return fmt.Sprintf("%s: %d of %d records have no digest: damage in them cannot be detected", path, without,
		len(recs))
}

// Incomplete says how many of the records that were written together are at path; "" if all are.
func Incomplete(path string, recs []Record) string {
	there := map[int64]int64{} // by how many were written together
	for _, r := range recs {
		there[r.FileRecords]++
	}
	for _, together := range slices.Sorted(maps.Keys(there)) {
		if n := there[together]; together > 0 && n%together != 0 { // a multiple: several files were joined
			return fmt.Sprintf("%s: contains only %d of the %d records that were written together",
				path, n%together, together)
		}
	}
	return ""
}
