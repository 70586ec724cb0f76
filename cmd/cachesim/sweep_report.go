package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/report"
)

// sweepReportFlags are the flags of the commands that end with the records of a whole sweep.
type sweepReportFlags struct {
	format formatFlag
	strict bool
}

func (f *sweepReportFlags) register(cmd *cobra.Command) {
	f.format.register(cmd)
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit with 1 if a claim does not hold")
}

// report writes figures and report into the folder of the sweep and prints its records.
func (f *sweepReportFlags) report(cmd *cobra.Command, s *experiment.Sweep, c *experiment.Collection, quiet bool) error {
	_, err := report.Write(s.Dir, report.Input{
		File: s.File, Cells: s.Cells, Records: c.Records, Version: version(), Quick: isQuick(s.File), Command: sweepCommand(s.File),
	})
	if err != nil {
		return err
	}
	if err := printRecords(cmd.OutOrStdout(), c.Records, string(f.format)); err != nil {
		return err
	}
	if !quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "records (JSON lines, CSV, Parquet), timings, figures and %s are in %s\n", report.PageName, s.Dir)
	}
	return nil
}

// quickChange is what an experiment says of itself once --quick has made it smaller.
const quickChange = "--quick"

func isQuick(file *experiment.File) bool { return slices.Contains(file.Changes, quickChange) }

// sweepCommand returns what makes the same sweep again, wherever it was made.
func sweepCommand(file *experiment.File) string {
	name := file.Name
	if !slices.Contains(configs.Names(), name) {
		name += ".yaml"
	}
	words := append([]string{"cachesim sweep", name}, file.Changes...)
	for _, only := range file.Only {
		words = append(words, "--only "+only)
	}
	return strings.Join(words, " ")
}
