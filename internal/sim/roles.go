package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
)

// This tells tables and figures of records which policies compete, how each looks, and which bound to show next to an
// optimum's substitute.
func init() {
	records.DeclareFuture(func(kind, part string) bool {
		at := slices.IndexFunc(Kinds, func(k *Kind) bool { return k.Name == kind })
		return Kinds[at].KnowsFuture(part) || Kinds[at] == CacheKind &&
			poolsAre(part, func(e *policies.Entry) bool { return e.Kind == policies.Offline })
	})
	for i, e := range policies.Registry.All() {
		for _, name := range append([]string{e.Name}, e.Aliases...) { // published results may have either
			records.DeclareRole(name, records.Role{Rank: i, Unlimited: e.Unbounded, Idle: e.Idle,
				Color: int(e.Look.Color), Mark: int(e.Look.Mark), Dashes: e.Look.Dashes})
		}
	}
	add := func(policy string, change func(*records.Role)) {
		role, _ := records.RoleOf(policy)
		change(&role)
		records.DeclareRole(policy, role)
	}
	add(policies.Optimum(policies.Rules{}), func(r *records.Role) { r.Reference = true })
	for _, bypass := range []bool{false, true} {
		add(policies.Optimum(policies.Rules{Bypass: bypass}), func(r *records.Role) {
			r.Optimum = true
			r.Bound, _ = policies.LowerBound(policies.Rules{Bypass: bypass, Held: true})
		})
	}
	for _, rules := range []policies.Rules{{Bytes: true}, {Similar: true}, {Similar: true, Bypass: true}} {
		if bound, ok := policies.LowerBound(rules); ok {
			add(policies.Optimum(rules), func(r *records.Role) { r.Optimum, r.Bound = false, bound })
		}
	}
}
