package commands

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/billing"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/best"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/bylabel"
	"github.com/cachesim/cachesim/internal/results/coldstart"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

type runFlags struct {
	replayFlags
	policies string
	server   commandline.Server
	parts    partFlags
	series   overTime
	floors   checks.Floors
	filled   bool
	objects  following
	brief    bool
	loaded   *preloaded // if brief
}

func newRunCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run TRACE...",
		Short: "Replay traces under policies and capacities, and compare with the offline optimum",
		Long: `Replays the trace under every policy at every capacity and prints one row for each: hit ratio, byte hit ratio
if sizes count, misses, competitive ratio (misses divided by the optimum's under the same rules), and time per
request. The best online policy at each capacity is marked. In bytes no optimum can be computed: belady-size takes its
place, and the ratio is an interval up to the lower bound pfoo-l.

Below the table is the capacity that each policy needs for a --target: 90% of the largest hit ratio, which is that of a
cache that holds everything, another share of it, or a hit ratio. lru's comes from one pass over the trace and is exact;
the others are searched by further replays: each capacity was replayed and reaches the target, and 2% less does not. The
capacities of the table do not matter. Without --target the search ends earlier for policies that need more than lru,
and in long traces for all but the best: "between 16 GiB and 64 GiB". In brackets are 95% confidence intervals
(bootstrap over 400 blocks of the trace).

The first line below the table says what a cache saves: how many requests and bytes reach the origin behind it at the
capacity of --target, at that of --today, and without a cache. With --cost, memory, misses and missed bytes have prices,
and so may each tier: the table has the cost per month, and the line names the cheapest capacity and policy, and what
they save against today and against no cache; of several caches another line names the cheapest. Capacities must count
bytes. With --origin, the table has the misses per second that the origin sees. The row no-cache is what happens without
a cache.

Traces are files in any format that ` + "`cachesim formats`" + ` lists, compressed or not, or - for standard input.
Several files are read one after another as one trace, or merged by time with --merge, or each replayed through an
empty cache with --per-file. A generator can replace a file (see ` + "`cachesim gen`" + `). Its seed is --seed unless it
has its own.

With --tenant, objects belong to tenants, and --allocate divides the capacity among them: each has its own pool in the
exact cache, or all share one. Tenants of prompts share the cache prefix or tiers, also on several nodes, or have shares
of prefix. With --model, requests take time, and the table has latencies: of lookups and prompts, or of jobs that read
files, with the times in which they complete.

With --nodes, several nodes serve the requests, each with a cache of the given capacity, and --route chooses the node of
each: a hash, a ring, slots, round robin, replicas. The table has how unevenly they are used, what one cache as large as
all would hit, and what no router can exceed. Prompts have routers of their own in the caches prefix and tiers. There
nodes may share lower tiers: --cache 'tiers(host=10x,remote=100x,mode=write-through,shared=remote)'.

With --by, a second table has the hits of each caller, path, status or model in the one cache that all share.

A capacity in objects ignores sizes; a capacity in bytes (64MiB, or any with --bytes) counts them. Requests of size 0
are then left out.

With --sample, --limit and --warmup count the requests of the sample.

With --min-hit-ratio the exit code is 1 if a row has a lower hit ratio. --format junit then writes the rows as test
cases for CI systems, --format github as annotations of GitHub Actions, and adds the table to the summary of the job.`,
		Example: `  cachesim run trace.zst
  cachesim run trace.zst --policy lru,arc,opt --capacity 1%..20%x2
  cachesim run trace.zst --policy 's3fifo(small=0.1),lru-k(k=2)' --capacity 64MiB,1GiB -o out
  cachesim run 'zipf(alpha=0.9,objects=10000)' --capacity 100..1000x2
  cachesim run reads.csv --bytes --capacity 10% --policy lru,igtcache --model 'storage(arrivals=closed)'
  cachesim run reads.csv --bytes --capacity 10% --cache igtcache --policy lru,s3fifo,arc
  cachesim run web.csv db.csv --tenant file --allocate shared,equal,ucp,optimal
  cachesim run web.csv --bytes --capacity 1GiB --nodes 3 --route 'ring,slots,replicas(copies=2)'
  cachesim run prompts.jsonl --cache prefix --capacity 2% --nodes 8 --route round-robin,prefix-aware,llm-d
  cachesim run prompts.jsonl --cache 'tiers(host=4x,remote=50x,mode=write-through,shared=remote)' --nodes 8
  cachesim run trace.zst --bytes --cost 'memory=3.20/GiB-month,miss=0.40/M' --today 16GiB
  cachesim run trace.zst --bytes --origin -o out
  cachesim run trace.zst --format json | jq .hit_ratio
  cachesim run trace.zst --policy s3fifo --capacity 10% --min-hit-ratio 40% --format github`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.register(cmd, defaultCapacities)
	f.format.Register(cmd, checks.Formats...)
	cmd.Flags().Var(&f.floors, checks.FloorFlag, checks.FloorUsage)
	f.trace.registerEmbeddings(cmd)
	f.trace.registerTenants(cmd)
	f.trace.registerBy(cmd)
	cmd.Flags().StringVar(&f.policies, "policy", "", defaultsUsage)
	f.server.Register(cmd)
	f.parts.register(cmd, ofList, sim.Kinds...)
	f.parts.nodes.Register(cmd, f.parts.texts[sim.RouterKind])
	f.neighbours.Register(cmd)
	f.series.register(cmd.Flags())
	cmd.Flags().BoolVar(&f.filled, "filled", false, "add columns for the hit ratio once the cache has filled, the "+
		"request at which it has, and the misses that are first requests")
	f.objects.register(cmd.Flags())
	cmd.Flags().BoolVar(&f.brief, "brief", false, "the answer on one screen: a row of hit ratios for each capacity, "+
		"which count bytes where the log has sizes; cachesim TRACE is short for it")
	completePolicies(cmd)
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.server.Apply(cmd.Flags()); err != nil {
		return err
	}
	f.billing.Policy, f.billing.Timed = f.server.Today, f.server.Timed
	if f.brief {
		f.trace.brief = true
		if err := f.adapt(cmd, args); err != nil {
			return err
		}
	}
	if err := f.parts.nodes.Apply(cmd); err != nil {
		return err
	}
	return f.replayed(cmd, args)
}

