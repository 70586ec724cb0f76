package allocate

var equalEntry = Entry{
	Name:    "equal",
	Summary: "the same for every tenant, whatever it requests",
	Source:  "cachesim; \"Half-and-Half\" in Qureshi and Patt, Utility-Based Cache Partitioning, MICRO 2006",
	Metrics: divisionMetrics,
	Varying: true,
	Fixed:   true,
	New:     func(Config) (Allocator, error) { return equal{}, nil },
}

var sharedEntry = Entry{
	Name:    "shared",
	Summary: "no division: all tenants share one pool, and the policy chooses victims among all",
	Source:  "cachesim",
	Shared:  true,
	Metrics: tenantMetrics,
	New:     equalEntry.New, // there is one pool
}

type equal struct{}

func (equal) Needs() Needs                          { return Needs{} }
func (equal) Allocate(s *State, capacities []int64) { divideEqually(s.Capacity, capacities) }
