// Package experiments has the commands that run experiment files: sweep with its subcommands, and reproduce. They plan
// cells, run those that are missing, and report the claims with their verdicts.
package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/commands/resources"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/report"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
)

type experimentFlags struct {
	set   []string
	only  []string
	quick bool
}

func (f *experimentFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "change a value of the experiment, as in capacities=1%,5%, seeds=3 or "+
		"policies.s3fifo.small=0.1,0.2; repeatable")
	flags.StringArrayVar(&f.only, "only", nil, "run only these cells, as in policy=lru,arc, trace=oltp, capacity=1%, or "+
		"values of another axis; repeatable")
	flags.BoolVar(&f.quick, "quick", false, "the experiment's smaller version, for a first look")
	completeKeys(cmd, "set", (*experiment.File).Settings)
	completeKeys(cmd, "only", (*experiment.File).Dimensions)
}

// completeKeys completes the part of a flag before the = from the experiment that the command names.
func completeKeys(cmd *cobra.Command, flag string, keys func(*experiment.File) []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) (completions []string,
		_ cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		if len(args) == 0 {
			return nil, directive
		}
		file, err := experiment.Load(args[0])
		if err != nil {
			return nil, directive
		}
		for _, key := range keys(file) {
			completions = append(completions, key+"=")
		}
		return completions, directive
	})
}

func (f *experimentFlags) given() bool { return len(f.set) > 0 || len(f.only) > 0 || f.quick }

func (f *experimentFlags) load(nameOrPath string) (*experiment.File, error) {
	file, err := experiment.Load(nameOrPath)
	if err != nil {
		return nil, err
	}
	if err := file.Apply(f.set, f.quick); err != nil {
		return nil, err
	}
	file.Only = append(file.Only, f.only...)
	return file, nil
}

// sweepDir returns the folder of a sweep: out/NAME unless another is given.
func sweepDir(given string, file *experiment.File) string {
	if given != "" {
		return given
	}
	return filepath.Join("out", file.Name)
}

// planSweep is sweep.Plan with an error for a user who interrupts it.
func planSweep(cmd *cobra.Command, file *experiment.File, dir string) (*sweep.Sweep, error) {
	file.Unmet = nil // what an earlier sweep found
	s, err := sweep.Plan(cmd.Context(), file, dir, version.Program())
	if experiment.Interrupted(err) {
		return nil, fmt.Errorf("interrupted before any cell of %s was run; the same command continues", file.Name)
	}
	return s, err
}

func completeExperiments(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return configs.Names(), cobra.ShellCompDirectiveDefault
}

type sweepRunFlags struct {
	jobs       int
	quiet      bool
	allCells   bool
	neighbours resources.Neighbours
	device     resources.Device
}

func (f *sweepRunFlags) register(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "replays that run at the same time (0: one per core)")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress bars and no notes")
	resources.RegisterMemory(cmd)
	f.neighbours.Register(cmd)
	f.device.Register(cmd)
}

func (f *sweepRunFlags) check() error {
	if f.jobs < 0 {
		return fmt.Errorf("--jobs %d: want a number of replays, or 0 for one per core", f.jobs)
	}
	return f.neighbours.Check()
}

func (f *sweepRunFlags) note(cmd *cobra.Command, format string, args ...any) {
	commandline.Note(cmd, f.quiet, fmt.Sprintf(format, args...))
}

func lockSweep(cmd *cobra.Command, dir string, quiet bool) (*atomicfile.Lock, error) {
	l, err := atomicfile.LockFolder(dir)
	return l, noteLock(cmd, dir, l, err, quiet)
}

func noteLock(cmd *cobra.Command, dir string, l *atomicfile.Lock, err error, quiet bool) error {
	if err == nil && !l.Works() && !quiet {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"%s is on a file system without locks; make sure that no other cachesim uses it at the same time\n", dir)
	}
	return err
}

