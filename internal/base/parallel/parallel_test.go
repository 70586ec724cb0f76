package parallel_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cachesim/cachesim/internal/base/parallel"
)

func TestForDoesEachPieceOnce(t *testing.T) {
	for _, jobs := range []int{1, 3, 100} {
		const n = 50
		var done [n]atomic.Int32
		err := parallel.For(t.Context(), jobs, n, func(_ context.Context, worker, piece int) error {
			if worker < 0 || worker >= min(jobs, n) {
				t.Errorf("%d jobs: worker %d", jobs, worker)
			}
			done[piece].Add(1)
			return nil
		})
		if err != nil {
			t.Errorf("%d jobs: %v", jobs, err)
		}
		for piece := range done {
			if got := done[piece].Load(); got != 1 {
				t.Errorf("%d jobs: piece %d was done %d times", jobs, piece, got)
			}
		}
	}
}

func TestForStopsAtAnError(t *testing.T) {
	failure := errors.New("failure")
	begun := 0
	err := parallel.For(t.Context(), 1, 10, func(ctx context.Context, _, piece int) error {
		begun++
		if piece == 3 {
			return failure
		}
		return ctx.Err()
	})
	if err != failure || begun != 4 {
		t.Errorf("error %v after %d pieces, want %v after 4", err, begun, failure)
	}
}

func TestForStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun := 0
	err := parallel.For(ctx, 1, 10, func(_ context.Context, _, piece int) error {
		begun++
		if piece == 3 {
			cancel()
		}
		return nil
	})
	if err != context.Canceled || begun != 4 {
		t.Errorf("error %v after %d pieces, want %v after 4", err, begun, context.Canceled)
	}
}
