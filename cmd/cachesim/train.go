package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/cmd/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/interruptible"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/sim/trees"
	"github.com/cachesim/cachesim/internal/traces"
)

type trainFlags struct {
	trace    traceFlags
	format   commandline.Format
	out      string
	features int
	rows     int
	horizon  int
	boosting gbm.Options

	controller controllerFlags
}

func newTrainCommand() *cobra.Command {
	f := &trainFlags{boosting: gbm.Defaults()}
	cmd := &cobra.Command{
		Use:   "train TRACE... -o FILE",
		Short: "Train boosted trees to predict the next requests of objects, or the controller of a serving node",
		Long: `Trains gradient-boosted regression trees on the requests of a trace and writes them as a LightGBM text file,
which predictor gbm(model=FILE), LightGBM itself and other readers of that format load. The trees predict the logarithm
of 1 plus the number of requests until an object is requested again, or of finished prompts where the trace has prompts,
from its history up to that point.

Each request gives a sample once its object is requested again, or after --horizon requests without it, then with twice
that time. Training uses the newest --rows samples. A random share of them is held back to measure the error after each
tree: the trees up to the smallest error are kept, and training ends after --patience trees without an improvement.

Prints the error (RMSE of log time) on the training and the held-back samples, next to the error of predicting the mean,
and the importance of each feature: the number of splits that use it, and its share of the reduction of the squared
error. The same traces, flags and seeds give the same file.

A model has seen its training trace. Evaluate it on another one, or train on the beginning with --limit.

With --controller ppo, trains the policy of allocators ppo and hlem instead, which divide the memory of a serving node
between embeddings and users, by reinforcement learning (PPO) on model fluid, under random loads. It needs no trace. The
file has the weights of the policy, which ppo(weights=FILE) and hlem(weights=FILE) load; the learning curve is drawn
into a PNG file beside it. Prints the reward before and after training, next to static ratios and the best ratio in
hindsight. The same seed and number of episodes give the same file, on any number of cores.`,
		Example: `  cachesim train day1.zst -o model.txt
  cachesim train trace.zst --features 4 --trees 32 --leaves 32 -o model.txt
  cachesim run day2.zst --policy laru --predictor 'gbm(model=model.txt)'
  cachesim train --controller ppo --seed 2 -o weights.json`,
		Args: f.controller.arguments,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.trace.register(cmd)
	f.format.Register(cmd)
	f.controller.register(cmd)
	flags, b := cmd.Flags(), &f.boosting
	flags.StringVarP(&f.out, "output", "o", "", "output file for the model")
	flags.IntVar(&f.features, "features", int(predict.LLMFeatures), "features of an object: 4 (timestamp, key, count, "+
		"last interval) or 21 (age, 9 intervals, 10 decayed counters, depth)")
	flags.IntVar(&f.rows, "rows", 500_000, "samples to learn from, the newest ones; each uses 200 bytes of memory")
	flags.IntVar(&f.horizon, "horizon", 20_000, "requests after which an object without a further request gives a "+
		"sample, with twice that time")
	flags.IntVar(&b.Trees, "trees", 500, "largest number of trees")
	flags.IntVar(&b.Leaves, "leaves", b.Leaves, "largest number of leaves of a tree")
	flags.IntVar(&b.MaxDepth, "depth", b.MaxDepth, "largest depth of a tree, in splits (0: unlimited)")
	flags.Float64Var(&b.LearningRate, "learning-rate", b.LearningRate, "learning rate: the share of each tree's "+
		"correction that is applied")
	flags.IntVar(&b.MinLeafRows, "min-leaf", b.MinLeafRows, "smallest number of samples in a leaf")
	flags.Float64Var(&b.Lambda, "lambda", b.Lambda, "L2 regularisation of leaf values")
	flags.Float64Var(&b.Bagging, "bagging", b.Bagging, "share of the samples that each tree is trained on")
	flags.Float64Var(&b.Features, "feature-fraction", b.Features, "share of the features that each tree may split on")
	flags.Float64Var(&b.Validation, "validation", 0.2, "share of the samples that is held back to measure the error")
	flags.IntVar(&b.Patience, "patience", 50, "trees without an improvement after which training ends (0: never)")
	return cmd
}

func (f *trainFlags) run(cmd *cobra.Command, args []string) error {
	if f.controller.name != "" {
		return f.trainController(cmd)
	}
	w, err := f.trace.workload(cmd, args)
	if err != nil {
		return err
	}
	options, err := f.options(cmd)
	if err != nil {
		return err
	}
	if err := checkNotInput(args, f.out); err != nil {
		return err
	}
	out, err := atomicfile.Create(cmd.Context(), f.out)
	if err != nil {
		return err
	}
	defer out.Abort()
	t, _, err := f.trace.load(cmd, w, traces.LoadOptions{}, false)
	if err != nil {
		return err
	}
	m, s, err := f.train(cmd, t, options)
	if err != nil {
		return err
	}
	if _, err := m.WriteTo(out); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	return s.Print(cmd.OutOrStdout(), string(f.format))
}

// options checks the flags before the trace is read.
func (f *trainFlags) options(cmd *cobra.Command) (trees.Options, error) {
	o := trees.Options{Features: predict.FeatureSet(f.features), Rows: f.rows, Horizon: f.horizon, Boosting: f.boosting}
	o.Boosting.Seed = f.trace.seed
	if o.Boosting.Validation == 0 && !cmd.Flags().Changed("patience") {
		o.Boosting.Patience = 0
	}
	if err := f.checkOutput(); err != nil {
		return o, err
	}
	return o, o.Check()
}

func (f *trainFlags) checkOutput() error {
	switch f.out {
	case "":
		if f.controller.name != "" {
			return errors.New("no output file: give the weights' file with -o, for example -o weights.json")
		}
		return errors.New("no output file: give the model's file with -o, for example -o model.txt")
	case "-":
		return errors.New("-o -: want the name of a file, because the summary goes to standard output")
	}
	return nil
}

func (f *trainFlags) train(cmd *cobra.Command, t *traces.Trace, o trees.Options) (*gbm.Model, *trees.Summary,
	error) {
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "training", progress.Trees)
	defer bar.Finish()
	type result struct {
		model   *gbm.Model
		summary *trees.Summary
	}
	r, err := interruptible.Call(cmd.Context(), func() (result, error) {
		m, s, err := trees.Train(t, o, func(trees int) { bar.Set(int64(trees), int64(o.Boosting.Trees)) })
		return result{m, s}, err
	})
	if errors.Is(err, context.Canceled) {
		return nil, nil, fmt.Errorf("interrupted: %s was not written", f.out)
	}
	return r.model, r.summary, err
}
