package adversary

import (
	"context"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/policies"
)

// Row contains the stated and the found ratios of a policy at a capacity.
type Row struct {
	Policy   policies.Spec
	Capacity int
	Stated   policies.Guarantee
	Exact    *Found // with exact predictions; nil if the policy uses none
	Any      Found  // with any predictions
}

// Table searches for every policy at every capacity, jobs searches at a time (0: one per core), and returns a row for
// each, policy by policy. It calls ended after each of the Searches. The rows do not depend on jobs.
func Table(ctx context.Context, specs []policies.Spec, capacities []int, options Options, jobs int,
	ended func()) ([]Row, error) {
	var rows []Row
	for _, spec := range specs {
		for _, capacity := range capacities {
			rows = append(rows, Row{Policy: spec, Capacity: capacity, Stated: Stated(spec, capacity)})
		}
	}
	var searches []func(context.Context) error
	for i := range rows {
		row := &rows[i]
		searches = append(searches, func(ctx context.Context) (err error) {
			row.Any, err = Any(ctx, row.Policy, row.Capacity, options)
			return err
		})
		if policies.Can[policies.PredictorUser](row.Policy.Entry) {
			row.Exact = &Found{}
			searches = append(searches, func(ctx context.Context) (err error) {
				*row.Exact, err = Exact(ctx, row.Policy, row.Capacity, options)
				return err
			})
		}
	}
	err := parallel.For(ctx, parallel.Jobs(jobs), len(searches), func(ctx context.Context, _, i int) error {
		err := searches[i](ctx)
		if err == nil {
			ended()
		}
		return err
	})
	return rows, err
}

// Searches returns how many searches Table makes.
func Searches(specs []policies.Spec, capacities []int) (n int) {
	for _, spec := range specs {
		n += len(capacities)
		if policies.Can[policies.PredictorUser](spec.Entry) {
			n += len(capacities)
		}
	}
	return n
}
