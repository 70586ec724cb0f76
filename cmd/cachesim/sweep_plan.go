package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/lists"
	"github.com/cachesim/cachesim/internal/parallel"
	"github.com/cachesim/cachesim/internal/records"
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
then runs a share of them, on any machine that sees DIR and the traces, and cachesim sweep merge DIR makes records,
figures and report of the results.`,
		Example: `  cachesim sweep plan classic-block -o out/block
  cachesim sweep run out/block --shard 0/2 & cachesim sweep run out/block --shard 1/2; wait
  cachesim sweep merge out/block`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeExperiments,
		RunE:              f.run,
	}
	f.experimentFlags.register(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "folder of the sweep (default out/NAME)")
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
		fmt.Fprintf(cmd.ErrOrStderr(), "%d cells are planned in %s; run them with cachesim sweep run %s --shard I/N\n",
			len(experiment.WithoutRepetitions(s.Cells)), s.Dir, s.Dir)
	}
	return nil
}

// listedCell is a cell as --dry-run prints it.
type listedCell struct {
	experiment.CellText
	Finished bool    `json:"finished"`
	Seconds  float64 `json:"estimated_seconds"` // of its replay; 0 if it is finished
}

// listCells prints the cells of a sweep and, as a note, what those that are missing cost.
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
	cells := make([]listedCell, len(s.Cells))
	for i, c := range s.Cells {
		cells[i] = listedCell{c.Text(), finished.Has(c), cost.Cells[c.Hash]}
	}
	if err := printCells(cmd, cells, format); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", costNote(s.Cells, missing, cost, parallel.Jobs(jobs)))
	return err
}

func costNote(cells, missing []experiment.Cell, cost experiment.Cost, jobs int) string {
	all := len(experiment.WithoutRepetitions(cells))
	if len(missing) == 0 {
		return fmt.Sprintf("all %d cells are finished", all)
	}
	return fmt.Sprintf("%d of %d cells are finished; the others take about %s with %d jobs (an estimate from the first "+
		"requests of each trace)",
		all-len(missing), all, roughly(cost.Total(missing, jobs)), jobs)
}

// roughly writes a duration of seconds with two figures at most.
func roughly(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	for _, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit).String()
		}
		if d >= unit {
			return d.Round(unit / 10).String()
		}
	}
	return "a millisecond"
}

func printCells(cmd *cobra.Command, cells []listedCell, format string) error {
	if format == "json" {
		return jsonlines.Write(cmd.OutOrStdout(), cells)
	}
	t := records.NewTable()
	t.AppendHeader(table.Row{"cell", "trace", "policy", "capacity", "seed", "axes", "estimate"})
	for _, c := range cells {
		estimate := "finished"
		if !c.Finished {
			estimate = roughly(c.Seconds)
		}
		label := c.Label
		if c.Auxiliary {
			label += " (to compare with)"
		}
		t.AppendRow(table.Row{c.Number, c.Workload.Name, label, c.Capacity, strconv.FormatUint(c.Seed, 10), c.Axes, estimate})
	}
	return lists.PrintTable(cmd.OutOrStdout(), t, format)
}