// replayed replays the trace, which may have been read, and reports.
func (f *runFlags) replayed(cmd *cobra.Command, args []string) error {
	lists, err := f.parts.lists()
	if err != nil {
		return err
	}
	setups := experiment.Setups(lists)
	if err := f.divide(setups, lists[sim.AllocatorKind]); err != nil {
		return err
	}
	capacities, mode, err := f.capacitiesIn(cmd, setups)
	if err != nil {
		return err
	}
	if capacities, err = f.billing.Check(capacities, mode); err != nil {
		return err
	}
	specs, err := defaultPolicies(f.policies, setups, capacities, mode)
	if err != nil {
		return err
	}
	var caches []cache.Spec
	for _, s := range setups {
		caches = append(caches, billing.CachesOf(s.Parts, specs)...)
	}
	if err := f.billing.CheckCaches(caches, mode); err != nil {
		return err
	}
	if err := cmp.Or(f.check(), f.parts.checkUsed(cmd, specs), f.figures.CheckPolicies(specs),
		f.floors.CheckFormat(string(f.format), commandline.Formats)); err != nil {
		return err
	}
	listed := f.out != "" || f.format == "table" || f.format == "markdown"
	if err := f.objects.check(setups, listed); err != nil {
		return err
	}
	w, err := f.workload(cmd, args)
	if err != nil {
		return err
	}
	if err := f.device.Open(cmd, f.trace.quiet); err != nil {
		return err
	}
	defer f.device.Close(cmd, f.trace.quiet)
	design := f.design(mode)
	if design.Series, err = f.series.window(f.out, capacity.NeedBytes(capacities, mode)); err != nil {
		return err
	}
	design.Setups, design.Entrants = setups, experiment.Entrants(specs, lists)
	needs := f.objects.addTo(design.Needs(capacity.NeedBytes(capacities, mode)))
	t, w, err := f.loadBrief(cmd, w, needs)
	if err == nil {
		err = f.objects.checkOn(setups, t)
	}
	if err != nil {
		return err
	}
	if again, err := f.servePrompts(cmd, &preloaded{t, w, needs}); again || err != nil {
		return cmp.Or(err, f.replayed(cmd, args))
	}
	if prompts.IsLengthsOnly(t.Kind) {
		if capacities, specs, err = withoutContents(cmd, capacities, specs); err != nil {
			return err
		}
		design.Entrants = experiment.Entrants(specs, lists)
	}
	resolved, err := capacity.Resolve(capacities, mode, t)
	if err != nil {
		return err
	}
	if resolved, err = f.billing.Place(resolved, mode, t); err != nil {
		return err
	}
	bill, err := f.billing.Bill(t)
	if err != nil {
		return err
	}
	if (f.billing.HasNoCache() || f.series.hasOrigin()) && !prompts.IsLengthsOnly(t.Kind) {
		billing.AddNoCache(&design, resolved)
	}
	design.Inputs = inputs(w, resolved, f.trace.seed)
	cells, err := design.Cells()
	if err != nil {
		return err
	}
	if err := f.floors.CheckNames(experiment.RowNames(cells, t.Name)); err != nil {
		return err
	}
	f.parts.nodes.Note(cmd, f.trace.quiet)
	slices.SortStableFunc(cells, func(a, b experiment.Cell) int { // rows of one capacity are meant to be compared
		return cmp.Compare(slices.Index(resolved, a.Capacity), slices.Index(resolved, b.Capacity))
	})
	replayed, stopped := f.execute(cmd, t, cells, 0, nil)
	if stopped != nil && !experiment.Interrupted(stopped) {
		return stopped
	}
	var missed [][]runs.Missed
	if stopped == nil {
		missed, stopped = f.follow(cmd, t, cells, replayed)
		if stopped != nil && !experiment.Interrupted(stopped) {
			return stopped
		}
	}
	recs, err := replayed.Records(cells, "")
	if err != nil {
		return err
	}
	best.MarkAll(recs)
	if err := f.billing.Charge(bill, recs, t); err != nil {
		return err
	}
	if f.filled {
		coldstart.Measure(recs, f.blocks)
	}
	rows := replayed.Series(cells)
	if stopped == nil {
		commandline.Note(cmd, f.trace.quiet, f.series.missing(design.Series, recs, rows))
	}
	partial := interruption(stopped, len(recs), experiment.Rows(cells))
	var answers []target.Answer
	if partial == nil {
		known := search.Known{}
		known.Add(cells, replayed, t.SampleRate)
		answers, err = f.search(cmd, t, search.Groups(cells, recs), recs, search.Options{Known: known})
		if partial = searchInterrupted(err); err != nil && partial == nil {
			return err
		}
		if err := f.compareWithLog(cmd, t, cells, recs); err != nil {
			return err
		}
	}
	r := f.results(cmd, args, w, t, partial, recs, rows)
	r.Answers, r.Costs = answers, bill.Answers(recs, f.blocks)
	if r.Rents, err = f.billing.Rents(bill, answers, recs, t); err != nil {
		return err
	}
	if f.series.hasOrigin() {
		r.Reaches = bill.Reaching(r.Costs, recs)
	}
	r.Missed = runs.MissedTable(recs, missed)
	f.bill = bill
	report := f.report
	if f.isBrief(recs) {
		report = func(cmd *cobra.Command, r runs.Results) error { return f.reportBrief(cmd, args, r) }
	}
	return errors.Join(report(cmd, r), partial)
}

