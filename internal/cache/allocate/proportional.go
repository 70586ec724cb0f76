package allocate

import "github.com/cachesim/cachesim/internal/base/params"

var proportionalEntry = Entry{
	Name:    "proportional",
	Summary: "in proportion to each tenant's requests, misses or footprint, window by window; equal before the first",
	Source:  "cachesim",
	Metrics: divisionMetrics,
	Params: []params.Param{
		{Name: "to", Default: "requests", Choices: []string{"requests", "misses", "footprint"},
			Doc: "requests, misses, or footprint (the distinct objects of a window, or their bytes)"},
		{Name: "every", Default: 10000, Min: 1, Doc: "requests in a window"},
		{Name: "weight", Default: 0.5, Min: 0.01, Max: 1,
			Doc: "weight of the last window in the average; 1: that window alone"},
		{Name: "floor", Default: 0.0, Min: 0, Max: 1,
			Doc: "share of the capacity that is divided equally, so that no tenant starves"},
	},
	New: func(c Config) (Allocator, error) {
		return &proportional{
			to:      c.Params.Text("to"),
			every:   int64(c.Params.Int("every")),
			weight:  c.Params.Float("weight"),
			floor:   c.Params.Float("floor"),
			average: make([]float64, len(c.Tenants)),
			extra:   make([]int64, len(c.Tenants)),
		}, nil
	},
}

// proportional divides by an exponentially weighted average over the windows.
type proportional struct {
	to            string
	every         int64
	weight, floor float64
	average       []float64 // per pool
	extra         []int64   // per pool: its part of the floor
}

func (a *proportional) Needs() Needs { return Needs{Every: a.every, Footprint: a.to == "footprint"} }

func (a *proportional) Allocate(s *State, capacities []int64) {
	for i, p := range s.Pools {
		had := float64(p.Requests)
		switch a.to {
		case "misses":
			had = float64(p.Requests - p.Hits)
		case "footprint":
			had = float64(p.Footprint)
		}
		a.average[i] += float64(a.weight * (had - a.average[i]))
	}
	floor := int64(a.floor * float64(s.Capacity))
	divideEqually(floor, a.extra)
	divide(s.Capacity-floor, a.average, capacities)
	for i := range capacities {
		capacities[i] += a.extra[i]
	}
}
