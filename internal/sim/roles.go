package sim

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
)

// Tables of records know by this which policies compete, and which bound stands beside an optimum that is stood in for.
func init() {
	records.DeclareRole(policies.Unlimited(), records.Role{Unlimited: true})
	for _, rules := range []policies.Rules{{Bytes: true}, {Similar: true}, {Similar: true, Bypass: true}} {
		if bound, ok := policies.LowerBound(rules); ok {
			records.DeclareRole(policies.Optimum(rules), records.Role{Bound: bound})
		}
	}
}
