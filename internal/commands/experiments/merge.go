package experiments

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
)

type sweepMergeFlags struct {
	sweepReportFlags
	quiet bool
}

func newSweepMergeCommand() *cobra.Command {
	f := &sweepMergeFlags{}
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Write records, figures and report of a sweep that was run in shares",
		Long: `Collects the results of all cells into records, figures and report.html in DIR. These are the same, byte for
byte, as cachesim sweep on one machine writes. If the machines share no folder, name the folders of all machines: each
has a copy of the plan, and the first folder gets the records.

If cells are missing they are listed, nothing is written, and the exit code is 1. It is an error if two results of the
same cell differ in more than their times.`,
		Example: `  cachesim sweep merge out/block
  cachesim sweep merge out/block /mnt/other/block`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.run,
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no notes")
	return cmd
}

func (f *sweepMergeFlags) run(cmd *cobra.Command, dirs []string) error {
	lock, err := shareSweep(cmd, dirs[0], f.quiet)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	s, err := sweep.OpenAll(dirs)
	if err != nil {
		return err
	}
	if err := cmp.Or(s.Check(version.Program()), f.check(s.File)); err != nil {
		return err
	}
	collection, err := collect(cmd.Context(), s, dirs...)
	if errors.As(err, new(*sweep.MissingCellsError)) {
		return checks.Failed(err)
	}
	if err != nil {
		return err
	}
	return f.report(cmd, s, collection, f.quiet)
}
