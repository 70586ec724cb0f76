// Package recorded has the commands that need only the records of earlier runs: they draw them again, check that they
// still hold, and compare them.
package recorded

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// NewPlotCommand returns the command plot.
func NewPlotCommand() *cobra.Command {
	var out string
	var figures commandline.Figures
	cmd := &cobra.Command{
		Use:   "plot RECORDS",
		Short: "Draw a run's figures again from its records",
		Long: `Draws hit ratio, byte hit ratio (if sizes counted) and competitive ratio over capacity as SVG and PNG: a
line per policy, or bars if there is only one capacity, the cost per month if the records have prices, and how long
objects live if they were followed (run --lives). Each trace gets its own figures. Of several caches a figure has a line
for each policy in each cache or, if these are more than eight, a panel for each cache. If the folder contains series,
values over time are drawn too.

--figure and --highlight make figures for papers: of the width of a column, in its letters, with one policy above the
others.

RECORDS is a file of records as JSON lines, CSV or Parquet, recognised by content; a folder that run -o wrote; or - for
standard input.`,
		Example: `  cachesim run trace.zst -o out && cachesim plot out -o figures
  cachesim plot out -o paper --highlight s3fifo --figure width=3.3in,font=8pt,title=off,format=pdf+tex
  cachesim run trace.zst --format json | grep -v '"policy":"mru"' | cachesim plot - -o figures`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := figures.Check(out); err != nil {
				return err
			}
			recs, err := readRecords(cmd, args[0])
			if err != nil {
				return err
			}
			if err := figures.CheckNames(recs); err != nil {
				return err
			}
			commandline.Note(cmd, false, records.WithoutDigest(args[0], recs))
			rows, err := series.ReadOf(args[0], recs)
			if err != nil {
				return err
			}
			drawn, err := plots.All(cmd.Context(), recs, figures.Options)
			if err != nil {
				return err
			}
			overTime, err := plots.AllOverTime(cmd.Context(), recs, rows, figures.Options)
			if err != nil {
				return err
			}
			costs, err := cost.Draw(cmd.Context(), cost.Recorded(recs), figures.Options)
			if err != nil {
				return err
			}
			return plots.Write(out, slices.Concat(drawn, overTime, costs)...)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", ".", "folder for the figures; created if it does not exist")
	figures.Register(cmd.Flags())
	return cmd
}

// readRecords reads records until the user stops it: there may be many, and standard input may never end.
func readRecords(cmd *cobra.Command, path string) ([]records.Record, error) {
	return parallel.Await(cmd.Context(), func() ([]records.Record,
		error) {
		return records.Read(path, cmd.InOrStdin())
	})
}
