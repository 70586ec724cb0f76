package parallel

import "context"

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
