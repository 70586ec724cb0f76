package offline

import (
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
)

var pfoolEntry = policies.Entry{
	Name: "pfoo-l",
	Summary: "lower bound on misses for objects of different sizes: the cheapest reuse intervals that fit into the " +
		"cache's room over time",
	Source: "Berger, Beckmann, Harchol-Balter, Practical bounds on optimal caching with variable object sizes, " +
		"SIGMETRICS 2018",
	Kind:      policies.Bound,
	Reference: func(r policies.Rules) bool { return r.Bytes && !r.Similar },
	LowerBound: func(in policies.BoundInput) (float64, error) {
		return float64(oracle.PFOOLower(in.BoundInput)), nil
	},
}
