package suite

import (
	"context"
	"fmt"

	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// Subject is a policy that is checked.
type Subject struct {
	policies.Spec
	// Chooses says that it may leave out what is missed even if there is room for it.
	Chooses bool
}

// SubjectOf returns the policy of a spec as one that may be checked. It is an error if it makes no decisions.
func SubjectOf(s policies.Spec) (Subject, error) {
	if s.Entry.New == nil {
		return Subject{}, fmt.Errorf("policy %s makes no decisions that could be checked", s)
	}
	return Subject{Spec: s, Chooses: s.Entry.Bypasses(s.Params)}, nil
}

// build makes the policy for a script. It starts with so many objects, and can grow if grows is set.
func (s Subject) build(ctx context.Context, script *Script, objects int, grows bool) (policies.Policy, error) {
	e, trace := s.Entry, script.Trace()
	next := oracle.NextUse(trace, script.Objects)
	config := policies.Config{
		Capacity: script.Capacity, Unit: script.Unit, Objects: objects, Requests: len(trace), Seed: 7, Params: s.Params,
		Grows: grows, Life: policies.LifeOf(ctx),
	}
	if e.Kind == policies.Offline {
		config.NextUse = next
		if !grows { // a pool numbers its own objects
			config.Sequence = trace
		}
	}
	if policies.Can[policies.PredictorUser](e) {
		var err error
		if config.Predictor, err = noisy(trace, next, script.Objects); err != nil {
			return nil, err
		}
	}
	if e.Relates {
		config.Relations = &policies.Relations{HitFrom: 2}
	}
	if policies.NeedsKeys(s.Spec) {
		config.Key = func(o policies.Object) uint64 { return uint64(o) * 7919 % 10007 }
	}
	return e.New(config)
}

// noisy returns a predictor that gets every third answer wrong.
func noisy(trace []policies.Object, next []uint32, objects int) (predict.Predictor, error) {
	spec, err := predict.Registry.Parse("noisy(p=0.3)")
	if err != nil {
		return nil, err
	}
	return spec.Entry.New(predict.Config{
		Objects: trace, Count: objects, NextUse: next, Times: make([]int64, len(trace)), Seed: 7, Params: spec.Params,
		OptEvicts: func() []bool { return make([]bool, len(trace)) },
	})
}

// drive returns a cache for a script, with room for all its objects from the start.
func (s Subject) drive(ctx context.Context, script *Script) (*Driver, error) {
	p, err := s.build(ctx, script, script.Objects, false)
	if err != nil {
		return nil, err
	}
	return NewDriver(p, script.Capacity), nil
}

// play takes steps in a cache for a script.
func (s Subject) play(ctx context.Context, script *Script, steps []Step) (*Driver, error) {
	d, err := s.drive(ctx, script)
	if err == nil {
		err = d.DoAll(steps)
	}
	return d, err
}

// Hold returns how the policy violates a check on a script; nil if it does not.
func (s Subject) Hold(ctx context.Context, c Check, script Script) error {
	_, err := policies.Await(ctx, func(ctx context.Context) (_ any, err error) {
		defer func() {
			if broken := recover(); broken != nil {
				err = fmt.Errorf("it panics: %v", broken)
			}
		}()
		return nil, c.holds(ctx, s, script)
	})
	return err
}
