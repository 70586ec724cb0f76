package recorded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/commands/resources"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/baseline"
	"github.com/cachesim/cachesim/internal/experiment/bundle"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

type checkFlags struct {
	tolerances []string
	format     commandline.Format
	update     bool
	newTraces  bool
	allow      bool // traces to change
	traceDir   string
	jobs       int
	quiet      bool
	device     resources.Device

	unpacked string // folder with the traces of a bundle
}

// NewCheckCommand returns the command check.
func NewCheckCommand() *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check BASELINE",
		Short: "Replay what a baseline recorded and report what changed",
		Long: `Replays every record of BASELINE: the records of a run, a curve or a sweep, given as a file or as the
folder that -o wrote. It compares hit ratios, byte hit ratios, misses and the other metrics cell by cell, prints what
changed, and exits with 1 if anything changed.

By default everything must be exactly as recorded. This includes policies with random choices, because the seed is
recorded. With --tolerance 0.1pp hit ratios and byte hit ratios may change by 0.1 percentage points, with 1%rel by 1% of
the recorded value. Other metrics are not compared then, except that the requests and the capacity must be the same.
Conditions before a colon limit a tolerance to some cells; the last tolerance that matches a cell applies: --tolerance
0.1pp --tolerance policy=lhd,trace=oltp.zst:0.5pp. Conditions name a trace, a policy, a capacity, a seed or an axis of
an experiment. With metric=NAME among them, the tolerance applies to that metric alone (see cachesim metrics); a
policy's counter works too: --tolerance metric=phases:1%rel.

A bundle, NAME` + bundle.Suffix + `, is what reproduce --bundle packed: its records are those of its experiments, and
its traces are found in it. Where one was not packed, the bundle says where it can be had. It is replayed as it is:
--update does not write into it.

Trace files are searched for at the path in the baseline, in --trace-dir, in the baseline's folder, in its parent
folder, and in $CACHESIM_TRACES. A trace with a different checksum is a failure of its own: its records are replayed
and compared, but fail in any case. With --allow-trace-change they are judged by their hit ratios and byte hit ratios
alone, which may change within their tolerance; requests and capacities may then change, too.

--update replaces the changed records, in every format that BASELINE contains. It changes nothing if a record cannot be
replayed. If traces, or files that parts read, were changed on purpose, --new-traces accepts them.

Exit codes: 0 if everything is as recorded or within its tolerance, or was updated; 1 if something changed, a trace has
changed (without --allow-trace-change) or a policy no longer exists; 2 for wrong usage, and if the only problem is that
traces are missing.`,
		Example: `  cachesim run trace.zst --policy lru,s3fifo,opt --capacity 1%,10% -o baseline
  cachesim check baseline
  cachesim check baseline/records.jsonl --tolerance 0.1pp --format github
  cachesim check baseline --allow-trace-change --tolerance 2pp
  cachesim check baseline --update`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.tolerances, "tolerance", nil, "how far hit ratios may change: 0.1pp (percentage points), "+
		"1%rel (of the recorded ratio) or exact; for some cells with conditions, as in policy=lhd:0.5pp; repeatable "+
		"(default exact)")
	f.format.RegisterOnly(cmd, baseline.Formats)
	flags.BoolVar(&f.update, "update", false, "rewrite the records that changed")
	flags.BoolVar(&f.newTraces, "new-traces", false, "with --update: accept traces and files of parts that have changed")
	flags.BoolVar(&f.allow, "allow-trace-change", false, "judge records whose trace has changed by the tolerance of "+
		"their hit ratios")
	flags.StringVar(&f.traceDir, "trace-dir", "", "folder to search for traces")
	flags.IntVar(&f.jobs, "jobs", 0, "replays that run at the same time (0: one per core)")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress bar and no notes")
	resources.RegisterMemory(cmd)
	f.device.Register(cmd)
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, path string) error {
	rules, err := f.check(path)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, bundle.Suffix) {
		return f.runBundle(cmd, path, rules)
	}
	recs, err := readRecords(cmd, path)
	if err != nil {
		return err
	}
	rows, err := series.ReadOf(path, recs)
	if err != nil {
		return err
	}
	without, incomplete := records.WithoutDigest(path, recs), records.Incomplete(path, recs)
	commandline.Note(cmd, f.quiet, without)
	commandline.Note(cmd, f.quiet, incomplete)
	report, err := f.compare(cmd, path, recs, rules)
	if err != nil {
		return err
	}
	if f.update {
		return f.rewrite(cmd, path, report, len(rows) > 0, without+incomplete != "")
	}
	return report.Err()
}

