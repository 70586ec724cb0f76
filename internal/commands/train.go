package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predictors"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
	"github.com/cachesim/cachesim/internal/serving/hlem/trainer"
	"github.com/cachesim/cachesim/internal/sim/trees"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

type trainFlags struct {
	trace  traceFlags
	format commandline.Format
	out    string

	learners []learner
	owners   map[string]string // of flags that only one learner takes: its name
}

type learner struct {
	name  string // in errors
	about string // a part of the help; white space around it does not count
	takes string // ends the error about a flag of another learner
	file  string // ends the error about a missing output file
	// flag chooses the learner; "" for the first one, which is trained unless another is chosen.
	flag      string
	register  func(cmd *cobra.Command) // its flags
	arguments cobra.PositionalArgs
	// train checks the flags before it reads anything, and writes the file.
	train func(cmd *cobra.Command, args []string) (summary, error)
}

type summary interface {
	Print(w io.Writer, format string) error
}

func newTrainCommand() *cobra.Command {
	f := &trainFlags{owners: map[string]string{}}
	f.learners = []learner{newTreesLearner(f), newControllerLearner(f)}
	var about []string
	for _, l := range f.learners {
		about = append(about, strings.TrimSpace(l.about))
	}
	cmd := &cobra.Command{
		Use:   "train TRACE... -o FILE",
		Short: "Train boosted trees to predict the next requests of objects, or the controller of a serving node",
		Long:  strings.Join(about, "\n\n"),
		Example: `  cachesim train day1.zst -o model.txt
  cachesim train trace.zst --features 4 --trees 32 --leaves 32 -o model.txt
  cachesim run day2.zst --policy laru --predictor 'gbm(model=model.txt)'
  cachesim train --controller ppo --seed 2 -o weights.json`,
		Args: f.arguments,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	for _, l := range f.learners {
		l.register(cmd)
		cmd.Flags().VisitAll(func(g *pflag.Flag) { f.owners[g.Name] = cmp.Or(f.owners[g.Name], l.name) })
	}
	for _, name := range []string{"seed", "quiet", "memory"} {
		delete(f.owners, name) // every learner takes it
	}
	f.format.Register(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "output file for the model")
	return cmd
}

func (f *trainFlags) chosen(cmd *cobra.Command) learner {
	i := slices.IndexFunc(f.learners, func(l learner) bool { return l.flag != "" && cmd.Flags().Changed(l.flag) })
	return f.learners[max(0, i)]
}

// arguments rejects arguments and flags that the chosen learner does not take.
func (f *trainFlags) arguments(cmd *cobra.Command, args []string) error {
	l := f.chosen(cmd)
	var err error
	cmd.Flags().Visit(func(g *pflag.Flag) {
		if owner := f.owners[g.Name]; owner != "" && owner != l.name {
			err = cmp.Or(err, commandline.Refuse("--%s is of %s; %s", g.Name, owner, l.takes))
		}
	})
	return cmp.Or(err, l.arguments(cmd, args))
}

func (f *trainFlags) run(cmd *cobra.Command, args []string) error {
	l := f.chosen(cmd)
	switch f.out {
	case "":
		return fmt.Errorf("no output file: give the %s", l.file)
	case "-":
		return errors.New("-o -: want the name of a file, because the summary goes to standard output")
	}
	s, err := l.train(cmd, args)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted: %s was not written", f.out)
	case err != nil:
		return err
	}
	return s.Print(cmd.OutOrStdout(), string(f.format))
}

type controllerFlags struct {
	*trainFlags
	controller string
	options    trainer.Options
}

const learnedController = "ppo"

func newControllerLearner(of *trainFlags) learner {
	f := &controllerFlags{trainFlags: of}
	return learner{
		name: "--controller " + learnedController,
		about: `
With --controller ppo, trains the policy of allocators ppo and hlem instead, which divide the memory of a serving node
between embeddings and users, by reinforcement learning (PPO) on model fluid, under random loads. It needs no trace. The
file has the weights of the policy, which ppo(weights=FILE) and hlem(weights=FILE) load; the learning curve is drawn
into a PNG file beside it. Prints the reward before and after training, next to static ratios and the best ratio in
hindsight. The same seed and number of episodes give the same file, on any number of cores.`,
		takes: "--controller " + learnedController + " takes --episodes, --finetune, --paper-state, --seed, --memory, " +
			"--format, --quiet and -o",
		file:      "weights' file with -o, for example -o weights.json",
		flag:      "controller",
		register:  f.register,
		arguments: f.arguments,
		train:     f.train,
	}
}

func (f *controllerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.controller, "controller", "",
		"train the controller of a serving node instead: ppo; takes no trace")
	flags.IntVar(&f.options.Episodes, "episodes", trainer.DefaultEpisodes,
		fmt.Sprintf("with --controller: episodes in each of %d environments", trainer.Environments))
	flags.IntVar(&f.options.FineTune, "finetune", 0, fmt.Sprintf("with --controller: further episodes in each of %d "+
		"environments of the event model", trainer.Environments))
	flags.BoolVar(&f.options.PaperState, "paper-state", false, "with --controller: the policy sees the seven values of "+
		"the paper only, not what rows and KV hits save on the node")
	commandline.CompleteNames(cmd, "controller", func() []string { return []string{learnedController} })
}

// arguments rejects other controllers, and traces.
func (f *controllerFlags) arguments(_ *cobra.Command, args []string) error {
	switch {
	case f.controller != learnedController:
		return commandline.Refuse("--controller %q: want %s, the only one that is trained", f.controller, learnedController)
	case len(args) > 0:
		return commandline.Refuse("%q: --controller takes no trace, it is trained on the fluid model", args[0])
	}
	return nil
}

// train writes the policy, and its learning curve beside it.
func (f *controllerFlags) train(cmd *cobra.Command, _ []string) (summary, error) {
	f.options.Seed = f.trace.seed
	if err := f.options.Check(); err != nil {
		return nil, err
	}
	out, err := trainer.Create(cmd.Context(), f.out)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "training", progress.Episodes)
	defer bar.Finish()
	all := int64(f.options.Episodes + f.options.FineTune)
	policy, s, err := trainer.Train(cmd.Context(), f.options, func(done int) { bar.Set(int64(done), all) })
	if err != nil {
		return nil, err
	}
	return s, out.Write(policy, s, f.options, drawCurve)
}

func drawCurve(w io.Writer, s *trainer.Summary) error {
	f := plots.New("Learning curve", fmt.Sprintf("episodes in each of %d environments", s.Environments),
		"reward of an epoch, less the reward in hindsight")
	x := make([]float64, len(s.Curve))
	for i := range x {
		x[i] = float64(i + 1)
	}
	n := min(s.Episodes, len(x))
	lines := []plots.Line{{Label: "one episode", X: x[:n], Y: s.Curve[:n], Style: plots.SeriesStyle(1)},
		{Label: fmt.Sprintf("mean of %d", trainer.Smoothed), X: x[:n], Y: trainer.Smooth(s.Curve[:n]),
			Style: plots.SeriesStyle(0)}}
	if n < len(x) {
		lines = append(lines, plots.Line{Label: "event model", X: x[n:], Y: s.Curve[n:], Style: plots.SeriesStyle(2)})
	}
	for _, l := range lines {
		f.AddLine(l)
	}
	d, err := f.Draw("curve", look.Options{}, canvas.PNG)
	if err != nil {
		return err
	}
	_, err = w.Write(d.Files[0].Data)
	return err
}

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
