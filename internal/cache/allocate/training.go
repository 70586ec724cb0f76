package allocate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

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

// training gives each training tenant a pool of its own, and all others the last pool. It implements Pooling.
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

var batchSizesEntry = Entry{
	Name: "batch-sizes",
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
	New: func(c Config) (Allocator, error) { return newBatchSizes(c) },
}

// batchSizes divides once, before the first request.
type batchSizes struct{ training }

func newBatchSizes(c Config) (*batchSizes, error) {
	t, err := newTraining(c)
	return &batchSizes{t}, err
}

func (a *batchSizes) Needs() Needs { return Needs{Data: true} }

func (a *batchSizes) Allocate(s *State, capacities []int64) {
	divide(a.claim(s), a.weights, capacities[:len(a.weights)])
	for i := range a.weights {
		capacities[i] = min(capacities[i], s.Pools[i].Data)
	}
	a.rest(s, capacities)
}
