package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predictors"
	"github.com/cachesim/cachesim/internal/sim/trees"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// treesFlags are the flags of boosted trees, in addition to their trace's.
type treesFlags struct {
	*trainFlags
	options trees.Options
}

func newTreesLearner(of *trainFlags) learner {
	f := &treesFlags{trainFlags: of, options: trees.Options{Boosting: gbm.Defaults()}}
	return learner{
		name: "boosted trees",
		about: `
Trains gradient-boosted regression trees on the requests of a trace and writes them as a LightGBM text file,
which predictor gbm(model=FILE), LightGBM itself and other readers of that format load. The trees predict the logarithm
of 1 plus the number of requests until an object is requested again, or of finished prompts where the trace has prompts,
from its history up to that point.

Each request gives a sample once its object is requested again, or after --horizon requests without it, then with twice
that time. Training uses the newest --rows samples. A random share of them is held back to measure the error after each
tree: the trees up to the smallest error are kept, and training ends after --patience trees without an improvement.

Prints the error (RMSE of log time) on the training and the held-back samples, next to the error of predicting the mean,
and the importance of each feature: the number of splits that use it, and its share of the reduction of the squared
error. The same traces, flags and seeds give the same file.

A model has seen its training trace. Evaluate it on another one, or train on the beginning with --limit.`,
		takes:     "boosted trees are trained on a trace",
		file:      "model's file with -o, for example -o model.txt",
		register:  f.register,
		arguments: cobra.MinimumNArgs(1),
		train:     f.train,
	}
}

func (f *treesFlags) register(cmd *cobra.Command) {
	f.trace.register(cmd)
	f.trace.registerWrites(cmd)
	flags, b := cmd.Flags(), &f.options.Boosting
	flags.IntVar((*int)(&f.options.Features), "features", int(predictors.LLMFeatures), "features of an object: 4 "+
		"(timestamp, key, count, last interval) or 21 (age, 9 intervals, 10 decayed counters, depth)")
	flags.IntVar(&f.options.Rows, "rows", 500_000, "samples to learn from, the newest ones; each uses 200 bytes of memory")
	flags.IntVar(&f.options.Horizon, "horizon", 20_000, "requests after which an object without a further request gives "+
		"a sample, with twice that time")
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
}

func (f *treesFlags) train(cmd *cobra.Command, args []string) (summary, error) {
	w, err := f.trace.workload(cmd, args)
	if err != nil {
		return nil, err
	}
	o := f.options
	o.Boosting.Seed = f.trace.seed
	if o.Boosting.Validation == 0 && !cmd.Flags().Changed("patience") {
		o.Boosting.Patience = 0
	}
	if err := cmp.Or(o.Check(), checkNotInput(args, f.out)); err != nil {
		return nil, err
	}
	out, err := atomicfile.Create(cmd.Context(), f.out)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	t, _, err := f.trace.load(cmd, w, read.Options{}, false)
	if err != nil {
		return nil, err
	}
	m, s, err := f.learn(cmd, t, o)
	if err != nil {
		return nil, err
	}
	if _, err := m.WriteTo(out); err != nil {
		return nil, err
	}
	return s, out.Commit()
}

func (f *treesFlags) learn(cmd *cobra.Command, t *traces.Trace, o trees.Options) (*gbm.Model, *trees.Summary, error) {
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "training", progress.Trees)
	defer bar.Finish()
	var s *trees.Summary
	m, err := parallel.Await(cmd.Context(), func() (m *gbm.Model, err error) {
		m, s, err = trees.Train(t, o, func(trees int) { bar.Set(int64(trees), int64(o.Boosting.Trees)) })
		return m, err
	})
	if err != nil {
		return nil, nil, err
	}
	return m, s, nil
}
