package commands

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/billing"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/best"
	"github.com/cachesim/cachesim/internal/experiment/curve"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/coldstart"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

const defaultCurveCapacities = "0.01%..81.92%x2,100%"

type curveFlags struct {
	replayFlags
	policies string
	server   commandline.Server
	parts    partFlags
	chosen   sim.Parts // apart from the policies
	metric   string
	points   int
	samples  int
	table    []experiment.Cell // of the whole trace
}

func newCurveCommand() *cobra.Command {
	f := &curveFlags{}
	cmd := &cobra.Command{
		Use: "curve TRACE...",
		Short: "Hit ratio over all capacities: LRU exactly in one pass, the optimum and other policies at chosen " +
			"points",
		Long: `Prints hit ratios from the smallest to the largest cache. LRU needs one pass over the trace for all
capacities. It is exact at each capacity in the table, and at --points further capacities in the records and the figure.
The optimum, or the policies that --policy lists, are replayed at the capacities in the table.

Below the table is the capacity that each policy needs for a --target: 90% of the largest hit ratio, which is that of a
cache that holds everything, another share of it, or a hit ratio, with its 95% interval in brackets. lru's is exact, the
others are searched by replays as in run. The line before it says what a cache saves: what reaches the origin at that
capacity or, with --cost, the capacity and the policy that cost the least in a month, against today and against no
cache.

With --sample R these replays use samples: the requests of that share of the objects, chosen by hashed key, with the
capacity scaled by R (SHARDS, Waldspurger et al., FAST 2015). The hit ratio is 1 - misses / (R x requests of the trace),
because a sample may lack the hottest objects, whose requests are hits. Several samples, with the seeds --seed, --seed +
1, ..., give a mean and its standard error. All samples share the bias of small caches, which the standard error does
not show, and which differs between policies. So LRU is replayed on the samples, too, and its error against the exact
curve is printed; every other policy is replayed on the whole trace at two capacities, where LRU on the samples is
furthest off and in the middle of the table, and its errors there are printed. A warning names the capacities at which
such errors may change the order of the policies. The trace is still loaded whole. Capacities of less than one object
after scaling are left out.

With --cache prefix the curve is that of prompts, and with --kv in GiB. There, too, one pass gives LRU at all
capacities, unless whole nodes are evicted (evict=node): docs/optimum.md has the proof. In other caches LRU is replayed
at each capacity.

With --admit an admission decides which missed objects the cache loads. LRU behind one has no pass over the trace
either: it is replayed at each capacity, at fewer --points. With --nodes the curve is that of several nodes, each of the
capacity; LRU is replayed there, too.

If capacities count bytes, LRU is exact in one pass from the size of the largest object upwards, provided that no object
changes its size; otherwise it is replayed.

With --metric byte_hit_ratio the table has the share of the bytes that hit, and with token_hit_ratio that of the tokens
of prompts; LRU's are exact, too, from the same pass. Targets and what reaches the origin count requests in any case.

With --format csv or json the output is the records: LRU at every point, and every sample.`,
		Example: `  cachesim curve trace.zst -o out
  cachesim curve trace.zst --policy opt,arc,s3fifo --capacity 1%..50%x1.5
  cachesim curve trace.zst --policy arc,w-tinylfu --sample 0.01 --samples 10
  cachesim curve access.log --bytes --metric byte_hit_ratio
  cachesim curve access.log --bytes --admit second --policy s3fifo
  cachesim curve access.log --bytes --nodes 3 --route ring
  cachesim curve monitor.log --server 'redis(maxmemory=256mb..8gbx2)'
  cachesim curve prompts.jsonl.zst --cache prefix --kv model=llama-3.1-70b --capacity 8GiB..4TiBx2`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.register(cmd, defaultCurveCapacities)
	f.format.Register(cmd)
	f.server.Register(cmd)
	f.parts.register(cmd, ofOne, sim.CacheKind, sim.RouterKind, sim.AdmissionKind)
	f.parts.nodes.Register(cmd, f.parts.texts[sim.RouterKind])
	flags := cmd.Flags()
	flags.Lookup("sample").Usage = "replay on samples of this share of the objects, chosen by hashed key (0 < R < 1)"
	flags.Lookup("cache").Usage = "the kind of cache, one of them: what counts as a hit, and what can be evicted"
	flags.StringVar(&f.policies, "policy", "", "list of policies next to lru (default "+curve.DefaultPolicies+", or "+
		curve.DefaultPoliciesBytes+" if capacities count bytes)")
	names := curve.RatioNames()
	flags.StringVar(&f.metric, "metric", names[0], "the ratio in the table: hit_ratio; byte_hit_ratio, if capacities "+
		"count bytes; or token_hit_ratio, of prompts")
	_ = cmd.RegisterFlagCompletionFunc("metric", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	flags.IntVar(&f.points, "points", 200, fmt.Sprintf("further capacities of LRU, in geometric steps (default of caches "+
		"that are replayed at each: %d)", replayedPoints))
	flags.IntVar(&f.samples, "samples", 5, "number of samples with --sample, 2 to 1000")
	completePolicies(cmd)
	return cmd
}

func (f *curveFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.server.Apply(cmd.Flags()); err != nil {
		return err
	}
	f.billing.Policy, f.billing.Timed = f.server.Today, f.server.Timed
	capacities, mode, err := f.capacity.parse(&f.trace)
	if err != nil {
		return err
	}
	if capacities, err = f.billing.Check(capacities, mode); err != nil {
		return err
	}
	bytes := capacity.NeedBytes(capacities, mode)
	if err := f.chooseParts(cmd, bytes); err != nil {
		return err
	}
	specs, err := curve.Policies(f.policies, bytes, f.chosen)
	if err != nil {
		return err
	}
	if err := f.billing.CheckCaches(billing.CachesOf(f.chosen, specs), mode); err != nil {
		return err
	}
	ratio, err := curve.RatioNamed(f.metric)
	if err = cmp.Or(err, ratio.CheckCapacities(bytes, f.chosen.Cache)); err != nil {
		return fmt.Errorf("--metric %s: %w", f.metric, err)
	}
	if err := f.checkSamples(cmd); err != nil {
		return err
	}
	if err := cmp.Or(f.check(), f.figures.CheckPolicies(append(slices.Clip(specs), curve.OnePass()[0].Spec))); err != nil {
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
	// The trace is loaded whole; samples are drawn from it by key.
	w.SampleRate, w.SampleSeed = 0, 0
	design := f.design(mode)
	design.Setups = []experiment.Setup{{Parts: f.chosen}}
	design.Entrants = append(curve.OnePass(), experiment.Entrants(specs, nil)...)
	needs := design.Needs(bytes)
	needs.Keys = needs.Keys || f.trace.sample > 0
	t, w, err := f.load(cmd, w, needs)
	if err != nil {
		return err
	}
	if err := ratio.CheckTrace(t, f.chosen.Cache); err != nil {
		return fmt.Errorf("--metric %s: %w", f.metric, err)
	}
	c := curve.Curve{Trace: t.Name, Rate: f.trace.sample, Parts: f.chosen, Specs: specs, Ratio: ratio}
	if c.Capacities, err = curve.Capacities(capacities, mode, t); err != nil {
		return err
	}
	if c.Capacities, err = f.billing.Place(c.Capacities, mode, t); err != nil {
		return err
	}
	bill, err := f.billing.Bill(t)
	if err != nil {
		return err
	}
	grid := curve.Grid(t, f.chosen.Cache, c.Capacities, f.points)
	planned, stopped := 0, error(nil)
	known := search.Known{}
	if c.Rate > 0 {
		planned, stopped = f.replaySamples(cmd, t, w, design, grid, &c)
	} else {
		planned, stopped = f.replayWhole(cmd, t, w, design, grid, &c, known)
	}
	if stopped != nil && !experiment.Interrupted(stopped) {
		return stopped
	}
	partial := interruption(stopped, len(c.Exact)+len(c.Sampled), planned)
	var answers []target.Answer
	if partial == nil {
		answers, err = f.answers(cmd, t, w, design, &c, known)
		if partial = searchInterrupted(err); err != nil && partial == nil {
			return err
		}
	}
	if err := cmp.Or(f.billing.Charge(bill, c.Exact, t), f.billing.Charge(bill, c.Sampled, t)); err != nil {
		return err
	}
	r := f.results(cmd, args, w, t, partial, slices.Concat(c.Exact, c.Sampled), nil)
	r.Answers, r.Tables = answers, []*page.Table{c.Table()}
	r.Costs = bill.Curve(c.Trace, c.Drawn(), f.blocks)
	if r.Rents, err = f.billing.Rents(bill, answers, c.Drawn(), t); err != nil {
		return err
	}
	f.bill = bill
	return errors.Join(f.report(cmd, &c, r), partial)
}

// replayedPoints is the default of --points where each is a replay.
const replayedPoints = 20

// chooseParts reads the parts. Where no pass over the trace gives LRU at all capacities, fewer further ones are
// replayed, unless the user says how many.
func (f *curveFlags) chooseParts(cmd *cobra.Command, bytes bool) error {
	f.chosen.Cache = cache.ExactSpec()
	err := f.parts.nodes.Apply(cmd)
	if err = cmp.Or(err, f.parts.single(&f.chosen)); err != nil {
		return err
	}
	if err := curve.CheckLRU(f.chosen, bytes); err != nil {
		return err
	}
	_, exact := curve.Exact(f.chosen)
	switch own, ok := sim.OwnCapacity(f.chosen.Cache); {
	case ok:
		return fmt.Errorf("--cache %s: its parameters set its capacity, %s, so there is no curve; use cachesim run",
			f.chosen.Cache, own)
	case f.chosen.Cache.Entry.NeedsPrompts() && f.trace.sample > 0:
		return fmt.Errorf("--sample %v: a sample of blocks would split the prompts of the cache %s; remove --sample (one "+
			"pass gives lru at all capacities)", f.trace.sample, f.chosen.Cache.Name())
	case f.chosen.Router != nil && f.trace.sample > 0:
		return fmt.Errorf("--sample %v: nodes have other shares of a sample than of the trace; remove --sample, or --nodes",
			f.trace.sample)
	case !exact && !cmd.Flags().Changed("points"):
		f.points = replayedPoints
	}
	return nil
}

// replayWhole replays everything at the capacities in the table, and LRU also at the grid's, where nothing is
// compared with it. It returns the number of records that this produces.
func (f *curveFlags) replayWhole(cmd *cobra.Command, t *traces.Trace, w workload.Workload, design experiment.Design,
	grid []capacity.Capacity, c *curve.Curve, known search.Known) (planned int, err error) {
	table, beside := design, design
	table.Inputs, beside.Inputs = inputs(w, c.Capacities, f.trace.seed), inputs(w, grid, f.trace.seed)
	beside.Entrants = curve.OnePass()
	if f.billing.HasNoCache() {
		billing.AddNoCache(&table, c.Capacities)
	}
	atTable, err := table.Cells()
	if err != nil {
		return 0, err
	}
	atGrid, err := beside.Cells()
	if err != nil {
		return 0, err
	}
	results, stopped := f.execute(cmd, t, slices.Concat(atTable, atGrid), 0, nil)
	f.table = atTable
	known.Add(slices.Concat(atTable, atGrid), results, t.SampleRate)
	if c.Exact, err = results.Records(atTable, ""); err != nil {
		return 0, err
	}
	best.MarkAll(c.Exact)
	more, err := results.Records(atGrid, "")
	c.Exact = append(c.Exact, more...)
	return experiment.Rows(atTable) + experiment.Rows(atGrid), cmp.Or(err, stopped)
}

// maxCurvePoints is more points than a figure can show.
const maxCurvePoints = 10000

// With maxSamples, the standard error is about a thirtieth of the spread of the samples.
const maxSamples = 1000

func (f *curveFlags) checkSamples(cmd *cobra.Command) error {
	switch {
	case f.points < 0 || f.points > maxCurvePoints:
		return fmt.Errorf("--points %d: want a number of capacities up to %d, or 0 for only those in the table", f.points,
			maxCurvePoints)
	case f.samples < 2 || f.samples > maxSamples:
		return fmt.Errorf("--samples %d: want 2 to %d: one sample gives no standard error, and thousands add little",
			f.samples, maxSamples)
	case cmd.Flags().Changed("samples") && !cmd.Flags().Changed("sample"):
		return fmt.Errorf("--samples %d needs --sample, which gives the size of a sample", f.samples)
	}
	return nil
}

// replaySamples replays LRU on the whole trace, and everything on each sample. It returns the number of records that
// this produces.
func (f *curveFlags) replaySamples(cmd *cobra.Command, t *traces.Trace, w workload.Workload, design experiment.Design,
	grid []capacity.Capacity, c *curve.Curve) (planned int, err error) {
	whole := design
	capacities := slices.Concat(c.Capacities, grid)
	whole.Entrants, whole.Inputs = curve.OnePass(), inputs(w, capacities, f.trace.seed)
	held := curve.Scaled(c.Capacities, f.trace.sample)
	planned = len(whole.Entrants) * len(capacities)
	if f.billing.HasNoCache() {
		billing.AddNoCache(&whole, c.Capacities)
		planned++
	}
	planned += f.samples * len(design.Entrants) * len(held)
	if len(held) > 0 {
		planned += len(c.Specs) * min(2, len(held))
	}
	if c.Exact, err = f.records(cmd, t, whole, 0, nil); err != nil {
		return planned, err
	}
	silent := func(string) {} // the whole trace has already given every note
	err = f.eachSample(t, func(sample *traces.Trace, seed uint64, warmup int) error {
		design.Warmup, design.Inputs = warmup, inputs(curve.Sampled(w, sample, seed), held, seed)
		recs, err := f.records(cmd, sample, design, t.Bytes(), silent)
		best.MarkAll(recs)
		c.Sampled = append(c.Sampled, recs...)
		return err
	})
	if err != nil {
		return planned, err
	}
	return planned, f.replayCheckpoints(cmd, t, w, whole, c)
}

// eachSample draws the samples of a trace one after the other. A sample has a warm-up of its own.
func (f *curveFlags) eachSample(t *traces.Trace, do func(sample *traces.Trace, seed uint64, warmup int) error) error {
	warmup := *t // its sample is the warm-up of the sample
	warmup.Objects = t.Objects[:f.warmup]
	for i := range uint64(f.samples) {
		seed := f.trace.seed + i
		sample := t.Sample(f.trace.sample, seed)
		if len(sample.Objects) == 0 {
			return fmt.Errorf("--sample %v: a sample of %s has no requests; give a larger share", f.trace.sample, t.Name)
		}
		if err := do(sample, seed, len(warmup.Sample(f.trace.sample, seed).Objects)); err != nil {
			return err
		}
	}
	return nil
}

// onSamples returns the hit ratios that samples give for cells of the whole trace; -1 where a sample has no room.
func (f *curveFlags) onSamples(cmd *cobra.Command, t *traces.Trace, w workload.Workload, c *curve.Curve,
	cells []experiment.Cell) ([]float64, error) {
	of := make([][]records.Record, len(cells))
	err := f.eachSample(t, func(sample *traces.Trace, seed uint64, warmup int) error {
		var scaled []experiment.Cell
		for _, cell := range cells {
			held, _ := cell.Capacity.OnSample(f.trace.sample)
			cell.Workload, cell.Seed, cell.Warmup, cell.Capacity = curve.Sampled(w, sample, seed), seed, warmup, held
			scaled = append(scaled, cell.WithHash())
		}
		results, err := f.probe(cmd, sample, scaled, t.Bytes())
		for i, cell := range scaled {
			if r, ok := results[cell.Hash]; ok {
				of[i] = append(of[i], r.Record)
			}
		}
		return err
	})
	ratios := make([]float64, len(cells))
	for i, recs := range of {
		_, held := cells[i].Capacity.OnSample(f.trace.sample)
		if ratios[i] = -1; held && len(recs) == f.samples {
			ratios[i] = c.Estimate(recs)
		}
	}
	return ratios, err
}

// replayCheckpoints replays the policies other than LRU on the whole trace at some capacities, so that their errors on
// the samples are known.
func (f *curveFlags) replayCheckpoints(cmd *cobra.Command, t *traces.Trace, w workload.Workload,
	whole experiment.Design, c *curve.Curve) error {
	at := c.Checkpoints()
	if len(at) == 0 || len(c.Specs) == 0 {
		return nil
	}
	whole.Entrants = experiment.Entrants(c.Specs, nil)
	whole.Inputs = inputs(w, at, f.trace.seed)
	recs, err := f.records(cmd, t, whole, 0, func(string) {})
	c.Exact = append(c.Exact, recs...)
	return err
}

// records replays a design on a trace in memory. held is the other memory in use.
func (f *curveFlags) records(cmd *cobra.Command, t *traces.Trace, design experiment.Design, held int64,
	note func(string)) ([]records.Record, error) {
	cells, err := design.Cells()
	if err != nil {
		return nil, err
	}
	results, stopped := f.execute(cmd, t, cells, held, note)
	recs, err := results.Records(cells, "")
	return recs, cmp.Or(stopped, err)
}

// answers says what capacity each policy needs for the target.
func (f *curveFlags) answers(cmd *cobra.Command, t *traces.Trace, w workload.Workload, design experiment.Design,
	c *curve.Curve, known search.Known) ([]target.Answer, error) {
	if c.Rate == 0 {
		recs := c.Exact[:experiment.Rows(f.table)] // without further capacities of LRU
		return f.search(cmd, t, search.Groups(f.table, recs), recs, search.Options{Known: known})
	}
	design.Inputs = inputs(w, c.Capacities[:1], f.trace.seed)
	cells, err := design.Cells()
	if err != nil {
		return nil, err
	}
	groups := []search.Group{{Name: c.Trace, First: &c.Exact[0], Policies: c.Policies(cells)}}
	answers, err := f.search(cmd, t, groups, c.Exact, search.Options{Known: known, Rate: c.Rate,
		Sampled: func(cells []experiment.Cell) ([]float64, error) { return f.onSamples(cmd, t, w, c, cells) }})
	for i := range answers {
		answers[i].Remark = "the hit ratios of all policies except " + policies.Recency() + " are estimates from samples"
	}
	return answers, err
}

// report prints the curve and writes it, with figures, to the output folder.
func (f *curveFlags) report(cmd *cobra.Command, c *curve.Curve, r runs.Results) error {
	if len(r.Records) == 0 {
		return nil
	}
	w := cmd.OutOrStdout()
	var err error
	if f.format == "table" || f.format == "markdown" {
		err = c.Print(w, string(f.format))
	} else {
		err = commandline.PrintRecords(w, r.Records, string(f.format))
	}
	if err != nil {
		return err
	}
	if len(r.Costs) == 0 {
		r.Reaches = f.bill.Reaches(r.Answers, c.Drawn(), f.billing.HasNoCache())
	}
	r.ColdStart = coldstart.Lines(c.Exact, f.blocks, sim.ObjectNoun)
	if c.Rate > 0 {
		r.Draw = func() ([]plots.Drawing, error) { return c.Drawings(r.Figures) }
	}
	return f.finish(cmd, r)
}
