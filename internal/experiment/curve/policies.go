package curve

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// The policies next to LRU if the user lists none: the optimum or, in bytes, what replaces it.
const (
	DefaultPolicies      = "opt"
	DefaultPoliciesBytes = "belady-size,pfoo-l"
)

// Policies parses a list of policies, or returns the default if it is empty. LRU is left out, as it is part of every
// curve.
//
// In caches other than the exact one, the default has no policy that does not work there.
func Policies(list string, bytes bool, in cache.Spec) ([]policies.Spec, error) {
	isDefault := list == ""
	switch {
	case list != "":
	case bytes:
		list = DefaultPoliciesBytes
	default:
		list = DefaultPolicies
	}
	specs, err := policies.Registry.ParseList(list)
	if i := slices.IndexFunc(specs,
		func(s policies.Spec) bool { return policies.Can[policies.PredictorUser](s.Entry) }); err == nil && i >= 0 {
		return nil, fmt.Errorf("--policy %s needs a predictor, which curve does not support; use cachesim run "+
			"--predictor with the same capacities", specs[i])
	}
	return slices.DeleteFunc(specs, func(s policies.Spec) bool {
		cell := sim.Cell{Parts: sim.Parts{Cache: in, Policy: s}, Capacity: capacity.Capacity{Bytes: bytes}}
		return s.Entry.OnePass || isDefault && sim.CheckParts(cell) != nil
	}), err
}
