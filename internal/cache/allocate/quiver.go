package allocate

import (
	"cmp"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
)

var quiverEntry = Entry{
	Name: "quiver",
	Summary: "half to training tenants: whole data sets, beginning with the tenants that caching speeds up most; the " +
		"other half is a pool that all other tenants share",
	Source: "Kumar and Sivathanu, Quiver: an informed storage cache for deep learning, FAST 2020, as the IGTCache paper " +
		"(arXiv 2506.12370), section 5.4, extends it",
	Metrics: divisionMetrics,
	Params: []params.Param{
		{Name: "train", Default: "", Doc: "the training tenants, separated by semicolons: imagenet;places to profile them, " +
			"or imagenet:3.2;places:2 with the time per batch without the cache, divided by the time with it"},
		{Name: "share", Default: 0.5, Min: 0, Max: 1, Doc: "share of the capacity for training tenants"},
		{Name: "profile", Default: 1000, Min: 1, Doc: "requests to all tenants in the profile; until then all pools have " +
			"the same capacity"},
		{Name: "local_ms", Default: 1.0, Min: 0, Max: 1e6, Doc: "time of a hit in the profile, milliseconds"},
		{Name: "delay_ms", Default: 150.0, Min: 0, Max: 1e6, Doc: "delay of a miss in the profile, milliseconds"},
		{Name: "bandwidth_mbs", Default: 125.0, Min: 1e-6, Max: 1e9, Doc: "bandwidth of a miss in the profile, 10^6 bytes " +
			"per second"},
	},
	Check: checkTraining,
	New:   func(c Config) (Allocator, error) { return newQuiver(c) },
}

// quiver divides once, after a profile if it needs one.
type quiver struct {
	training
	profile      int64
	local, delay float64 // seconds
	bandwidth    float64 // bytes per second
	divided      bool
}

func newQuiver(c Config) (*quiver, error) {
	t, err := newTraining(c)
	return &quiver{
		training: t, profile: int64(c.Params.Int("profile")), local: c.Params.Float("local_ms") / 1e3,
		delay: c.Params.Float("delay_ms") / 1e3, bandwidth: c.Params.Float("bandwidth_mbs") * 1e6,
	}, err
}

func (a *quiver) Needs() Needs {
	needs := Needs{Data: true}
	if slices.Contains(a.weights, 0) {
		needs.Every = a.profile
	}
	return needs
}

func (a *quiver) Allocate(s *State, capacities []int64) {
	switch {
	case a.divided:
		return
	case s.Epoch == 0 && slices.Contains(a.weights, 0):
		divideEqually(s.Capacity, capacities)
		return
	}
	a.divided = true
	benefits := slices.Clone(a.weights)
	order := make([]int, len(benefits))
	for i := range benefits {
		order[i] = i
		if benefits[i] == 0 {
			benefits[i] = a.benefit(s, s.Pools[i])
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(benefits[j], benefits[i]) })
	a.fill(s, order, capacities)
	a.rest(s, capacities)
}

// fill gives whole data sets in an order, as long as they fit. The rest goes to the first one that did not.
func (a *quiver) fill(s *State, order []int, capacities []int64) {
	left := a.claim(s)
	first := -1
	for _, i := range order {
		capacities[i] = 0
		switch {
		case s.Pools[i].Data <= left:
			capacities[i] = s.Pools[i].Data
			left -= capacities[i]
		case first < 0:
			first = i
		}
	}
	if first >= 0 {
		capacities[first] = left
	}
}

// benefit returns the time of a request without the cache, divided by the time with it. Each is the time between two
// requests in the profile, taken as computation, plus a miss or a hit. A tenant that has not begun comes last.
func (a *quiver) benefit(s *State, p Pool) float64 {
	if p.Requests == 0 {
		return 0
	}
	compute := float64(s.Elapsed) / float64(time.Second) / float64(p.Requests)
	return (compute + a.delay + p.MeanBytes/a.bandwidth) / max(compute+a.local, 1e-9)
}
