package main

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

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
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
