// Package auditing has the command audit, which compares what the log of a server says that it found with a replay.
package auditing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/billing"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Inputs are what the command shares with others that read logs: the flags of the log and of the cache.
type Inputs interface {
	Register(cmd *cobra.Command)
	// Cell returns what is replayed, and its capacity, which may be a share of the log.
	Cell(cmd *cobra.Command) (sim.Cell, capacity.Spec, capacity.Mode, error)
	Workload(cmd *cobra.Command, args []string) (workload.Workload, error)
	Load(cmd *cobra.Command, w workload.Workload, options read.Options) (*traces.Trace, error)
	// Options are those with which the log can be read once more.
	Options(cmd *cobra.Command) (read.Options, error)
	Quiet() bool
}

type flags struct {
	Inputs
	format  commandline.Format
	billing billing.Flags
	by, out string
	stats   string // a file, or a hit ratio
	fit     bool
	jobs    int

	said *audit.Outcome // what the log says, where that is not what is compared
}

// NewCommand returns the command.
func NewCommand(in Inputs) *cobra.Command {
	f := &flags{Inputs: in}
	cmd := &cobra.Command{
		Use:   "audit LOG...",
		Short: "Compare what a server says that it hit with a replay, and say what explains the gap",
		Long: `Replays the log of a server through its own settings, compares each request with what the log says that the
server found, and looks for what explains the gap: it replays with one thing changed at a time, takes what comes
nearest, and looks for what explains the rest. It tries other keys (query strings, columns in the key as by Vary),
responses that are not stored, times to live, restarts, a cache that was warm when the log began, several servers, other
settings and policies, and looks for the capacity that would have the same hit ratio.

A cause must bring the replay nearer to the server in two ways together: the hit ratio, and the share of the requests on
which both agree. So a smaller cache is not confused with another key that costs as much.

Of prompts to a language model it compares the tokens that the server found of each: with answers kept or not, models
that share, larger blocks, times to live, several servers, restarts, other rules and capacities. Without a capacity
everything has room; --fit looks for the capacity and the number of servers.

The log must say what was found: $upstream_cache_status of nginx, %{Varnish:hitmiss}x of varnishncsa, the result code of
Squid, cache-status of a CDN, status= of memcached's watch fetchers, or a column of a table (csv:served=4); of prompts,
the usage in the answers (cached_tokens). Redis does not log it: --stats names a file with what INFO said at some times
during MONITOR. Totals tell causes apart less well than requests do; the more often they are taken, the better.`,
		Example: `  cachesim audit access.log --server 'nginx(max_size=1g)'
  cachesim audit access.log --policy lru --capacity 64MiB --cost 'memory=3.20 EUR/GiB-month,miss=0.40/M'
  cachesim audit monitor.log --server 'redis(maxmemory=4gb)' --stats info.txt
  cachesim audit watch.log --server 'memcached(m=1024)' -o out
  cachesim audit log.csv --input-format csv:key=2,served=4 --capacity 10000 --by region
  cachesim audit chat-requests.jsonl --policy vllm --kv model=llama-3.1-8b --capacity 40GiB
  cachesim audit chat-requests.jsonl --policy vllm --fit`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	in.Register(cmd)
	f.format.Register(cmd)
	f.billing.RegisterPrices(cmd.Flags())
	cmd.Flags().StringVar(&f.by, "by", "", "a column that may matter: in the key, for what is stored, or as the server "+
		"that answers")
	cmd.Flags().StringVar(&f.stats, "stats", "", "what the server counts, for a log that does not say what was found: a "+
		"file with INFO of Redis, stats of memcached or varnishstat -1, once or several times one after another, or a hit "+
		"ratio such as 61.2%")
	cmd.Flags().BoolVar(&f.fit, "fit", false, "of prompts: print which capacity and number of servers explain what the "+
		"log says, with the capacities that fit as well")
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "causes that are tried at the same time (0: one per core)")
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "folder for audit.json and causes.csv")
	return cmd
}

// mostRequests is how many requests are replayed often. Of a longer log this is done for a sample of the objects.
const mostRequests = 1 << 18

