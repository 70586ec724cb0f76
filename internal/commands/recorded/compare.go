package recorded

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/experiment/baseline"
	"github.com/cachesim/cachesim/internal/experiment/compare"
)

type compareFlags struct {
	options    compare.Options
	tolerances []string
	format     commandline.Format
	out        string
	quiet      bool
	figures    commandline.Figures
}

// NewCompareCommand returns the command compare.
func NewCompareCommand() *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare OLD [NEW...]",
		Short: "Compare the results of runs, also with those of other simulators",
		Long: `Compares each NEW run with OLD, cell by cell: a cell is a policy at a capacity on a trace, and everything
else that was replayed alike. Pairs of one trace and one seed give differences; their mean has a 95% interval over
traces or, on a single trace, over seeds. A difference within its interval is a tie (~). The last columns have the
geometric mean of the ratios of the miss ratios, and how many cells were won, lost and tied. Results without a partner
are listed, and different traces of one name are refused.

With --against fifo, the policies of each run are compared with a baseline policy: by how much they reduce its miss
ratio, as the mean and the percentiles over traces, for each capacity. That needs only one run.

A run is a file of records (JSON lines, CSV or Parquet), a folder that -o wrote, or a folder of such files and folders;
- is standard input. The lines that libCacheSim prints, the CSV reports of Caffeine's simulator and other CSV with a
column policy are recognised, too, and their policies get our names where we have them. What a file does not say is an
option behind its name: caffeine.csv:trace=oltp,capacity=1000. The option name=TEXT names a run in tables.

With --tolerance, a cell that moved further fails, unless it is a tie: the exit code is 1. Formats junit and github tell
CI systems.

Exit codes: 0, 1 if a cell moved by more than --tolerance, 2 for wrong usage.`,
		Example: `  cachesim compare old new
  cachesim compare old new --tolerance 0.1pp --fail-if worse --format junit
  cachesim compare results --against fifo -o figures
  cachesim compare results --against fifo --highlight s3fifo --figure width=3.3in,font=8pt,format=pdf -o figures
  cachesim compare out 'hit_rate_1000.csv:trace=oltp.zst,name=Caffeine'
  cachesim compare out libcachesim/result --only policy=lru,s3fifo
  cachesim compare plain prefetched --ignore prefetcher`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	o := &f.options
	flags.StringVar(&o.Metric, "metric", "hit_ratio", "metric to compare (see cachesim metrics)")
	flags.StringVar(&o.Against, "against", "", "compare policies with this one, over traces: fifo, lru, ...")
	flags.BoolVar(&o.Symmetric, "symmetric", false, "with --against: where a policy misses more than the baseline, as a "+
		"share of its own misses, so that no reduction is below -100%")
	flags.StringSliceVar(&o.Rows, "rows", nil, "dimensions that make rows: policy, capacity, trace and axes of "+
		"experiments (default capacity, policy and axes); the others are averaged")
	flags.StringArrayVar(&o.Only, "only", nil, "compare only these results, as in policy=lru,arc, trace=oltp, "+
		"capacity=1%, or an axis; repeatable: all conditions must hold")
	flags.StringSliceVar(&o.Ignore, "ignore", nil, "properties in which cells of different runs may differ: prefetcher, "+
		"policy, capacity, warmup, ...")
	flags.StringArrayVar(&f.tolerances, "tolerance", nil, "exit with 1 if a cell moved further: 0.1pp (percentage "+
		"points), 1%rel (of the old value) or exact; for some cells with conditions, as in policy=lhd:0.5pp; repeatable")
	flags.StringVar(&o.Gate.FailIf, "fail-if", "", "what fails: moved (in either direction, the default with "+
		"--tolerance) or worse; without --tolerance by any amount")
	flags.BoolVar(&o.AllowTraceChange, "allow-trace-change", false, "compare results on different traces of one name")
	f.format.RegisterOnly(cmd, compare.Formats)
	flags.StringVarP(&f.out, "output", "o", "", "folder for tables and figures; created if it does not exist")
	f.figures.Register(flags)
	flags.BoolVar(&f.quiet, "quiet", false, "no notes")
	_ = cmd.RegisterFlagCompletionFunc("fail-if", cobra.FixedCompletions(compare.FailIfs,
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	sources, err := f.check(args)
	if err != nil {
		return err
	}
	c, err := parallel.Await(cmd.Context(), func() (*compare.Comparison, error) { return f.compare(cmd, sources) })
	if err != nil {
		return err
	}
	for _, text := range c.Notes {
		commandline.Note(cmd, f.quiet, show.Printable(text))
	}
	if f.out != "" {
		if err := c.Write(f.out, f.figures.Options); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	if err := c.Print(out, string(f.format), terminal.Width(out)); err != nil {
		return err
	}
	return c.Err()
}

// check rejects what is wrong whatever the runs contain.
func (f *compareFlags) check(args []string) (sources []compare.Source, err error) {
	if err := f.figures.Check(f.out); err != nil {
		return nil, err
	}
	gate := &f.options.Gate
	for _, text := range f.tolerances {
		rule, err := baseline.ParseRule(text)
		if err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
		gate.Rules = append(gate.Rules, rule)
	}
	switch {
	case gate.FailIf != "" && !slices.Contains(compare.FailIfs, gate.FailIf):
		return nil, fmt.Errorf("--fail-if: %w", suggest.Unknown("condition", gate.FailIf, compare.FailIfs))
	case gate.FailIf == "" && len(gate.Rules) > 0:
		gate.FailIf = compare.FailIfMoved
	}
	switch {
	case gate.FailIf != "" && len(args) < 2:
		return nil, errors.New("--tolerance and --fail-if compare two runs; only one is given")
	case f.options.Symmetric && f.options.Against == "":
		return nil, errors.New("--symmetric needs --against POLICY, whose reductions it defines")
	}
	if err := gate.CheckFormat(string(f.format), commandline.Formats); err != nil {
		return nil, err
	}
	stdin := 0
	for _, text := range args {
		s, err := compare.ParseSource(text)
		if err != nil {
			return nil, err
		}
		if s.Path == "-" {
			stdin++
		}
		sources = append(sources, s)
	}
	if stdin > 1 {
		return nil, errors.New("standard input (-) can be one of the runs only")
	}
	return sources, nil
}

func (f *compareFlags) compare(cmd *cobra.Command, sources []compare.Source) (*compare.Comparison, error) {
	var runs []*compare.Run
	for _, s := range sources {
		r, err := compare.Open(s, cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return compare.Compare(runs, f.options)
}
