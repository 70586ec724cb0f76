package allocate

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
)

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