// shareSweep takes a shared lock on a sweep's folder, next to others that run shares of the plan or collect its
// records.
func shareSweep(cmd *cobra.Command, dir string, quiet bool) (*atomicfile.Lock, error) {
	if _, err := sweep.LoadFile(dir); err != nil {
		return nil, err // nothing to lock
	}
	l, err := atomicfile.ShareFolder(dir)
	return l, noteLock(cmd, dir, l, err, quiet)
}

// registerAllCells adds the flag of commands that run whole sweeps.
func (f *sweepRunFlags) registerAllCells(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allCells, "all-cells", false, "replay also what only claims use whose precondition is not met")
}

// sweep writes the plan, runs the cells that are missing, and collects the records. Cells that only claims use which
// have a precondition wait until that is met. It returns the sweep without those that wait for good.
func (f *sweepRunFlags) sweep(cmd *cobra.Command, all *sweep.Sweep) (*sweep.Sweep, *sweep.Collection, error) {
	for unmet := all.File.Preconditions(); ; {
		s, err := all.Without(unmet)
		if err != nil {
			return nil, nil, err
		}
		if err := s.Write(); err != nil {
			return nil, nil, err
		}
		if err := f.runMissing(cmd, s, s.Cells); err != nil {
			return nil, nil, err
		}
		c, err := collect(cmd.Context(), s, s.Dir)
		if err != nil || len(unmet) == 0 {
			return s, c, err
		}
		waited := len(unmet)
		if unmet, err = report.Unmet(report.InputOf(s, c, version.Program())); err != nil {
			return nil, nil, err
		}
		if len(unmet) < waited {
			continue
		}
		left, err := report.LeftOut(s.File)
		if left != "" {
			f.note(cmd, "%s: %s; --all-cells replays them", s.File.Name, left)
		}
		return s, c, err
	}
}

func (f *sweepRunFlags) runMissing(cmd *cobra.Command, s *sweep.Sweep, cells []experiment.Cell) error {
	finished, err := sweep.ReadFinished(s.Cells, s.Dir)
	if err != nil {
		return err
	}
	for _, path := range finished.Damaged {
		f.note(cmd, "%s is damaged; its cell will run again", path)
	}
	all, missing := len(experiment.WithoutRepetitions(cells)), finished.Missing(cells)
	if there := all - len(missing); there > 0 {
		f.note(cmd, "%d of %d cells were already finished", there, all)
	}
	if finished.Others > 0 {
		f.note(cmd, "%s has %d results of cells that are not in the plan; they are kept", s.Dir, finished.Others)
	}
	options := experiment.Options{
		Jobs: f.jobs, Memory: resources.BudgetOf(cmd), NeighbourDir: f.neighbours.Folder(), Device: f.device.Shared(),
		Note: func(text string) { commandline.Note(cmd, f.quiet, text) },
	}
	ended := 0
	options.Finished = func(experiment.Cell, experiment.Result) error { ended++; return nil }
	if bars := progress.NewCells(cmd.ErrOrStderr(), f.quiet, len(missing)); bars != nil {
		defer bars.Finish()
		options.Progress, options.Note = bars, bars.Note
	}
	err = s.Run(cmd.Context(), missing, options)
	done := all - len(missing) + ended
	switch {
	case err == nil:
		return nil
	case experiment.Interrupted(err):
		return fmt.Errorf("interrupted: %d of %d cells are finished; the same command continues with the others", done, all)
	}
	return fmt.Errorf("%w (%d of %d cells are finished and kept)", err, done, all)
}

type sweepFlags struct {
	experimentFlags
	sweepRunFlags
	sweepReportFlags
	out      string
	dryRun   bool
	estimate bool
	resume   bool
}

