package cuda

import "context"

// Shared is a device that computations use one at a time: each may plan with all of the free memory. A nil Shared is no
// device.
type Shared struct {
	device Device
	turn   chan struct{} // holds a token while nobody computes
	passed map[*SelfTest]bool
}

// Share returns d for several computations.
func Share(d Device) *Shared {
	s := &Shared{device: d, turn: make(chan struct{}, 1), passed: map[*SelfTest]bool{}}
	s.turn <- struct{}{}
	return s
}

// Name returns the name of the device's model.
func (s *Shared) Name() string           { return s.device.Name() }
func (s *Shared) Capability() Capability { return s.device.Capability() }

// Do calls compute when no other computation uses the device. It returns ctx's error if that ends first.
func (s *Shared) Do(ctx context.Context, compute func(Device) error) error {
	select {
	// A channel, not a mutex: a wait must end with ctx.
	case <-s.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	// If both were ready, select chose at random.
	if err := ctx.Err(); err != nil {
		return err
	}
	return compute(s.device)
}

// Compute is Do with a test of the device: before the first computation with that test, and after each. If the test
// fails afterwards, so does Compute, and the computation's results must not be used. Without a test, Compute is Do.
func (s *Shared) Compute(ctx context.Context, test *SelfTest, compute func(Device) error) error {
	if test == nil {
		return s.Do(ctx, compute)
	}
	return s.Do(ctx, func(d Device) error {
		if !s.passed[test] {
			if err := test.Check(d); err != nil {
				return err
			}
			s.passed[test] = true
		}
		if err := compute(d); err != nil {
			return err
		}
		return test.Check(d)
	})
}

func (s *Shared) Close() error { return s.device.Close() }
