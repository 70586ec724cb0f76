package policies

import "github.com/cachesim/cachesim/internal/oracle"

var pfoolEntry = Entry{
	Name: "pfoo-l",
	Summary: "lower bound on misses for objects of different sizes: the cheapest reuse intervals that fit into the " +
		"cache's room over time",
	Source: "Berger, Beckmann, Harchol-Balter, Practical bounds on optimal caching with variable object sizes, " +
		"SIGMETRICS 2018",
	Kind: Bound,
	LowerBound: func(in BoundInput) (float64, error) {
		return float64(oracle.PFOOLower(in.BoundInput)), nil
	},
}
