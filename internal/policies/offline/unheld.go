package offline

import (
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
)

var unheldEntry = policies.Entry{
	Name: "opt-unheld",
	Summary: "lower bound on misses of prompts that run at the same time, and beside requests that only look: the " +
		"optimum's, if running prompts held nothing, lookups loaded, and any miss could be bypassed",
	Source:    "Carlisle and Lloyd, On the k-coloring of intervals, Discrete Applied Mathematics 1995",
	Kind:      policies.Bound,
	Units:     policies.UnitsObjects,
	Prompts:   true,
	Reference: func(r policies.Rules) bool { return r.Held && !r.Bytes && !r.Similar },
	LowerBound: func(in policies.BoundInput) (float64, error) {
		return float64(oracle.GroupedLower(in.BoundInput)), nil
	},
}