// withoutContents returns one capacity and one policy unless the user chose them: nothing hits, so that all are alike.
func withoutContents(cmd *cobra.Command, capacities []capacity.Spec, specs []policies.Spec) ([]capacity.Spec,
	[]policies.Spec, error) {
	if !cmd.Flags().Changed("capacity") {
		var err error
		if capacities, err = capacity.ParseList("1"); err != nil {
			return nil, nil, err
		}
	}
	if !cmd.Flags().Changed("policy") {
		specs = specs[:1]
	}
	return capacities, specs, nil
}

// capacitiesIn returns the capacities: none if every cache defines its own, from which a given one must not differ.
func (f *runFlags) capacitiesIn(cmd *cobra.Command, setups []experiment.Setup) ([]capacity.Spec, capacity.Mode, error) {
	capacities, mode, err := f.capacity.parse(&f.trace)
	for _, s := range setups {
		own, ok := sim.OwnCapacity(s.Parts.Cache)
		switch {
		case !ok || err != nil:
			return capacities, mode, err
		case !cmd.Flags().Changed("capacity"):
		case slices.ContainsFunc(capacities, func(c capacity.Spec) bool { return !c.Is(own) }):
			return nil, mode, fmt.Errorf("--capacity %s: the parameters of the cache %s set its capacity, %s; remove "+
				"--capacity, or change the parameters", f.capacity.list, s.Parts.Cache, own)
		}
	}
	own, _ := sim.OwnCapacity(setups[0].Parts.Cache)
	for _, flag := range []string{"bytes", "unit-size"} {
		if cmd.Flags().Changed(flag) {
			return nil, mode, fmt.Errorf("--%s has no effect: the cache %s has a capacity of its own, in %s; remove it", flag,
				setups[0].Parts.Cache.Entry.Name, own.Unit())
		}
	}
	return nil, mode, nil
}

