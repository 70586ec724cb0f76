package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/commands/resources"
	"github.com/cachesim/cachesim/internal/sim/neighbours"
	"github.com/cachesim/cachesim/internal/similarity/overlap"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

type joinFlags struct {
	trace      traceFlags
	format     commandline.Format
	neighbours resources.Neighbours
	device     resources.Device
	taus       string
	nearest    int
	jobs       int
	out        string
}

func newJoinCommand() *cobra.Command {
	f := &joinFlags{}
	cmd := &cobra.Command{
		Use:   "join TRACE...",
		Short: "Find which queries of a trace are similar, and how many requests that could answer",
		Long: `Compares every query of a trace with every other by the cosine similarity of their embeddings and prints
a row for each threshold in --tau: the number of pairs that are at least that similar, the mean and largest number of
similar queries (neighbours) per query, the share of queries without neighbours, and the share of requests that follow a
request for the same or a similar query. This share is an upper bound on the hit ratio of every policy with the cache
semantic(tau=...).

The search is exact: results do not depend on the machine or the number of cores. Many thresholds take no longer than
the lowest of them alone. The result is kept in the folder given by --neighbours, where cachesim run finds it too.

With -o the pairs with a similarity of at least the lowest threshold are written as CSV with the columns first, second
(ids of queries) and similarity.

With --nearest K the command instead finds the K most similar other queries for each query, however similar they are;
ties go to the query that comes first in the trace. It prints how similar the nearest, the second and so on are, as
quantiles over all queries, which helps to choose a threshold. With -o the lists are written as CSV with the columns
query, rank, nearest and similarity. They are not kept for later runs.`,
		Example: `  cachesim join queries.jsonl.zst
  cachesim join queries.jsonl.zst --tau 0.7,0.8,0.9 --format json
  cachesim join qqp-duplicate-pairs.json.gz --embeddings 'lexical(dim=768)'
  cachesim join queries.jsonl.zst --tau 0.95 -o duplicates.csv
  cachesim join queries.jsonl.zst --nearest 10 -o nearest.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.run,
	}
	f.trace.register(cmd)
	f.trace.registerEmbeddings(cmd)
	f.format.Register(cmd)
	f.neighbours.Register(cmd)
	f.device.Register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.taus, "tau", "0.6,0.7,0.85,0.95", "list of thresholds, each from -1 to 1")
	flags.IntVar(&f.nearest, "nearest", 0, "find this many of the most similar other queries for each query, instead "+
		"of all from a threshold on")
	flags.IntVar(&f.jobs, "jobs", 0, "cores to use (0: all)")
	flags.StringVarP(&f.out, "output", "o", "", "output file for the similar pairs or the nearest queries, as CSV")
	return cmd
}

func (f *joinFlags) run(cmd *cobra.Command, args []string) error {
	taus, err := overlap.ParseThresholds("--tau", f.taus)
	if err != nil {
		return err
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	w, err := f.trace.workload(cmd, args)
	if err != nil {
		return err
	}
	if err := f.checkOutput(cmd.Context(), w); err != nil {
		return err
	}
	if err := f.device.Open(cmd, f.trace.quiet); err != nil {
		return err
	}
	defer f.device.Close(cmd, f.trace.quiet)
	needs := traces.Needs{Embeddings: true, Keys: f.out != ""}
	t, _, err := f.trace.load(cmd, w, read.Options{Needs: needs}, false)
	if err != nil {
		return err
	}
	bar, options := f.options(cmd, w)
	write, err := f.compare(cmd, t, taus, bar, options)
	if err != nil || f.out == "" {
		return err
	}
	return atomicfile.Write(cmd.Context(), f.out, write)
}

// compare prints the pairs of similar queries or, with --nearest, how similar the nearest of each are. It returns what
// writes them.
func (f *joinFlags) compare(cmd *cobra.Command, t *traces.Trace, taus []float64, bar *progress.Bar,
	options neighbours.Options) (write func(io.Writer) error, err error) {
	start := time.Now()
	if f.nearest == 0 {
		neighbours, err := neighbours.Find(cmd.Context(), t, slices.Min(taus), options)
		bar.Finish()
		if err != nil {
			return nil, err
		}
		rows := overlap.Measure(t, neighbours, taus, time.Since(start))
		return func(w io.Writer) error { return overlap.WritePairs(w, t, neighbours, float32(slices.Min(taus))) },
			overlap.Print(cmd.OutOrStdout(), rows, string(f.format))
	}
	nearest, err := neighbours.Nearest(cmd.Context(), t, f.nearest, options)
	bar.Finish()
	if err != nil {
		return nil, err
	}
	rows, err := overlap.MeasureNearest(t, nearest, time.Since(start))
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return overlap.WriteNearest(w, t, nearest) },
		overlap.Print(cmd.OutOrStdout(), rows, string(f.format))
}

func (f *joinFlags) check(cmd *cobra.Command) error {
	if changed := cmd.Flags().Changed; changed("nearest") {
		if err := overlap.CheckNearest("--nearest", f.nearest); err != nil {
			return err
		}
		if changed("tau") || changed("neighbours") {
			return errors.New("--nearest with --tau or --neighbours: the nearest queries have no threshold and are not " +
				"stored; remove the others")
		}
	}
	if f.jobs < 0 {
		return fmt.Errorf("--jobs %d: want a number of cores, or 0 for all", f.jobs)
	}
	return f.neighbours.Check()
}

// checkOutput rejects an output file that cannot be written or that is an input.
func (f *joinFlags) checkOutput(ctx context.Context, w workload.Workload) error {
	if f.out == "" {
		return nil
	}
	in, err := findAll(w.Paths())
	if err != nil {
		return err
	}
	if err := checkNotInput(in, f.out); err != nil {
		return err
	}
	out, err := atomicfile.Create(ctx, f.out)
	if err != nil {
		return err
	}
	out.Abort()
	return nil
}

// options returns how queries are compared, with a bar that the caller finishes.
func (f *joinFlags) options(cmd *cobra.Command, w workload.Workload) (*progress.Bar, neighbours.Options) {
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "comparing queries", progress.Pairs)
	options := f.neighbours.Options(w, f.jobs, bar)
	options.Device = f.device.Shared()
	options.Comparing = func() (func(done, total int64), func()) { return bar.Set, func() {} }
	return bar, options
}
