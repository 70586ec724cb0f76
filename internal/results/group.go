package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// Group contains the records of one table and one figure: the same trace, replayed in the same way.
type Group struct {
	Name    string // the trace, and what else distinguishes this group from others
	Records []records.Record
}

// trait is a property in which the records of different groups may differ.
type trait func(r *records.Record) string

var traits = append(partTraits(), []trait{
	func(r *records.Record) string { return "capacity in " + r.CapacityUnit },
	func(r *records.Record) string { return fmt.Sprintf("sample rate %v", r.SampleRate) },
	func(r *records.Record) string {
		if r.PerFile {
			return "file by file"
		}
		return "as one sequence"
	},
	func(r *records.Record) string {
		if r.Embeddings == "trace" {
			return "embeddings in the trace"
		}
		return cmp.Or(r.Embeddings, "no embeddings")
	},
	func(r *records.Record) string { return fmt.Sprintf("warm-up %d", r.Warmup) },
	func(r *records.Record) string { return fmt.Sprintf("seed %d", r.Seed) },
}...)

// partTraits are the parts whose records have tables of their own.
func partTraits() (all []trait) {
	for _, k := range records.PartKinds {
		if !k.Apart {
			continue
		}
		all = append(all, func(r *records.Record) string {
			if k.InRows(r) {
				return ""
			}
			return k.GroupName(*k.Field(r))
		})
	}
	return all
}

// Groups splits recs into groups in order of first appearance.
func Groups(recs []records.Record) []Group {
	var groups []Group
	index := map[string]int{}
	for i, name := range GroupNames(recs) {
		at, ok := index[name]
		if !ok {
			at = len(groups)
			index[name] = at
			groups = append(groups, Group{Name: name})
		}
		groups[at].Records = append(groups[at].Records, recs[i])
	}
	return groups
}

// GroupNames returns the name of the group of each record.
func GroupNames(recs []records.Record) (all []string) {
	varying := slices.DeleteFunc(slices.Clone(traits), func(t trait) bool {
		return !slices.ContainsFunc(recs, func(r records.Record) bool { return t(&r) != t(&recs[0]) })
	})
	for i := range recs {
		parts := []string{recs[i].Trace}
		for _, t := range varying {
			if part := t(&recs[i]); part != "" {
				parts = append(parts, part)
			}
		}
		all = append(all, show.Printable(strings.Join(parts, ", ")))
	}
	return all
}

// WithoutCache returns the name that the group of each record has if all were of one cache: groups that differ in their
// caches alone have the same one.
func WithoutCache(recs []records.Record) []string {
	same := slices.Clone(recs)
	for i := range same {
		same[i].Cache = ""
	}
	return GroupNames(same)
}
