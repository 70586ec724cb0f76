package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/cmd/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/base/neural/ppo"
	"github.com/cachesim/cachesim/internal/serving/trainer"
)

// controllerFlags are those of train with --controller.
type controllerFlags struct {
	name     string
	episodes int
	finetune int
}

const learnedController = "ppo"

func (f *controllerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "controller", "", "train the controller of a serving node instead: ppo; takes no trace")
	flags.IntVar(&f.episodes, "episodes", trainer.DefaultEpisodes,
		fmt.Sprintf("with --controller: episodes in each of %d environments", trainer.Environments))
	flags.IntVar(&f.finetune, "finetune", 0, fmt.Sprintf("with --controller: further episodes in each of %d environments "+
		"of the event model", trainer.Environments))
	completeNames(cmd, "controller", func() []string { return []string{learnedController} })
}

// arguments checks the traces: there are none with --controller, and at least one without.
func (f *controllerFlags) arguments(cmd *cobra.Command, args []string) error {
	if f.name == "" && !cmd.Flags().Changed("controller") {
		for _, name := range []string{"episodes", "finetune"} {
			if cmd.Flags().Changed(name) {
				return commandline.Refuse("--%s is of --controller ppo; boosted trees are trained on a trace", name)
			}
		}
		return cobra.MinimumNArgs(1)(cmd, args)
	}
	switch {
	case f.name != learnedController:
		return commandline.Refuse("--controller %q: want %s, the only one that is trained", f.name, learnedController)
	case len(args) > 0:
		return commandline.Refuse("%q: --controller takes no trace, it is trained on the fluid model", args[0])
	}
	return f.onlyOurs(cmd)
}

// controllerTakes are the flags that train has with --controller.
var controllerTakes = []string{"controller", "episodes", "finetune", "output", "seed", "quiet", "format", "memory"}

// onlyOurs rejects flags that are about traces and boosted trees.
func (f *controllerFlags) onlyOurs(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(g *pflag.Flag) {
		if err == nil && !slices.Contains(controllerTakes, g.Name) && cmd.LocalFlags().Lookup(g.Name) != nil {
			err = commandline.Refuse("--%s is of boosted trees; --controller %s takes --episodes, --finetune, --seed, "+
				"--memory, --format, --quiet and -o", g.Name, f.name)
		}
	})
	return err
}

// trainController trains a policy, and writes it with its learning curve beside it.
func (f *trainFlags) trainController(cmd *cobra.Command) error {
	o := trainer.Options{Seed: f.trace.seed, Episodes: f.controller.episodes, FineTune: f.controller.finetune}
	if err := o.Check(); err != nil {
		return err
	}
	if err := f.checkOutput(); err != nil {
		return err
	}
	out, err := trainer.Create(cmd.Context(), f.out)
	if err != nil {
		return err
	}
	defer out.Abort()
	policy, s, err := f.learn(cmd, o)
	if err != nil {
		return err
	}
	if err := out.Write(policy, s, o); err != nil {
		return err
	}
	return s.Print(cmd.OutOrStdout(), string(f.format))
}

func (f *trainFlags) learn(cmd *cobra.Command, o trainer.Options) (*ppo.ActorCritic, *trainer.Summary, error) {
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "training", progress.Episodes)
	defer bar.Finish()
	all := int64(o.Episodes + o.FineTune)
	policy, s, err := trainer.Train(cmd.Context(), o, func(done int) { bar.Set(int64(done), all) })
	if errors.Is(err, context.Canceled) {
		return nil, nil, fmt.Errorf("interrupted: %s was not written", f.out)
	}
	return policy, s, err
}
