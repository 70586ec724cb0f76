package adversary

import (
	"context"
	"runtime"
	"sync"

	"github.com/cachesim/cachesim/internal/policies"
)

// Row holds what is stated of a policy at a capacity beside what was found.
type Row struct {
	Policy   policies.Spec
	Capacity int
	Stated   Guarantee
	Exact    *Found // with exact predictions; nil where the policy asks none
	Any      Found  // with any predictions
}

// Table searches for every policy at every capacity, jobs searches at a time (0: one per core), and returns a row for each, policy by policy. It calls
// ended after each of the Searches. The rows do not depend on jobs.
func Table(ctx context.Context, specs []policies.Spec, capacities []int, options Options, jobs int, ended func()) ([]Row, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var rows []Row
	for _, spec := range specs {
		for _, capacity := range capacities {
			rows = append(rows, Row{Policy: spec, Capacity: capacity, Stated: Stated(spec, capacity)})
		}
	}
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	turn := make(chan struct{}, jobs)
	var searches sync.WaitGroup
	launch := func(search func() error) {
		searches.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			if ctx.Err() != nil {
				return
			}
			if err := search(); err != nil {
				cancel(err)
				return
			}
			ended()
		})
	}
	for i := range rows {
		row := &rows[i]
		launch(func() (err error) {
			row.Any, err = Any(ctx, row.Policy, row.Capacity, options)
			return err
		})
		if row.Policy.Entry.Predicts {
			row.Exact = &Found{}
			launch(func() (err error) {
				*row.Exact, err = Exact(ctx, row.Policy, row.Capacity, options)
				return err
			})
		}
	}
	searches.Wait()
	return rows, context.Cause(ctx)
}

// Searches returns how many searches Table makes.
func Searches(specs []policies.Spec, capacities []int) (n int) {
	for _, spec := range specs {
		n += len(capacities)
		if spec.Entry.Predicts {
			n += len(capacities)
		}
	}
	return n
}
