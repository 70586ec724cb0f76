package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/experiment/report"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/interruptible"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/terminal"
)

// sweepReportFlags are the flags of the commands that produce the records of a whole sweep.
type sweepReportFlags struct {
	format formatFlag
	strict bool
}

func (f *sweepReportFlags) register(cmd *cobra.Command) {
	f.format.register(cmd)
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit with 1 if a claim does not hold")
}

// report writes figures and report into the sweep's folder and prints the result.
func (f *sweepReportFlags) report(cmd *cobra.Command, s *sweep.Sweep, c *sweep.Collection, quiet bool) error {
	summary, err := writeReport(cmd.Context(), s, c)
	if err != nil {
		return err
	}
	if err := f.print(cmd.OutOrStdout(), summary, c.Records); err != nil {
		return err
	}
	if !quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "records (JSON lines, CSV, Parquet), figures and %s are in %s; the replays took %s "+
			"in total (timings.csv)\n",
			sweep.PageName, s.Dir, replayTime(c))
	}
	return f.judge(summary)
}

// replayTime returns how long the replays took together, counting each once.
func replayTime(c *sweep.Collection) time.Duration {
	seconds := map[string]float64{}
	for _, t := range c.Timings {
		seconds[t.Cell.Hash] = t.Seconds
	}
	total := 0.0
	for _, s := range seconds {
		total += s
	}
	return time.Duration(total * float64(time.Second)).Round(10 * time.Millisecond)
}

// writeReport writes figures and report into the sweep's folder.
func writeReport(ctx context.Context, s *sweep.Sweep, c *sweep.Collection) (report.Summary, error) {
	return reporting(ctx, func() (report.Summary, error) { return report.Write(s.Dir, reportInput(s, c)) })
}

// collect turns the results in the folders into the sweep's records.
func collect(ctx context.Context, s *sweep.Sweep, dirs ...string) (*sweep.Collection, error) {
	return reporting(ctx, func() (*sweep.Collection, error) { return s.Collect(dirs...) })
}

// reporting does work after the replays, until the user stops it. Some files may be missing then, but those that exist
// are complete.
func reporting[T any](ctx context.Context, work func() (T, error)) (T, error) {
	result, err := interruptible.Call(ctx, work)
	if experiment.Interrupted(err) {
		err = errors.New("interrupted: the cells are finished, but not the report; the same command continues")
	}
	return result, err
}

// reportInput is the input of a sweep's report.
func reportInput(s *sweep.Sweep, c *sweep.Collection) report.Input {
	recs := c.Records
	if s.File.SpeaksOfTimes() {
		recs = c.Timed()
	}
	return report.Input{
		File:    s.File,
		Cells:   s.Cells,
		Records: recs,
		Series:  c.Series,
		Version: version(),
		Quick:   s.File.IsQuick(),
		Command: report.Command(s.File),
	}
}

// print prints the claims with their verdicts or, if there are none, the records.
func (f *sweepReportFlags) print(w io.Writer, summary report.Summary, recs []records.Record) error {
	if len(summary.Claims) == 0 {
		return printRecords(w, recs, string(f.format))
	}
	return f.printClaims(w, summary)
}

func (f *sweepReportFlags) printClaims(w io.Writer, summaries ...report.Summary) error {
	options := report.PrintOptions{Color: terminal.Is(w), Width: terminal.TextWidth(w)}
	return report.Print(w, summaries, string(f.format), options)
}

// judge fails if claims must hold and one does not. A claim that cannot be checked here is not a failure.
func (f *sweepReportFlags) judge(summaries ...report.Summary) error {
	failing := 0
	for _, s := range summaries {
		failing += s.Count(claims.DoesNotHold)
	}
	switch {
	case !f.strict || failing == 0:
		return nil
	case failing == 1:
		return checkFailedError{errors.New("1 claim does not hold")}
	}
	return checkFailedError{fmt.Errorf("%d claims do not hold", failing)}
}
