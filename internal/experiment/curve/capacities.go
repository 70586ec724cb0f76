package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// OnePass returns LRU, whose counts at all capacities come from one pass over the trace. It is compared with the
// existing optima.
func OnePass() (lru []experiment.Entrant) {
	for _, e := range policies.Registry.All() {
		if e.OnePass {
			lru = experiment.Entrants([]policies.Spec{{Entry: e, Params: params.Defaults(e.Params)}}, nil)
			lru[0].OnePass, lru[0].Beside = true, true
		}
	}
	return lru
}

// Sampled returns the workload that gives a sample of w's trace. Its limit counts the requests of the sample.
func Sampled(w workload.Workload, sample *traces.Trace, seed uint64) workload.Workload {
	w.SampleRate, w.SampleSeed = sample.SampleRate, seed
	if sample.Limited {
		w.Limit = len(sample.Objects)
	} else {
		w.Limit = 0
	}
	return w
}

// Capacities resolves the capacities in ascending order. Objects and bytes would be two curves.
func Capacities(specs []capacity.Spec, mode capacity.Mode, t *traces.Trace) ([]capacity.Capacity, error) {
	capacities, err := capacity.Resolve(specs, mode, t)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(capacities, func(a, b capacity.Capacity) int { return cmp.Compare(a.Amount, b.Amount) })
	for _, c := range capacities {
		if c.Bytes != capacities[0].Bytes {
			return nil, fmt.Errorf("some capacities count objects and some bytes, which gives two curves: give only one kind, " +
				"or add --bytes")
		}
	}
	return capacities, nil
}

// Exact returns why LRU is exact at every capacity with some parts or, if it has to be replayed at each, why not.
func Exact(parts sim.Parts) (why string, ok bool) {
	in := parts.Cache
	if parts.Router != nil {
		return fmt.Sprintf("replayed at each capacity, on the nodes of the router %s", parts.Router), false
	}
	if parts.Admission != nil { // a larger cache need not hold what a smaller one does
		return fmt.Sprintf("replayed at each capacity, as no pass over the trace gives it at all of them behind the "+
			"admission %s", parts.Admission), false
	}
	if cache.IsExact(in) {
		return "exact at every capacity", true
	}
	if in.Entry.GroupOrder != nil {
		switch order, running := in.Entry.GroupOrder(in.Params); {
		case order != cache.NoOrder && running > 1:
			return fmt.Sprintf("exact at every capacity, in one pass where %d running prompts fit and by a replay below",
				running), true
		case order != cache.NoOrder:
			return "exact at every capacity", true
		}
	}
	return fmt.Sprintf("replayed at each capacity, as no pass over the trace gives it at all of them in the cache %s", in),
		false
}

// CheckLRU rejects an admission or a router that LRU cannot have with the other parts; bytes says that capacities count
// them.
func CheckLRU(parts sim.Parts, bytes bool) error {
	if parts.Admission == nil && parts.Router == nil {
		return nil
	}
	parts.Policy = OnePass()[0].Spec
	return sim.CheckParts(sim.Cell{Parts: parts, Capacity: capacity.Capacity{Bytes: bytes}})
}

// Grid returns about n further capacities in geometric steps: from one object, one block of the cache or the largest
// object's bytes, to all.
func Grid(t *traces.Trace, in cache.Spec, beside []capacity.Capacity, n int) (grid []capacity.Capacity) {
	bytes, block := beside[0].Bytes, beside[0].Block
	low, high := int64(1), int64(t.NumObjects)
	if p := prompts.Of(t.Kind); p != nil && in.Entry.BlockTokens != nil {
		low = max(1, int64(in.Entry.BlockTokens(in.Params)/p.BlockTokens))
		high = max(low, high)
	}
	if bytes {
		if t.RequestSizes != nil {
			return nil // each would be a replay
		}
		low = max(1, slices.Max(t.ObjectSizes))
		high = max(low, t.Footprint())
	}
	for i := range n {
		amount := int64(math.Round(float64(low) * math.Pow(float64(high)/float64(low), float64(i)/float64(max(1, n-1)))))
		c := capacity.Of(amount, bytes)
		if block > 0 {
			c = capacity.OfBlocks(amount, block)
		}
		if !slices.ContainsFunc(beside, c.Same) && !slices.Contains(grid, c) {
			grid = append(grid, c)
		}
	}
	return grid
}

// Scaled returns the capacities that are at least one object on a sample at that rate.
func Scaled(capacities []capacity.Capacity, rate float64) (held []capacity.Capacity) {
	for _, c := range capacities {
		if c, ok := c.OnSample(rate); ok {
			held = append(held, c)
		}
	}
	return held
}

// The policies next to LRU if the user lists none: the optimum or, in bytes, what replaces it.
const (
	DefaultPolicies      = "opt"
	DefaultPoliciesBytes = "belady-size,pfoo-l"
)

// Policies parses a list of policies, or returns the default if it is empty. LRU is left out, as it is part of every
// curve.
//
// The default has no policy that does not work with the parts.
func Policies(list string, bytes bool, parts sim.Parts) ([]policies.Spec, error) {
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
		cell := sim.Cell{Parts: parts, Capacity: capacity.Capacity{Bytes: bytes}}
		cell.Policy = s
		return s.Entry.OnePass || isDefault && sim.CheckParts(cell) != nil
	}), err
}