// compare replays records and prints what differs.
func (f *checkFlags) compare(cmd *cobra.Command, path string, recs []records.Record,
	rules []baseline.Rule) (*baseline.Report, error) {
	if err := f.device.Open(cmd, f.quiet); err != nil {
		return nil, err
	}
	defer f.device.Close(cmd, f.quiet)
	report, err := f.replay(cmd, path, recs, rules)
	if err != nil {
		return nil, err
	}
	out := cmd.OutOrStdout()
	return report, report.Print(out, string(f.format), terminal.Width(out))
}

func (f *checkFlags) replay(cmd *cobra.Command, path string, recs []records.Record,
	rules []baseline.Rule) (*baseline.Report, error) {
	var display *progress.Cells
	defer func() { display.Finish() }()
	return baseline.Check(cmd.Context(), path, recs, baseline.Options{
		Rules:     rules,
		Dirs:      f.traceDirs(path),
		Jobs:      f.jobs,
		Memory:    resources.BudgetOf(cmd),
		Device:    f.device.Shared(),
		Version:   version.Program(),
		NewTraces: f.newTraces,

		AllowTraceChange: f.allow,
		Note: func(text string) {
			if display != nil {
				display.Note(text)
			} else {
				commandline.Note(cmd, f.quiet, text)
			}
		},
		Progress: func(cells int) experiment.Progress {
			display.Finish() // of the first call: records on changed traces are replayed again after the others
			if display = progress.NewCells(cmd.ErrOrStderr(), f.quiet, cells); display == nil {
				return nil
			}
			return display
		},
	})
}

// check rejects values that are wrong for every baseline.
func (f *checkFlags) check(path string) (rules []baseline.Rule, err error) {
	switch {
	case f.jobs < 0:
		return nil, fmt.Errorf("--jobs %d: want a number of replays, or 0 for one per core", f.jobs)
	case f.newTraces && !f.update:
		return nil, errors.New("--new-traces needs --update, which writes the new checksums")
	case f.allow && f.update:
		return nil, errors.New("--allow-trace-change only compares; to accept changed traces, use --update --new-traces")
	case f.update && strings.HasSuffix(path, bundle.Suffix):
		return nil, errors.New("--update: a bundle stays as it was packed; write another with reproduce --bundle")
	case f.update && path == "-":
		return nil, errors.New("--update: cannot rewrite standard input; give the name of a file")
	}
	for _, text := range f.tolerances {
		r, err := baseline.ParseRule(text)
		if err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// traceDirs returns the folders to search for traces, in this order.
func (f *checkFlags) traceDirs(path string) (dirs []string) {
	if f.traceDir != "" {
		dirs = append(dirs, f.traceDir)
	}
	if f.unpacked != "" {
		dirs = append(dirs, f.unpacked)
	}
	folder := path
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		folder = filepath.Dir(path)
	}
	dirs = append(dirs, folder, filepath.Join(folder, ".."))
	return append(dirs, workload.Dirs("")...)
}

// rewrite updates the baseline and the series next to it, and replaces digests where that is necessary.
func (f *checkFlags) rewrite(cmd *cobra.Command, path string, report *baseline.Report, withSeries, must bool) error {
	if !report.Outdated() && !must {
		return nil
	}
	recs, err := report.Updated()
	switch {
	case err != nil && report.OnlyMissing():
		return err
	case err != nil:
		return checks.Failed(err)
	}
	if err := records.Rewrite(path, recs); err != nil {
		return err
	}
	if withSeries {
		if err := series.Write(path, report.Series()); err != nil {
			return err
		}
	}
	if !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is updated\n", path)
	}
	return nil
}
