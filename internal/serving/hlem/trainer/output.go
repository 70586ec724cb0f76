package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/neural/ppo"
)

// Output is the files of a training: the weights of the policy, and beside them the learning curve.
type Output struct{ weights, curve *atomicfile.File }

// Create prepares the files, so that what cannot be written is an error before the training. They appear when they are
// complete.
func Create(ctx context.Context, weights string) (o *Output, err error) {
	curve := strings.TrimSuffix(weights, filepath.Ext(weights)) + ".png"
	if curve == weights {
		return nil, fmt.Errorf("-o %s: the learning curve gets this name; give the weights another one, for example "+
			"ppo.json", weights)
	}
	o = &Output{}
	if o.weights, err = atomicfile.Create(ctx, weights); err != nil {
		return nil, err
	}
	if o.curve, err = atomicfile.Create(ctx, curve); err != nil {
		o.weights.Abort()
		return nil, err
	}
	return o, nil
}

// Abort leaves no files, unless they have been written.
func (o *Output) Abort() {
	o.weights.Abort()
	o.curve.Abort()
}

// Write writes both files, the learning curve as draw draws it. The weights name the command that made them.
func (o *Output) Write(policy *ppo.ActorCritic, s *Summary, options Options,
	draw func(io.Writer, *Summary) error) error {
	if err := policy.Write(o.weights, options.String(), options.Seed); err != nil {
		return err
	}
	if err := draw(o.curve, s); err != nil {
		return err
	}
	return errors.Join(o.weights.Commit(), o.curve.Commit())
}

// String returns the command that trains with these options.
func (o Options) String() string {
	text := fmt.Sprintf("cachesim train --controller ppo --seed %d --episodes %d", o.Seed, o.Episodes)
	if o.FineTune > 0 {
		text += fmt.Sprintf(" --finetune %d", o.FineTune)
	}
	if o.PaperState {
		text += " --paper-state"
	}
	return text
}
