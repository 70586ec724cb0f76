package experiments

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/lists"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
)

type sweepPlanFlags struct {
	experimentFlags
	out   string
	quiet bool
}

func newSweepPlanCommand() *cobra.Command {
	f := &sweepPlanFlags{}
	cmd := &cobra.Command{
		Use:   "plan FILE|NAME -o DIR",
		Short: "Write the numbered cells of an experiment, to be run in shares",
		Long: `Writes the experiment, as it is after --quick, --set and --only, as DIR/experiment.yaml and its numbered cells
as DIR/plan.jsonl, with the checksums of the traces and the version of the program. cachesim sweep run DIR --shard I/N
then runs a share of them on any machine that can read DIR and the traces, and cachesim sweep merge DIR turns the
results into records, figures and report.`,
		Example: `  cachesim sweep plan classic-block -o out/block
  cachesim sweep run out/block --shard 0/2 & cachesim sweep run out/block --shard 1/2; wait
  cachesim sweep merge out/block`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeExperiments,
		RunE:              f.run,
	}
	f.experimentFlags.register(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "folder for the sweep (default out/NAME)")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no notes")
	return cmd
}

func (f *sweepPlanFlags) run(cmd *cobra.Command, args []string) error {
	file, err := f.load(args[0])
	if err != nil {
		return err
	}
	s, err := planSweep(cmd, file, sweepDir(f.out, file))
	if err != nil {
		return err
	}
	lock, err := lockSweep(cmd, s.Dir, f.quiet)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := s.Write(); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "planned %d cells in %s; run them with cachesim sweep run %s --shard I/N\n",
			len(experiment.WithoutRepetitions(s.Cells)), s.Dir, s.Dir)
	}
	return nil
}

func listCells(cmd *cobra.Command, s *sweep.Sweep, jobs int, format string) error {
	finished, err := sweep.ReadFinished(s.Cells, s.Dir)
	if err != nil {
		return err
	}
	missing := finished.Missing(s.Cells)
	cost, err := experiment.EstimateCost(cmd.Context(), missing, s.File.Dirs())
	if err != nil {
		return err
	}
	if err := lists.Cells(s.Cells, finished.Has, cost).Print(cmd.OutOrStdout(), format); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", lists.CostNote(s.Cells, missing, cost, parallel.Jobs(jobs)))
	return err
}
