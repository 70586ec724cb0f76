package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/experiment/report"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
)

type sweepReportFlags struct {
	format  commandline.Format
	strict  bool
	verbose bool
	figures commandline.Figures
	pin     string // folder
	why     string
}

func (f *sweepReportFlags) register(cmd *cobra.Command) {
	f.format.Register(cmd, checks.Formats...)
	cmd.Flags().BoolVar(&f.strict, "strict", false,
		"exit with 1 if a claim has another verdict than expected, usually if it is refuted, or a value left its pin")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print every claim with what was measured and stated, "+
		"also if that takes more than one screen")
	f.figures.Register(cmd.Flags())
	cmd.Flags().StringVar(&f.pin, "pin", "", "write what the claims measured into NAME"+configs.PinsSuffix+
		" in this `folder`; runs with --strict are held to it, both ways")
	cmd.Flags().StringVar(&f.why, "why", "", "why pins move, for --pin: a sentence that the file keeps")
}

func (f *sweepReportFlags) report(cmd *cobra.Command, s *sweep.Sweep, c *sweep.Collection, quiet bool) error {
	summary, err := f.write(cmd.Context(), s, c)
	if err != nil {
		return err
	}
	if err := f.print(cmd.OutOrStdout(), s.Dir, summary, c.Records); err != nil {
		return err
	}
	if !quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "records (JSON lines, CSV, Parquet), figures and %s are in %s; the replays took %s "+
			"in total (timings.csv)\n",
			sweep.PageName, s.Dir, c.ReplayTime())
	}
	return f.judge(cmd, summary)
}

func (f *sweepReportFlags) write(ctx context.Context, s *sweep.Sweep, c *sweep.Collection) (report.Summary, error) {
	return reporting(ctx, func() (report.Summary, error) {
		in := report.InputOf(s, c, version.Program())
		in.Figures = f.figures.Options
		return report.Write(s.Dir, in)
	})
}

// collect turns the results in the folders into the sweep's records.
func collect(ctx context.Context, s *sweep.Sweep, dirs ...string) (*sweep.Collection, error) {
	return reporting(ctx, func() (*sweep.Collection, error) { return s.Collect(dirs...) })
}

// reporting does work after the replays, until the user stops it. Some files may be missing then, but those that exist
// are complete.
func reporting[T any](ctx context.Context, work func() (T, error)) (T, error) {
	result, err := parallel.Await(ctx, work)
	if experiment.Interrupted(err) {
		err = errors.New("interrupted: the cells are finished, but not the report; the same command continues")
	}
	return result, err
}

func (f *sweepReportFlags) print(w io.Writer, dir string, summary report.Summary, recs []records.Record) error {
	if len(summary.Claims) == 0 {
		return commandline.PrintRecords(w, recs, string(f.format))
	}
	return f.printClaims(w, filepath.Join(dir, sweep.PageName), summary)
}

func (f *sweepReportFlags) printClaims(w io.Writer, written string, summaries ...report.Summary) error {
	options := report.PrintOptions{Color: terminal.Is(w), Width: terminal.TextWidth(w)}
	if !f.verbose {
		options.Written = written
	}
	return report.Print(w, summaries, string(f.format), options)
}

// writePins writes the pins of experiments that ran.
func (f *sweepReportFlags) writePins(cmd *cobra.Command, summaries []report.Summary) error {
	for i := range summaries {
		s := &summaries[i]
		if s.Failure != "" {
			continue
		}
		path, err := s.Pin(cmd.Context(), f.pin, version.Program(), time.Now().Format(time.DateOnly), f.why)
		if err != nil {
			return err
		}
		s.Moved = nil
		fmt.Fprintf(cmd.ErrOrStderr(), "%s has the pins of %s\n", path, s.Name)
	}
	return nil
}

// judge warns of claims that say nothing, and fails if claims must hold and one does not.
func (f *sweepReportFlags) judge(cmd *cobra.Command, summaries ...report.Summary) error {
	if f.pin != "" {
		if err := f.writePins(cmd, summaries); err != nil {
			return err
		}
	}
	for _, s := range summaries {
		for _, warning := range s.CannotFail() {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s: %s\n", s.Name, warning)
		}
	}
	if !f.strict {
		return nil
	}
	return report.Judge(summaries...)
}

func (f *sweepReportFlags) check(file *experiment.File) error {
	return cmp.Or(f.refuse(len(file.Claims) == 0, file.Name+" has none"), f.checkPins(file), f.checkFigures(file))
}

// checkPins refuses pins where there is nothing to pin.
func (f *sweepReportFlags) checkPins(files ...*experiment.File) error {
	if f.pin == "" {
		if f.why != "" {
			return errors.New("--why is the reason for pins that move; add --pin FOLDER")
		}
		return nil
	}
	if s, err := os.Stat(f.pin); err != nil || !s.IsDir() {
		return fmt.Errorf("--pin %s: is no folder that exists; want that of the files of the experiments", f.pin)
	}
	for _, file := range files {
		switch {
		case file.IsChanged():
			return fmt.Errorf("--pin: %s is changed by %s; pins are those of the experiment as it is in its file", file.Name,
				strings.Join(append(slices.Clone(file.Changes), file.Only...), ", "))
		case len(file.Claims) == 0:
			return fmt.Errorf("--pin: %s has no claims, and so nothing to pin", file.Name)
		}
	}
	return nil
}

// checkFigures reads the flags about figures. A policy to highlight must be in one of the experiments.
func (f *sweepReportFlags) checkFigures(files ...*experiment.File) error {
	if err := f.figures.Check("the folder of the experiment"); err != nil {
		return err
	}
	var recs []records.Record
	for _, file := range files {
		for _, p := range file.Policies {
			name, _, _ := strings.Cut(p.Policy, "(")
			recs = append(recs, records.Record{Policy: name, Label: p.Label()})
		}
		recs = append(recs, records.Record{Policy: records.ReferencePolicy(), Label: records.ReferencePolicy()})
	}
	return f.figures.CheckNames(recs)
}

// refuse refuses a format for claims under a condition, and says why.
func (f *sweepReportFlags) refuse(condition bool, why string) error {
	return checks.CheckFormat(string(f.format), !condition, "says which claims hold, and "+why+";", commandline.Formats)
}