// divide rejects allocators without tenants, and tenants without a cache that can be divided. If tenants are given
// without an allocator, they share the exact cache, so that their hit ratios are reported.
func (f *runFlags) divide(setups []experiment.Setup, allocators []sim.Part) error {
	byTenants := func(s experiment.Setup) bool { // what does not fit together otherwise is rejected later
		return s.Parts.Cache.Entry.Pools == nil && !s.Parts.Allocator.Entry.Serving
	}
	switch {
	case f.trace.tenants == "" && len(allocators) > 0 && slices.ContainsFunc(setups, byTenants):
		return fmt.Errorf("--allocate %s: a cache is divided among tenants, but no tenants are given; add --tenant with "+
			"column, prefix or file", allocators[0])
	case f.trace.tenants != "" && len(allocators) == 0:
		for _, s := range setups {
			if !cache.IsShared(s.Parts.Cache) {
				return fmt.Errorf("--tenant %s: the cache %s is not divided among tenants; remove --tenant, or use the cache %s",
					f.trace.tenants, s.Parts.Cache.Name(), cache.ExactSpec().Name())
			}
		}
		shared, err := sim.AllocatorKind.Parse("shared")
		if err != nil {
			return err
		}
		for i := range setups {
			shared.Into(&setups[i].Parts)
		}
	}
	return nil
}

// report prints the records and writes them, with figures, to the output folder.
func (f *runFlags) report(cmd *cobra.Command, r runs.Results) error {
	if len(r.Records) == 0 {
		return nil
	}
	f.interpret(&r)
	judged := f.floors.Judge(r.Records, cmd.Context().Err() != nil)
	if err := f.print(cmd.OutOrStdout(), r.Records, judged); err != nil {
		return err
	}
	if f.format == "table" || f.format == "markdown" {
		out := cmd.OutOrStdout()
		if err := bylabel.Of(r.Records).Print(out, f.format == "markdown", terminal.Width(out)); err != nil {
			return err
		}
		if err := r.PrintMissed(out, string(f.format)); err != nil {
			return err
		}
	}
	if remark := judged.Remark(); remark != "" {
		r.Notes = append(r.Notes, remark)
		commandline.Note(cmd, f.trace.quiet || judged.Err() != nil, remark)
	}
	return cmp.Or(f.finish(cmd, r), judged.Err())
}

// interpret adds what reaches the origin, and what the beginning of the trace does to the results.
func (f *runFlags) interpret(r *runs.Results) {
	if len(r.Costs) == 0 {
		r.Reaches = f.bill.Reaches(r.Answers, r.Records, f.series.hasOrigin() || f.billing.HasNoCache())
	}
	r.ColdStart = coldstart.Lines(r.Records, f.blocks, sim.ObjectNoun)
}