func NewSweepCommand() *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep FILE|NAME",
		Short: "Run an experiment: all its cells, figures, tables and claims",
		Long: `Runs the experiment in a YAML file, or a built-in one by its name: every policy at every capacity on every
trace, from every seed. DIR, by default out/NAME, then contains the records (JSON lines, CSV, Parquet), the time of each
replay (timings.csv), the figures and report.html, with the source's claims and whether they hold. The command prints
the claims with their verdicts, or the records if the experiment has no claims.

Each finished cell is kept in DIR/cells under the hash of everything that determines it. An interrupted command
therefore continues where it stopped, and after a change of the experiment only new cells run.

A sweep that is too big for one machine can be planned, run in shares and merged: see cachesim sweep plan, run and
merge.

With --strict the exit code is 1 if a claim has another verdict than the experiment expects: usually, if it does not
hold. --format junit writes the claims as test cases for CI systems, --format github as annotations of GitHub Actions,
and adds a table to the summary of the job.`,
		Example: `  cachesim sweep classic-block --quick
  cachesim sweep experiment.yaml -o out/experiment
  cachesim sweep experiment.yaml --strict --format github
  cachesim sweep experiment.yaml --dry-run
  cachesim sweep experiment.yaml --only policy=lru,arc --set capacities=1%,5% --set seeds=3
  cachesim sweep --resume -o out/experiment`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeExperiments,
		RunE:              f.run,
	}
	f.experimentFlags.register(cmd)
	f.sweepRunFlags.register(cmd)
	f.registerAllCells(cmd)
	f.sweepReportFlags.register(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "folder for cells, records, figures and report (default out/NAME)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "list the cells, from the file alone; read no trace and write nothing")
	flags.BoolVar(&f.estimate, "estimate", false, "with --dry-run: estimate how long the cells take, from the first "+
		"requests of each trace")
	flags.BoolVar(&f.resume, "resume", false, "continue the sweep in DIR; without FILE, with the experiment stored in DIR")
	cmd.AddCommand(newSweepPlanCommand(), newSweepRunCommand(), newSweepMergeCommand(), newSweepSubmitCommand())
	return cmd
}

func (f *sweepFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.sweepRunFlags.check(); err != nil {
		return err
	}
	file, err := f.file(args)
	if err != nil {
		return err
	}
	if f.allCells {
		file.ReplayAll()
	}
	if err := cmp.Or(f.sweepReportFlags.check(file), f.refuse(f.dryRun, "--dry-run only lists cells")); err != nil {
		return err
	}
	if f.estimate && !f.dryRun {
		return errors.New("--estimate is of the cells that --dry-run lists; add --dry-run")
	}
	if f.dryRun {
		s, err := sweep.Outline(file, sweepDir(f.out, file), version.Program())
		if err != nil {
			return err
		}
		return listCells(cmd, s, f.jobs, string(f.format), f.estimate)
	}
	s, err := planSweep(cmd, file, sweepDir(f.out, file))
	if err != nil {
		return err
	}
	if err := f.device.Open(cmd, f.quiet); err != nil {
		return err
	}
	defer f.device.Close(cmd, f.quiet)
	lock, err := lockSweep(cmd, s.Dir, f.quiet)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	s, collection, err := f.sweep(cmd, s)
	if err != nil {
		return err
	}
	return f.report(cmd, s, collection, f.quiet)
}

func (f *sweepFlags) file(args []string) (*experiment.File, error) {
	switch {
	case f.resume && f.out == "" && len(args) == 0:
		return nil, fmt.Errorf("--resume: which sweep? Give its folder with -o DIR, or its experiment")
	case f.resume && len(args) == 0 && f.given():
		return nil, fmt.Errorf("--resume without FILE takes the experiment from %s as it is; give FILE, too, to change it "+
			"with --set, --only or --quick", f.out)
	case f.resume && len(args) == 0:
		return sweep.LoadFile(f.out)
	case len(args) == 0:
		return nil, fmt.Errorf("which experiment? Name a file or one of %s (cachesim reproduce --list describes "+
			"them)", suggest.List(configs.Names()))
	}
	file, err := f.load(args[0])
	if err == nil && f.resume {
		_, err = sweep.LoadFile(sweepDir(f.out, file))
	}
	return file, err
}
