package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/results/records"
)

// This tells tables of records which policies compete, and which bound to show next to an optimum's substitute.
func init() {
	records.DeclareFuture(func(kind, part string) bool {
		at := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == kind })
		return Kinds[at].KnowsFuture(part)
	})
	records.DeclareRole(policies.Unlimited(), records.Role{Unlimited: true})
	for _, bypass := range []bool{false, true} {
		role := records.Role{Optimum: true}
		role.Bound, _ = policies.LowerBound(policies.Rules{Bypass: bypass, Held: true})
		records.DeclareRole(policies.Optimum(policies.Rules{Bypass: bypass}), role)
	}
	for _, rules := range []policies.Rules{{Bytes: true}, {Similar: true}, {Similar: true, Bypass: true}} {
		if bound, ok := policies.LowerBound(rules); ok {
			records.DeclareRole(policies.Optimum(rules), records.Role{Bound: bound})
		}
	}
}