func (f *flags) run(cmd *cobra.Command, args []string) error {
	s, spec, mode, err := f.setup(cmd, args)
	if err != nil {
		return err
	}
	options, err := f.Options(cmd)
	if err != nil {
		return err
	}
	options.Needs = sim.Needs([]sim.Parts{s.Cell.Parts}, capacity.NeedBytes([]capacity.Spec{spec}, mode))
	options.Clock, options.Keys = true, true
	t, s, err := f.load(cmd, s, options)
	if err != nil {
		return err
	}
	if prompts.Of(t.Kind) != nil {
		if f.stats != "" {
			return fmt.Errorf("--stats %s: the log of prompts itself must say what was found of each; remove it", f.stats)
		}
		return f.runOfPrompts(cmd, s, spec, mode, t, options)
	}
	switch {
	case f.fit:
		return fmt.Errorf("--fit is for logs of prompts, which %s is not; remove it, and audit looks for the capacity, too",
			t.Name)
	case !commandline.Changed(cmd, "capacity"):
		return errors.New("no capacity given: say what the server has, as in --server " +
			"'nginx(max_size=1g)' or --capacity 64MiB; audit then says whether that is what its log shows")
	}
	if s.Cell.Capacity, err = spec.On(t, mode); err != nil {
		return err
	}
	log := f.log(cmd, s, t, options)
	if err := cmp.Or(f.useStats(log, t), log.Check(t)); err != nil {
		return err
	}
	if f.by != "" {
		if err := log.CheckColumn(cmd.Context(), s, f.by); err != nil {
			return err
		}
	}
	bill, err := f.billing.Bill(t)
	if err != nil {
		return err
	}
	if f.billing.Asked() && bill.Misses(1, 1) == 0 {
		return errors.New("--cost: misses have no price, so that a gap costs nothing; add miss=0.40/M or egress=0.08/GB")
	}
	return f.find(cmd, s, t, log, bill)
}

// setup reads the flags.
func (f *flags) setup(cmd *cobra.Command, args []string) (s audit.Setup, spec capacity.Spec, mode capacity.Mode,
	err error) {
	if s.Cell, spec, mode, err = f.Cell(cmd); err != nil {
		return s, spec, mode, err
	}
	if err = audit.CheckPolicy(s.Cell.Policy); err != nil {
		return s, spec, mode, err
	}
	if f.jobs < 0 {
		return s, spec, mode, fmt.Errorf("--jobs %d: want a number of causes, or 0 for one per core", f.jobs)
	}
	if _, err = f.billing.Check([]capacity.Spec{spec}, mode); err == nil && f.out != "" {
		err = records.CheckDir(f.out)
	}
	if err != nil {
		return s, spec, mode, err
	}
	s.Workload, err = f.Workload(cmd, args)
	if err == nil && s.Workload.Generator != "" {
		err = fmt.Errorf("%s: a generator is no log of a server; give the log", s.Workload.Generator)
	}
	return s, spec, mode, err
}

// load reads the log, and a sample of it if it is long.
func (f *flags) load(cmd *cobra.Command, s audit.Setup, options read.Options) (*traces.Trace, audit.Setup, error) {
	t, err := f.Load(cmd, s.Workload, options)
	if err != nil || prompts.Of(t.Kind) != nil || len(t.Objects) <= mostRequests || s.Workload.SampleRate > 0 {
		return t, s, err
	}
	said := audit.Said(t)
	if f.said = &said; said.Items == 0 {
		f.said = nil
	}
	s.Workload.SampleRate = math.Ceil(1000*mostRequests/float64(len(t.Objects))) / 1000
	f.note(cmd, fmt.Sprintf("%s has %s requests, and is replayed many times: what follows is of a sample, the requests "+
		"for %s of the objects (--sample sets another)", t.Name, show.Count(int64(len(t.Objects))),
		show.Share(s.Workload.SampleRate)))
	if f.isStdin(s.Workload) { // which cannot be read again
		return t.Sample(s.Workload.SampleRate, s.Workload.SampleSeed), s, nil
	}
	t, err = f.Load(cmd, s.Workload, options)
	return t, s, err
}

func (f *flags) isStdin(w workload.Workload) bool { return slices.Contains(w.Files, "-") }

func (f *flags) note(cmd *cobra.Command, text string) { commandline.Note(cmd, f.Quiet(), text) }

// log returns the log, which was read once.
func (f *flags) log(cmd *cobra.Command, s audit.Setup, t *traces.Trace, options read.Options) *audit.Log {
	known := s.Workload.Key()
	if f.isStdin(s.Workload) {
		f.note(cmd, "standard input is read once, so that other keys and columns are not tried; give a file")
	}
	return &audit.Log{Load: func(ctx context.Context, w workload.Workload) (*traces.Trace, error) {
		switch {
		case w.Key() == known:
			return t, nil
		case f.isStdin(w):
			return nil, errors.New("standard input cannot be read again; give a file")
		}
		return w.Load(ctx, workload.Dirs(""), options)
	}}
}

