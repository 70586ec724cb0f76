// Package interruptible stops waiting for work that does not look at its context.
package interruptible

import "context"

// Call returns what work returns, or ctx's error as soon as ctx ends. Then work goes on in the background until it ends
// or the program does, and what it returns is dropped; so it must not change what others read.
func Call[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
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
