package commands

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/explain"
	"github.com/cachesim/cachesim/internal/traces/read"
)

type explainFlags struct {
	trace    traceFlags
	capacity capacityFlags
	format   commandline.Format
	policy   string
	parts    partFlags
	explain  explain.Options
	streams  bool
	keys     []string
}

func newExplainCommand() *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain TRACE...",
		Short: "Show request by request what a policy does: which requests hit, and which objects are evicted",
		Long: `Replays the trace under one policy at one capacity and prints a row for each request: whether it hit, and
on which entry if not on its own; whether a missed object was loaded; which objects were evicted for it; and, of a
cache that prefetches, which were loaded ahead of their requests.

Use it for examples in a paper, for a first look at your own policy, and to find the request at which two policies
diverge. --from and --to choose the requests to print; all requests before them are replayed too.

With --key it answers why the requests for a key missed: a line for each miss says when and for which object it was
evicted, or that it expired, was deleted, was not loaded or is requested for the first time. Several keys are followed
in one replay.

With --admit an admission decides which missed objects the cache loads, as in run; what it keeps out is named.

With --streams it prints what the cache igtcache thinks of each directory and file instead: the pattern, the test that
led to it, and the share of the capacity.`,
		Example: `  cachesim explain trace.csv --policy arc --capacity 10 --to 100
  cachesim explain access.log --bytes --capacity 1% --key /logo.png
  cachesim explain access.log --bytes --capacity 1% --admit second --key /logo.png
  cachesim explain rac-example --cache 'semantic(match=identity)' --policy rac --capacity 6
  cachesim explain reads.csv --bytes --cache igtcache --streams
  cachesim explain trace.zst --policy s3fifo --format json | jq -c 'select(.loaded == false and .hit == false)'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.registerCell(cmd)
	f.trace.registerKV(cmd)
	f.trace.registerEmbeddings(cmd)
	f.format.Register(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.explain.From, "from", 0, "position of the first request to print; the first of the trace is 0")
	flags.IntVar(&f.explain.To, "to", 0, "position at which to stop, exclusive (0: the end of the trace)")
	flags.BoolVar(&f.streams, "streams", false, "print instead how each directory and file is read, and its share of the "+
		"cache, at the end or at --to: for caches that divide it among streams of accesses")
	flags.StringArrayVar(&f.keys, "key", nil, "print instead why the requests for this key missed; may be repeated")
	return cmd
}

// registerCell adds the flags of a log, and of one cell.
func (f *explainFlags) registerCell(cmd *cobra.Command) {
	f.trace.register(cmd)
	f.trace.registerWrites(cmd)
	f.trace.registerSizes(cmd)
	f.capacity.register(cmd, "1%")
	cmd.Flags().StringVar(&f.policy, "policy", "lru", "the policy, with parameters as in 's3fifo(small=0.1)'")
	f.parts.register(cmd, ofOne, sim.CacheKind, sim.PredictorKind, sim.AdmissionKind)
	completePolicies(cmd)
}

func (f *explainFlags) run(cmd *cobra.Command, args []string) error {
	cell, capacities, mode, err := f.cell(cmd)
	if err != nil {
		return err
	}
	if !f.streams {
		if err := sim.CheckExplain(cell); err != nil { // before the trace is read and described
			return err
		}
	}
	w, err := f.trace.workload(cmd, args)
	if err != nil {
		return err
	}
	needs := sim.Needs([]sim.Parts{cell.Parts}, capacity.NeedBytes(capacities, mode))
	needs.Keys, needs.Clock = true, needs.Clock || len(f.keys) > 0
	t, _, err := f.trace.load(cmd, w, read.Options{Needs: needs}, false)
	if err != nil {
		return err
	}
	if f.explain.From >= len(t.Objects) {
		return fmt.Errorf("--from %d: the trace has %d requests, numbered from 0", f.explain.From, len(t.Objects))
	}
	resolved, err := capacity.Resolve(capacities, mode, t)
	if err != nil {
		return err
	}
	cell.Capacity = resolved[0]
	f.explain.Format = string(f.format)
	options := sim.ReplayerOptions{Note: func(text string) { commandline.Note(cmd, f.trace.quiet, text) }}
	if text := explain.SampleNote(t); text != "" {
		options.Note(text)
	}
	if f.streams {
		return explain.PrintStreams(cmd.Context(), cmd.OutOrStdout(), t, cell, options, f.explain)
	}
	if len(f.keys) > 0 {
		return explain.PrintWhy(cmd.Context(), cmd.OutOrStdout(), t, cell, options, f.explain, f.keys...)
	}
	if rows := len(t.Objects) - f.explain.From; f.explain.To == 0 && rows > manyRows && terminal.Is(cmd.OutOrStdout()) {
		options.Note(fmt.Sprintf("%s: --to %d ends sooner, --key NAME says why one misses",
			show.Counted(rows, "request"), f.explain.From+manyRows))
	}
	return explain.Print(cmd.Context(), cmd.OutOrStdout(), t, cell, options, f.explain)
}

// manyRows are more requests than a screen has room for.
const manyRows = 20

// cell reads the flags. It leaves the capacity open until the trace is known.
func (f *explainFlags) cell(cmd *cobra.Command) (c sim.Cell, capacities []capacity.Spec, mode capacity.Mode,
	err error) {
	c.Seed = f.trace.seed
	if c.Policy, err = policies.Registry.Parse(f.policy); err != nil {
		err = cmp.Or(commandline.SeveralPolicies(f.policy), err)
		return c, nil, mode, err
	}
	if err := f.parts.single(&c.Parts); err != nil {
		return c, nil, mode, err
	}
	capacities, mode, err = f.capacity.parse(&f.trace)
	switch {
	case err != nil:
	case len(capacities) != 1:
		err = fmt.Errorf("--capacity %s: want one capacity", f.capacity.list)
	case slices.Contains(f.keys, ""):
		err = errors.New("--key is empty; want a key of the trace")
	case f.streams && len(f.keys) > 0:
		err = fmt.Errorf("--streams prints streams of many keys; remove it, or --key %s", f.keys[0])
	case f.streams && f.explain.From != 0:
		err = fmt.Errorf("--from %d: --streams prints the state at one position, --to", f.explain.From)
	case f.explain.From < 0 || f.explain.To < 0 || f.explain.To > 0 && f.explain.To <= f.explain.From:
		err = fmt.Errorf("--from %d --to %d: want positions from 0, with --from below --to",
			f.explain.From, f.explain.To)
	}
	return c, capacities, mode, err
}
