package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/cmd/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/serving/hlem/trainer"
)

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
	completeNames(cmd, "controller", func() []string { return []string{learnedController} })
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

// drawCurve writes the learning curve as a PNG.
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
	d, err := f.Draw("curve", plots.PNG)
	if err != nil {
		return err
	}
	_, err = w.Write(d.Files[0].Data)
	return err
}
