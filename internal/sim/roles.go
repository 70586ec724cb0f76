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
	records.RolesFrom(declareRoles)
}

func declareRoles(declare func(policy string, r records.Role)) {
	optima := map[string]records.Role{}
	for _, bypass := range []bool{false, true} {
		bound, _ := policies.LowerBound(policies.Rules{Bypass: bypass, Held: true})
		optima[policies.Optimum(policies.Rules{Bypass: bypass})] = records.Role{Optimum: true, Bound: bound}
	}
	for _, rules := range []policies.Rules{{Bytes: true}, {Similar: true}, {Similar: true, Bypass: true}} {
		if bound, ok := policies.LowerBound(rules); ok {
			optima[policies.Optimum(rules)] = records.Role{Bound: bound}
		}
	}
	for i, e := range policies.Registry.All() {
		for _, name := range append([]string{e.Name}, e.Aliases...) { // published results may have either
			r := optima[name]
			r.Rank, r.Unlimited, r.Idle, r.Reference = i, e.Unbounded, e.Idle, name == policies.Optimum(policies.Rules{})
			r.Color, r.Mark, r.Dashes = int(e.Look.Color), int(e.Look.Mark), e.Look.Dashes
			declare(name, r)
		}
	}
}
