package claims

import (
	"slices"

	"github.com/cachesim/cachesim/internal/records"
)

// Whole returns the claim about all traces if a condition excludes some by name, and those; nil if none does. A
// condition that says of which traces the claim is, trace = t, excludes none.
func (c *Claim) Whole() (whole *Claim, without []string) {
	all := *c
	all.conditions = slices.DeleteFunc(slices.Clone(c.conditions), func(of records.Condition) bool {
		excludes := of.Dimension == records.DimTrace && (of.Op == "!=" || of.Op == "not in")
		if excludes {
			without = append(without, of.Values...)
		}
		return excludes
	})
	if len(without) == 0 {
		return nil, nil
	}
	return &all, without
}
