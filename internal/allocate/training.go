package allocate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/suggest"
)

var quiverEntry = Entry{
	Name: "quiver",
	Summary: "half to training tenants, whole data sets of those first that caching speeds up most; the other half is a " +
		"pool that all other tenants share",
	Source: "Kumar and Sivathanu, Quiver: an informed storage cache for deep learning, FAST 2020, as the IGTCache paper " +
		"(arXiv 2506.12370), section 5.4, extends it",
	Metrics: divisionMetrics,
	Params: []params.Param{
		{Name: "train", Default: "", Doc: "the training tenants, separated by semicolons: imagenet;places to profile them, " +
			"or imagenet:3.2;places:2 with the time per batch without the cache, divided by that with it"},
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

var fluidEntry = Entry{
	Name: "fluid",
	Summary: "to training tenants in proportion to their batch sizes, at most their data sets; the rest is a pool that " +
		"all other tenants share",
	Source: "Gu et al., Fluid: dataset abstraction and elastic acceleration for cloud-native deep learning training " +
		"jobs, ICDE 2022, as the IGTCache paper (arXiv 2506.12370), section 5.4, extends it",
	Metrics: divisionMetrics,
	Params: []params.Param{
		{Name: "train", Default: "", Doc: "the training tenants and their batch sizes, separated by semicolons: " +
			"imagenet:256;places:128"},
		{Name: "share", Default: 1.0, Min: 0, Max: 1, Doc: "share of the capacity that training tenants claim together"},
	},
	Check: func(v Values) error {
		trained, err := parseTraining(v.Text("train"))
		for _, t := range trained {
			if err == nil && t.weight == 0 {
				err = fmt.Errorf("train=%s: %s has no batch size: want NAME:NUMBER", v.Text("train"), t.name)
			}
		}
		return err
	},
	New: func(c Config) (Allocator, error) { return newFluid(c) },
}

// trained is an item of the parameter train.
type trained struct {
	name   string
	weight float64 // 0: none is given
}

func checkTraining(v Values) error {
	_, err := parseTraining(v.Text("train"))
	return err
}

// parseTraining reads the parameter train: names, or names with a number above 0.
func parseTraining(text string) (all []trained, err error) {
	for _, item := range strings.Split(text, ";") {
		t := trained{name: strings.TrimSpace(item)}
		if i := strings.LastIndexByte(item, ':'); i >= 0 {
			t.name = strings.TrimSpace(item[:i])
			number := strings.TrimSpace(item[i+1:])
			if t.weight, err = strconv.ParseFloat(number, 64); err != nil || !(t.weight > 0 && t.weight <= 1e12) {
				return nil, fmt.Errorf("train=%s: %q is not NAME:NUMBER with a number above 0", text, item)
			}
		}
		if t.name == "" {
			return nil, fmt.Errorf("train=%s: want the names of the training tenants, separated by semicolons", text)
		}
		if slices.ContainsFunc(all, func(o trained) bool { return o.name == t.name }) {
			return nil, fmt.Errorf("train=%s: tenant %s is given twice", text, t.name)
		}
		all = append(all, t)
	}
	return all, nil
}

// training gives each training tenant a pool of its own, and all others one together, the last pool.
type training struct {
	weights []float64 // per training tenant
	names   []string
	of      []int // per tenant: its pool
	share   float64
}

func newTraining(c Config) (training, error) {
	all, err := parseTraining(c.Params.Text("train"))
	if err != nil {
		return training{}, err
	}
	t := training{of: make([]int, len(c.Tenants)), share: c.Params.Float("share")}
	for i := range t.of {
		t.of[i] = len(all)
	}
	for i, item := range all {
		tenant := slices.Index(c.Tenants, item.name)
		if tenant < 0 {
			return training{}, suggest.Unknown("tenant", item.name, c.Tenants)
		}
		t.of[tenant] = i
		t.names = append(t.names, item.name)
		t.weights = append(t.weights, item.weight)
	}
	if slices.Contains(t.of, len(all)) {
		t.names = append(t.names, "others")
	}
	return t, nil
}

// Pools implements Pooling.
func (t *training) Pools() (of []int, names []string) { return t.of, t.names }

// claim returns what training tenants may have together: everything if there are no others.
func (t *training) claim(s *State) int64 {
	if len(t.weights) == len(t.names) {
		return s.Capacity
	}
	return min(s.Capacity, int64(t.share*float64(s.Capacity)))
}

// rest gives the others what is left. Without others it stays unused: each training tenant then has its whole data set.
func (t *training) rest(s *State, capacities []int64) {
	if len(t.weights) == len(t.names) {
		return
	}
	others := len(capacities) - 1
	capacities[others] = s.Capacity
	for _, c := range capacities[:others] {
		capacities[others] -= c
	}
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

// fill gives whole data sets in an order, as long as they fit. What is left then goes to the first one that did not.
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

// benefit returns the time of a request without the cache, divided by that with it: the time between two requests in
// the profile, as if all of it were computation, and that of a miss or of a hit. Nothing is known of a tenant that has
// not begun: it comes last.
func (a *quiver) benefit(s *State, p Pool) float64 {
	if p.Requests == 0 {
		return 0
	}
	compute := float64(s.Elapsed) / float64(time.Second) / float64(p.Requests)
	return (compute + a.delay + p.MeanBytes/a.bandwidth) / max(compute+a.local, 1e-9)
}

// fluid divides once, before the first request.
type fluid struct{ training }

func newFluid(c Config) (*fluid, error) {
	t, err := newTraining(c)
	return &fluid{t}, err
}

func (a *fluid) Needs() Needs { return Needs{Data: true} }

func (a *fluid) Allocate(s *State, capacities []int64) {
	divide(a.claim(s), a.weights, capacities[:len(a.weights)])
	for i := range a.weights {
		capacities[i] = min(capacities[i], s.Pools[i].Data)
	}
	a.rest(s, capacities)
}
