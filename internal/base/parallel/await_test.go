package parallel

import (
	"context"
	"errors"
	"testing"
)

func TestCallReturnsWhatWorkReturns(t *testing.T) {
	broken := errors.New("broken")
	got, err := Await(t.Context(), func() (int, error) { return 7, broken })
	if got != 7 || err != broken {
		t.Errorf("got %d, %v; want 7, %v", got, err, broken)
	}
}

func TestCallDoesNotWaitForWorkAfterTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan int)
	defer close(forever)
	got, err := Await(ctx, func() (int, error) {
		cancel()
		return <-forever, nil
	})
	if got != 0 || err != context.Canceled {
		t.Errorf("got %d, %v; want 0, %v", got, err, context.Canceled)
	}
}
