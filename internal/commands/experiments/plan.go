package experiments

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/commands/lists"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/traces/workload"
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

// listCells lists what a sweep would run. estimate says that the first requests of each trace are replayed to estimate
// how long that takes.
func listCells(cmd *cobra.Command, s *sweep.Sweep, jobs int, format string, estimate bool) error {
	finished, err := sweep.ReadFinished(s.Cells, s.Dir)
	if err != nil {
		return err
	}
	missing := finished.Missing(s.Cells)
	var cost experiment.Cost
	if estimate {
		if cost, err = experiment.EstimateCost(cmd.Context(), missing, s.File.Dirs()); err != nil {
			return err
		}
	}
	if absent := absentTraces(s); len(absent) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "no files here for the traces %s; set %s\n", suggest.List(absent), workload.Env)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", lists.CostNote(s.Cells, missing, cost, parallel.Jobs(jobs)))
	if len(s.Cells) > manyCells {
		fmt.Fprintln(cmd.ErrOrStderr(), "--only policy=lru,arc, trace=NAME or capacity=1% lists some of them")
	}
	return lists.Cells(s.Cells, finished.Has, cost).Print(cmd.OutOrStdout(), format)
}

// manyCells are more than a screen has room for.
const manyCells = 20

// absentTraces returns the names of the traces whose files are not there.
func absentTraces(s *sweep.Sweep) (names []string) {
	for _, same := range experiment.ByWorkload(experiment.WithoutRepetitions(s.Cells)) {
		w := same[0].Workload
		_, err := workload.FindAll(w.Paths(), s.File.Dirs())
		if name := same[0].TraceName(); err != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