// useStats reads --stats.
func (f *flags) useStats(log *audit.Log, t *traces.Trace) error {
	if f.stats == "" {
		return nil
	}
	totals, err := audit.RatioTotals(f.stats)
	if err != nil {
		return fmt.Errorf("--stats %w", err)
	}
	if totals == nil {
		file, err := filestate.Open(f.stats)
		if err != nil {
			return fmt.Errorf("--stats: %w", err)
		}
		defer file.Close()
		if totals, err = audit.ReadTotals(file, f.stats, t); err != nil {
			return fmt.Errorf("--stats: %w", err)
		}
	}
	if said := audit.Said(t); said.Items > 0 {
		f.said = &said
	}
	log.UseTotals(totals)
	return nil
}

// find looks for causes, and reports them.
func (f *flags) find(cmd *cobra.Command, s audit.Setup, t *traces.Trace, log *audit.Log, bill cost.Bill) error {
	bar := progress.New(cmd.ErrOrStderr(), f.Quiet(), "replaying", progress.Searches)
	finding, err := audit.Find(cmd.Context(), s, log.Causes(s, t, f.by), log.Replay, audit.Options{Jobs: f.jobs,
		Done: func(done int) { bar.Set(int64(done), 0) }})
	bar.Finish()
	if err != nil {
		return err
	}
	finding.Replays = log.Replays()
	words := audit.Words{Units: "requests", Settings: fmt.Sprintf("%s at %s", s.Cell.Policy,
		show.Capacity(s.Cell.Capacity.Amount, s.Cell.Capacity.Unit())), Log: f.said, Totals: f.stats}
	if f.said == nil {
		words.Whole = t.SampledFrom
	}
	if f.stats == "" {
		words.Few = show.Counted(finding.Stated.Items, "request") + " are too few to tell causes apart"
	}
	money := f.money(bill, t, &words)
	report := finding.Report(words, money)
	report.Trace, report.SampleRate, report.Version = t.Name, t.SampleRate, version.Program()
	return cmp.Or(f.print(cmd.OutOrStdout(), report, money != nil), f.write(cmd, report))
}

// money returns what a share of the requests costs in a month as misses; nil without prices.
func (f *flags) money(bill cost.Bill, t *traces.Trace, words *audit.Words) func(share float64) float64 {
	if !f.billing.Asked() {
		return nil
	}
	of := func(share float64) float64 { return bill.Misses(share, meanSize(t)) }
	words.Money = func(points float64) string {
		x := of(math.Abs(points) / 100)
		if points > 0 {
			return "saves " + bill.Amount(x) + " a month"
		}
		return "would save " + bill.Amount(x) + " a month"
	}
	return func(share float64) float64 { return -of(share) }
}

func meanSize(t *traces.Trace) float64 {
	if !t.HasSizes() {
		return 0
	}
	sum := 0.0
	for pos := range t.Objects {
		sum += float64(t.Size(pos))
	}
	return sum / float64(len(t.Objects))
}

// print prints a report: the sentence that a person would say, then what was tried.
func (f *flags) print(w io.Writer, r audit.Report, priced bool) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return printTable(w, r, format, priced) },
		CSV:   tabular.EachCSV(r.Causes),
		JSON:  tabular.OneJSON(r),
	}.Print(w, string(f.format))
}

func printTable(w io.Writer, r audit.Report, format string, priced bool) error {
	width := terminal.Width(w)
	for _, sentence := range r.Sentences {
		if _, err := fmt.Fprintln(w, terminal.Wrapped(sentence, width)); err != nil {
			return err
		}
	}
	table, left := r.Table(priced)
	if len(table.Rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", table.In(format, width)); err != nil {
		return err
	}
	lines := []string{"hit ratio, points and agrees: of a replay with this cause alone, how much of the gap it closes, " +
		"and on how many of the " + r.Units + " it agrees with the server; explains: after the causes above it"}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("%s explain less, or make it worse; --format json has all", show.Counted(left,
			"more cause")))
	}
	return tabular.PrintLines(w, format == "markdown", width, lines)
}

// write writes a report into the output folder.
func (f *flags) write(cmd *cobra.Command, r audit.Report) error {
	if f.out == "" {
		return nil
	}
	if err := atomicfile.MakeFolder(f.out); err != nil {
		return err
	}
	return cmp.Or(atomicfile.Write(cmd.Context(), filepath.Join(f.out, "audit.json"), tabular.OneJSON(r)),
		atomicfile.Write(cmd.Context(), filepath.Join(f.out, "causes.csv"), tabular.EachCSV(r.Causes)))
}
