package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
)

// This tells tables of records which policies compete, and which bound to show next to an optimum's substitute.
func init() {
	records.DeclareFuture(func(kind, part string) bool {
		at := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == kind })
		return Kinds[at].KnowsFuture(part)
	})
	records.DeclareRole(policies.Unlimited(), records.Role{Unlimited: true})
	for _, rules := range []policies.Rules{{}, {Bypass: true}} {
		records.DeclareRole(policies.Optimum(rules), records.Role{Optimum: true})
	}
	for _, rules := range []policies.Rules{{Bytes: true}, {Similar: true}, {Similar: true, Bypass: true}} {
		if bound, ok := policies.LowerBound(rules); ok {
			records.DeclareRole(policies.Optimum(rules), records.Role{Bound: bound})
		}
	}
}
