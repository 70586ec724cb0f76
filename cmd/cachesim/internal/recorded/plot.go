// Package recorded has the commands that need only the records of earlier runs: they draw them again, check that they
// still hold, and compare them.
package recorded

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// NewPlotCommand returns the command plot.
func NewPlotCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "plot RECORDS",
		Short: "Draw a run's figures again from its records",
		Long: `Draws hit ratio, byte hit ratio (if sizes counted) and competitive ratio over capacity as SVG and PNG: a
line per policy, or bars if there is only one capacity, and the cost per month if the records have prices. Each trace
gets its own figures. If the folder contains series, values over time are drawn too.

RECORDS is a file of records as JSON lines, CSV or Parquet, recognised by content; a folder that run -o wrote; or - for
standard input.`,
		Example: `  cachesim run trace.zst -o out && cachesim plot out -o figures
  cachesim run trace.zst --format json | grep -v '"policy":"mru"' | cachesim plot - -o figures`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			recs, err := readRecords(cmd, args[0])
			if err != nil {
				return err
			}
			commandline.Note(cmd, false, records.WithoutDigest(args[0], recs))
			rows, err := series.ReadOf(args[0], recs)
			if err != nil {
				return err
			}
			drawn, err := plots.All(cmd.Context(), recs)
			if err != nil {
				return err
			}
			overTime, err := plots.AllOverTime(cmd.Context(), recs, rows)
			if err != nil {
				return err
			}
			costs, err := cost.Draw(cmd.Context(), cost.Recorded(recs))
			if err != nil {
				return err
			}
			return plots.Write(out, slices.Concat(drawn, overTime, costs)...)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", ".", "folder for the figures; created if it does not exist")
	return cmd
}

// readRecords reads records until the user stops it: there may be many, and standard input may never end.
func readRecords(cmd *cobra.Command, path string) ([]records.Record, error) {
	return parallel.Await(cmd.Context(), func() ([]records.Record,
		error) {
		return records.Read(path, cmd.InOrStdin())
	})
}