// print prints the records or, for CI systems, which of them reach their floors.
func (f *runFlags) print(w io.Writer, recs []records.Record, judged *checks.Judged) error {
	if !slices.Contains(checks.Formats, string(f.format)) {
		return commandline.PrintRecords(w, recs, string(f.format))
	}
	return judged.Print(w, string(f.format), func(w io.Writer) error {
		return commandline.PrintRecords(w, recs, "markdown")
	})
}

// searchInterrupted is the error that marks a result as partial whose rows are finished; nil for any other error.
func searchInterrupted(err error) error {
	if !experiment.Interrupted(err) {
		return nil
	}
	return errors.New("interrupted: all rows are finished, the search for capacities is not")
}

// interruption is the error that marks a result as partial.
func interruption(err error, finished, total int) error {
	if !experiment.Interrupted(err) {
		return nil
	}
	return fmt.Errorf("interrupted: %d of %d rows are finished", finished, total)
}

// The defaults of `cachesim run TRACE`: one policy of each family and the optimum, over a wide range of sizes. In bytes
// the schedule that the ratio refers to takes the place of the optimum, because opt ignores sizes. If similar queries
// answer each other, no optimum is known, and policies that use similarity are added. In a cache that a model drives,
// allocators are compared, and one policy serves all.
const (
	defaultCapacities = "1%,3%,10%,30%"

	defaultModelled = "lru"
	defaultOnline   = "lru,arc,lirs,s3fifo,sieve,w-tinylfu"
	defaultPlain    = defaultOnline + ",opt"
	defaultOfHeads  = "one-set"
	defaultSimilar  = defaultOnline + ",topic-lru,rac,farthest-similar"
)

// defaultsUsage says what the flag for policies takes.
const defaultsUsage = "list of policies, with parameters as in 's3fifo(small=0.1),lru-k(k=2)' (default " +
	defaultPlain + "; belady-size instead of opt if capacities count bytes; " + defaultSimilar +
	" if similar queries answer each other; without opt where no policy can know what comes: in the cache igtcache, " +
	"and if objects arrive later than they are " +
	"requested; " + defaultModelled + " on serving nodes; " + defaultOfHeads + " in the cache attention)"

// defaultPolicies reads a list of policies or, if it is empty, returns the default ones for the caches and the
// capacities.
func defaultPolicies(list string, setups []experiment.Setup, capacities []capacity.Spec,
	mode capacity.Mode) ([]policies.Spec, error) {
	if list != "" {
		return policies.Registry.ParseList(list)
	}
	specs, err := policies.Registry.ParseList(defaultList(setups, capacities, mode))
	return slices.DeleteFunc(specs, func(s policies.Spec) bool {
		return s.Entry.Kind != policies.Online && slices.ContainsFunc(setups, func(in experiment.Setup) bool {
			in.Parts.Policy = s
			return sim.CheckParts(sim.Cell{Parts: in.Parts}) != nil
		})
	}), err
}

func defaultList(setups []experiment.Setup, capacities []capacity.Spec, mode capacity.Mode) string {
	answersSimilar := func(s experiment.Setup) bool { return cache.AnswersSimilar(s.Parts.Cache) }
	isModelled := func(s experiment.Setup) bool { return cache.Can[cache.Driven](s.Parts.Cache.Entry) }
	switch {
	case cache.ServesHeads(setups[0].Parts.Cache):
		return defaultOfHeads
	case slices.ContainsFunc(setups, isModelled):
		return defaultModelled
	case slices.ContainsFunc(setups, answersSimilar):
		return defaultSimilar
	case capacity.NeedBytes(capacities, mode):
		return defaultsInBytes(capacities, mode)
	}
	return defaultPlain
}

// defaultsInBytes returns the default policies if some capacities count bytes: with what takes the place of the optimum
// there, and with the optimum only if others count objects.
func defaultsInBytes(capacities []capacity.Spec, mode capacity.Mode) string {
	list := defaultOnline
	inObjects := func(c capacity.Spec) bool { return !capacity.NeedBytes([]capacity.Spec{c}, mode) }
	if slices.ContainsFunc(capacities, inObjects) {
		list = defaultPlain
	}
	return list + "," + policies.Optimum(policies.Rules{Bytes: true})
}
