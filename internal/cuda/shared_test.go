package cuda

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// One computation at a time uses a device, and one whose context ends does not wait.
func TestSharedInTurn(t *testing.T) {
	s := Share(nil)
	using := 0
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			err := s.Do(t.Context(), func(Device) error {
				using++ // the race detector sees two at a time
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if using != 10 {
		t.Errorf("%d of 10 computations used the device", using)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Do(t.Context(), func(Device) error {
		cancel()
		return s.Do(ctx, func(Device) error { return errors.New("two at a time") })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
	if err := s.Do(ctx, func(Device) error { return errors.New("after the end") }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}
