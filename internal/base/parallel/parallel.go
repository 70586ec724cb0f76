// Package parallel runs numbered pieces of work on several goroutines: For starts them in order and stops at the first
// error. Jobs turns the value of a flag into the number of goroutines. Await stops waiting for work that does not check
// its context.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Jobs returns the number of goroutines for a user's number: one per core unless it is above 0.
func Jobs(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// For calls work for the pieces 0 to n-1, each once and lower ones first, on up to jobs goroutines, which are numbered
// from 0. It returns when all of them have ended. After the first error, which it returns, and when ctx ends, no
// further piece starts, and the context of the running pieces is cancelled.
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
	// The first cancel decides the cause. It is nil if no piece failed and ctx has not ended.
	return context.Cause(ctx)
}

// Await returns the result of work, or ctx's error as soon as ctx ends. The work may outlive the call, so it must not
// change what others read.
func Await[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	// With room for the result, so that the goroutine ends even if nobody receives it.
	done := make(chan result, 1)
	go func() {
		value, err := work()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
