package allocate

var sharedEntry = Entry{
	Name:    "shared",
	Summary: "no division: all tenants share one pool, and the policy chooses victims among all",
	Source:  "cachesim",
	Shared:  true,
	Metrics: tenantMetrics,
	New:     func(Config) (Allocator, error) { return shared{}, nil },
}

// shared gives the whole capacity to the only pool.
type shared struct{}

func (shared) Needs() Needs                          { return Needs{} }
func (shared) Allocate(s *State, capacities []int64) { divideEqually(s.Capacity, capacities) }
