package billing

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
)

// noCachePolicy returns the policy that is what happens without a cache.
func noCachePolicy() policies.Spec {
	spec, _ := policies.Registry.Parse(records.NoCache())
	return spec
}

// AddNoCache adds the row without a cache to a design: one at the smallest capacity, as all would be alike, in each
// setup that it fits. A design that has such a policy already stays as it is.
func AddNoCache(d *experiment.Design, resolved []capacity.Capacity) {
	if slices.ContainsFunc(d.Entrants, func(e experiment.Entrant) bool { return e.Spec.Entry.Idle }) {
		return
	}
	none := experiment.Entrants([]policies.Spec{noCachePolicy()}, nil)[0]
	none.Beside, none.Setups = true, map[int]string{}
	for i, s := range d.Setups {
		parts := s.Parts
		parts.Policy = none.Spec
		if own, ok := sim.OwnCapacity(parts.Cache); ok {
			none.Capacities = append(none.Capacities, own.Spec)
		}
		if sim.CheckParts(sim.Cell{Parts: parts}) == nil {
			none.Setups[i] = s.Axes
		}
	}
	if len(resolved) > 0 {
		smallest := slices.MinFunc(resolved, func(x, y capacity.Capacity) int {
			return cmp.Or(cmp.Compare(x.Unit(), y.Unit()), cmp.Compare(x.Amount, y.Amount))
		})
		none.Capacities = append(none.Capacities, smallest.Spec)
	}
	d.Entrants = append([]experiment.Entrant{none}, d.Entrants...)
}
