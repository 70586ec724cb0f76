// Package parallel does pieces of work on several goroutines.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Jobs returns how many goroutines are meant by a number that a user gives: one per core unless it is above 0.
func Jobs(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// For calls work for the pieces 0 to n-1, each once and the lower ones first, on up to jobs goroutines, which are
// numbered from 0. It returns when all of them have ended. After the first error, which it returns, and when ctx ends,
// no other piece begins, and the context that work may ask has ended.
func For(ctx context.Context, jobs, n int, work func(ctx context.Context, worker, piece int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for worker := range min(jobs, n) {
		workers.Go(func() {
			for ctx.Err() == nil {
				piece := int(next.Add(1)) - 1
				if piece >= n {
					return
				}
				if err := work(ctx, worker, piece); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
