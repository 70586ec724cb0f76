package results

import (
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

// differs reports whether rows of one table have different parts of the kind.
func differs(k records.PartKind, recs []records.Record) bool {
	var first *string
	for i := range recs {
		part := k.Field(&recs[i])
		switch {
		case !k.InRows(&recs[i]) || k.Some && *part == "":
		case first == nil:
			first = part
		case *part != *first:
			return true
		}
	}
	return false
}

// NamedByParts gives the lines of one policy with several parts of a kind that are rows of one table, such as
// predictors, different names.
func NamedByParts(recs []records.Record) []records.Record {
	named := slices.Clone(recs)
	for _, k := range records.PartKinds {
		if !differs(k, recs) {
			continue
		}
		for i := range named {
			if part := *k.Field(&recs[i]); part != "" && k.InRows(&recs[i]) {
				named[i].Label += ", " + part
			}
		}
	}
	return named
}

// Setting returns the parts that all records have, unless they are the defaults, in the rows or in the group's name.
func (g Group) Setting() string {
	var parts []string
	for _, k := range records.PartKinds {
		part := *k.Field(&g.Records[0])
		if part != "" && part != k.Default && k.Heading && !differs(k, g.Records) && !strings.Contains(g.Name, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
