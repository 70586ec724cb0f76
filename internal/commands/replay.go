package commands

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/billing"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/commands/resources"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/audit/ofprompts"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/coldstart"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// replayFlags are the flags of every command that replays traces under policies.
type replayFlags struct {
	trace    traceFlags
	capacity capacityFlags
	format   commandline.Format
	perFile  bool
	warmup   int
	jobs     int
	out      string
	figures  commandline.Figures
	target   target.Flag
	billing  billing.Flags
	bill     cost.Bill   // with what the trace says
	blocks   *blocks.Set // of the cells that were replayed
	kept     experiment.Kept
	logged   []string // what logs say of the caches of the servers that wrote them
	beside   ofprompts.Beside
	device   resources.Device
	// neighbours is a flag only of commands whose caches may compare queries.
	neighbours resources.Neighbours
}

func (f *replayFlags) register(cmd *cobra.Command, defaultCapacities string) {
	f.trace.register(cmd)
	f.trace.registerWrites(cmd)
	f.trace.registerSizes(cmd)
	f.trace.registerKV(cmd)
	f.capacity.register(cmd, defaultCapacities)
	flags := cmd.Flags()
	flags.BoolVar(&f.perFile, "per-file", false, "replay each file, and each file in an archive, through an empty "+
		"cache, and add up the results")
	flags.IntVar(&f.warmup, "warmup", 0, "serve this many requests before counting starts")
	flags.IntVar(&f.jobs, "jobs", 0, "replays that run at the same time (0: one per core)")
	f.device.Register(cmd)
	f.target = target.NewFlag()
	flags.Var(&f.target, "target", target.Usage)
	f.billing.Register(flags)
	f.figures.Register(flags)
	flags.StringVarP(&f.out, "output", "o", "", "folder for report.html (one page with everything), records (JSON "+
		"lines, CSV, Parquet) and figures (SVG, PNG)")
}

// check rejects values that are wrong for every trace, and an output folder that cannot be written.
func (f *replayFlags) check() error {
	if f.jobs < 0 {
		return fmt.Errorf("--jobs %d: want a number of replays, or 0 for one per core", f.jobs)
	}
	if f.out != "" {
		if err := records.CheckDir(f.out); err != nil {
			return err
		}
	}
	return cmp.Or(f.figures.Check(f.out), f.neighbours.Check())
}

// recorded reports whether the program writes records, which state what was replayed.
func (f *replayFlags) recorded() bool { return f.out != "" || f.format == "json" || f.format == "csv" }

func (f *replayFlags) workload(cmd *cobra.Command, args []string) (workload.Workload, error) {
	w, err := f.trace.workload(cmd, args)
	switch {
	case err != nil:
		return w, err
	case f.perFile && w.Generator != "":
		return w, fmt.Errorf("--per-file: %s is a generator and has no files; give trace files", w.Name)
	case f.perFile && f.trace.merge:
		return w, errors.New("--per-file and --merge: files that are merged by time cannot be replayed one by one")
	case f.perFile && f.warmup > 0:
		return w, fmt.Errorf("--per-file and --warmup %d: each file starts with an empty cache, so there is nothing to "+
			"warm up", f.warmup)
	}
	w.PerFile = f.perFile
	if f.recorded() {
		return w, w.Describe(&records.Record{})
	}
	return w, nil
}

// load reads the parts of the trace that the replays need.
func (f *replayFlags) load(cmd *cobra.Command, w workload.Workload, needs traces.Needs) (*traces.Trace,
	workload.Workload, error) {
	needs.Times = needs.Times || f.billing.NeedsTimes()
	options := read.Options{Needs: needs, RequestBytes: sim.NextUseBytes, NextUse: true}
	t, w, err := f.trace.load(cmd, w, options, f.recorded())
	if err != nil {
		return nil, w, err
	}
	if f.warmup < 0 || f.warmup >= len(t.Objects) {
		return nil, w, fmt.Errorf("--warmup %d: want a number of requests from 0 to below the %d of the trace", f.warmup,
			len(t.Objects))
	}
	return t, w, nil
}

// design returns the experiment that the flags describe; the caller adds the traces and capacities.
func (f *replayFlags) design(mode capacity.Mode) experiment.Design {
	return experiment.Design{Sizes: mode, Warmup: f.warmup, Version: version.Program()}
}

// inputs returns a workload with its capacities, which are known by now.
func inputs(w workload.Workload, capacities []capacity.Capacity, seed uint64) []experiment.Input {
	return []experiment.Input{{Workload: w, Capacities: capacities, Seeds: []uint64{seed}}}
}

// mostWithBlocks is up to how many cells blocks are kept, of which each needs 26 KB with its draws.
const mostWithBlocks = 2000

// withoutIntervals says why results have no intervals; "" if they may have some.
func withoutIntervals(cells []experiment.Cell, results experiment.Results) string {
	onDevice := func(c experiment.Cell) bool { return results[c.Hash].Device != "" }
	switch {
	case len(cells) > mostWithBlocks:
		return fmt.Sprintf("no intervals: there are more than %d replays", mostWithBlocks)
	case slices.ContainsFunc(cells, onDevice):
		return "no intervals: a GPU replays some of the cells, and keeps no blocks of the trace"
	}
	return ""
}

// execute replays cells of a trace in memory with a progress bar and keeps the results of finished cells.
func (f *replayFlags) execute(cmd *cobra.Command, t *traces.Trace, cells []experiment.Cell, held int64,
	note func(string)) (experiment.Results, error) {
	noteTimes(t, cells, func(text string) { commandline.Note(cmd, f.trace.quiet, text) })
	options := experiment.Options{Held: held, Note: note, Blocks: len(cells) <= mostWithBlocks}
	results, err := f.replay(cmd, t, cells, options, "replaying")
	commandline.Note(cmd, f.trace.quiet, withoutIntervals(cells, results))
	return results, err
}

// noteTimes says once what the times of each model are of.
func noteTimes(t *traces.Trace, cells []experiment.Cell, note func(string)) {
	var said []string
	for _, c := range cells {
		model := c.Parts.Model
		if model == nil || model.Entry.Resolve == nil {
			continue
		}
		if text := model.Entry.Resolve(model.Params, t); text != "" && !slices.Contains(said, text) {
			said = append(said, text)
			note(text)
		}
	}
}

// probe replays cells of a search. Those that cannot be replayed, because a capacity is too small say, have no results.
func (f *replayFlags) probe(cmd *cobra.Command, t *traces.Trace, cells []experiment.Cell,
	held int64) (experiment.Results, error) {
	return f.replay(cmd, t, cells, experiment.Options{Held: held, Note: func(string) {}, Blocks: true,
		Failed: func([]experiment.Cell, error) error { return nil }}, "searching")
}

// replay replays cells of a trace in memory with some options of its own.
func (f *replayFlags) replay(cmd *cobra.Command, t *traces.Trace, cells []experiment.Cell, o experiment.Options,
	what string) (experiment.Results, error) {
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, what, progress.Requests)
	defer bar.Finish()
	results := experiment.Results{}
	if f.blocks == nil {
		f.blocks = blocks.NewSet(f.trace.seed)
	}
	if o.Note == nil {
		o.Note = bar.Note
		if width := f.trace.screen(cmd); width > 0 {
			o.Note = func(text string) { bar.Note(commandline.Snipped(text, width)) }
		}
	}
	o.Jobs, o.Finished, o.Progress, o.Memory = f.jobs, results.Keep, bar.OfReplays(), resources.BudgetOf(cmd)
	o.NeighbourDir, o.Device = f.neighbours.Folder(), f.device.Shared()
	if o.Held == 0 { // not of samples, each of which is a trace that is gone afterwards
		o.Kept = &f.kept
	}
	o.Trace = func(workload.Workload) *traces.Trace { return t }
	err := experiment.Execute(cmd.Context(), cells, o)
	results.AddBlocks(f.blocks, cells)
	return results, experiment.Cause(err)
}

// results returns what the page beside the records is made of. partial is the interrupt that ended the replays, or nil.
func (f *replayFlags) results(cmd *cobra.Command, args []string, w workload.Workload, t *traces.Trace, partial error,
	recs []records.Record, rows []series.Row) runs.Results {
	r := runs.Results{Records: recs, Rows: rows, Replayed: w.Settings(t), Version: version.Program(),
		Command: runs.CommandLine(cmd.CommandPath(), args, cmd.Flags()), Figures: f.figures.Options}
	if partial != nil {
		r.Notes = append(r.Notes, partial.Error())
	}
	r.Notes = append(r.Notes, records.TimesOf(recs)...)
	return r
}

// search answers which capacity each policy needs for the target, and for what a log says of its server, by further
// replays. It does so only where somebody sees the answer. sampled is as in search.Options, nil without samples.
func (f *replayFlags) search(cmd *cobra.Command, t *traces.Trace, groups []search.Group, recs []records.Record,
	o search.Options) (answers []target.Answer, err error) {
	f.target.IsSet = f.target.IsSet || f.billing.AsksTarget()
	o.Target, o.Trace, o.Blocks, o.Complete = f.target.Target, t, f.blocks, f.target.IsSet
	o.Seed = f.trace.seed
	o.InOnePass = func(c experiment.Cell) bool {
		r, on, err := f.kept.On(t, c)
		return err == nil && r.InOnePass(on)
	}
	o.LRUHits = func(c experiment.Cell, units []int64) (*sim.LRUHits, error) {
		r, on, err := f.kept.On(t, c)
		if err != nil {
			return nil, err
		}
		return r.LRUHits(cmd.Context(), on, units)
	}
	o.Replay = func(cells []experiment.Cell) (experiment.Results, error) { return f.probe(cmd, t, cells, 0) }
	for _, g := range groups {
		if !f.target.Asks(g.Capacities()) || !f.showsAnswers() {
			continue
		}
		a, err := search.Answer(g, o)
		if err != nil {
			return nil, err
		}
		if f.target.IsSet || len(a.Needs) > 0 {
			answers = append(answers, a)
		}
	}
	if f.target.IsSet && f.target.Target != (target.Target{}) && len(groups) == 0 {
		commandline.Note(cmd, f.trace.quiet, "--target "+f.target.String()+": no cache here has a capacity to choose, or "+
			"its hits are unknown")
	}
	return answers, f.searchLogged(groups, recs, o)
}

// showsAnswers reports whether answers are printed or written: those that nobody has asked for only beside a table.
func (f *replayFlags) showsAnswers() bool {
	return f.target.IsSet || f.out != "" || f.format == "table" || f.format == "markdown"
}

// searchLogged compares the hits of the servers' own caches with the capacity needed here.
func (f *replayFlags) searchLogged(groups []search.Group, recs []records.Record, o search.Options) error {
	all := results.Groups(results.NamedByParts(recs))
	for _, g := range all {
		first := &g.Records[0]
		if !first.Has(metric.LoggedHitRatio) {
			continue
		}
		var need *target.Need
		if i := slices.IndexFunc(groups, func(of search.Group) bool { return of.Name == g.Name }); i >= 0 {
			var err error
			if need, err = search.Logged(groups[i], o); err != nil {
				return err
			}
		}
		sentence := target.Logged(first, need, sim.ObjectNoun(first))
		if len(all) > 1 {
			sentence = g.Name + ": " + sentence
		}
		f.logged = append(f.logged, sentence)
	}
	return nil
}

// compareWithLog compares what a log says that its server found of prompts with the replay that is nearest to it.
func (f *replayFlags) compareWithLog(cmd *cobra.Command, t *traces.Trace, cells []experiment.Cell,
	recs []records.Record) error {
	at, ok := ofprompts.Nearest(recs)
	if !ok {
		return nil
	}
	cells = slices.DeleteFunc(slices.Clone(cells), func(c experiment.Cell) bool { return c.Auxiliary })
	_, on, err := f.kept.On(t, cells[at])
	if err != nil {
		return err
	}
	if f.beside, ok, err = ofprompts.Compare(cmd.Context(), t, on, f.warmup,
		!cmd.Flags().Changed("capacity")); err == nil && ok {
		f.logged = append(f.logged, f.beside.Sentence())
	}
	return err
}

// finish prints what limits results and their answers below their table, and writes the results to the output folder.
// Formats other than tables contain data only; with them the answers are notes, if the user has asked.
func (f *replayFlags) finish(cmd *cobra.Command, r runs.Results) error {
	out := cmd.OutOrStdout()
	sentences := f.logged
	if remark := f.blocks.Remark(r.Records); remark != "" && len(r.Answers)+len(r.Costs) > 0 {
		sentences = append(sentences, remark)
	}
	for _, sentence := range sentences {
		r.Notes = append(r.Notes, sentence)
		if f.format != "table" && f.format != "markdown" {
			commandline.Note(cmd, f.trace.quiet, sentence)
		} else if _, err := fmt.Fprintf(out, "\n%s\n", terminal.WrapLines(terminal.TextWidth(out), sentence)); err != nil {
			return err
		}
	}
	if f.format == "table" || f.format == "markdown" {
		if err := f.printAnswers(out, r); err != nil {
			return err
		}
	} else {
		f.noteAnswers(cmd, r)
	}
	return f.write(cmd, r)
}

// write writes the results to the output folder, if there is one.
func (f *replayFlags) write(cmd *cobra.Command, r runs.Results) error {
	if f.out == "" {
		return nil
	}
	if err := r.Write(cmd.Context(), f.out); err != nil {
		return fmt.Errorf("%w; the results above are complete", err)
	}
	if len(f.beside.Parted) > 0 {
		if err := atomicfile.Write(cmd.Context(), filepath.Join(f.out, "measured.csv"), f.beside.WriteCSV); err != nil {
			return err
		}
	}
	commandline.Note(cmd, f.trace.quiet, fmt.Sprintf("records (JSON lines, CSV, Parquet), figures and %s are in %s",
		page.Name, f.out))
	return nil
}

func (f *replayFlags) printAnswers(out io.Writer, r runs.Results) error {
	markdown, width := f.format == "markdown", terminal.TextWidth(out)
	return cmp.Or(tabular.PrintAnswers(out, r.Costs, markdown, width),
		tabular.PrintAnswers(out, r.Rents, markdown, width),
		tabular.PrintAnswers(out, r.Reaches, markdown, width),
		tabular.PrintAnswers(out, r.Answers, markdown, width),
		tabular.PrintAnswers(out, cost.Caches(r.Costs), markdown, width),
		coldstart.Print(out, r.ColdStart, markdown, width))
}

// noteAnswers notes the answers where the output is data: the target only if the user has asked for it.
func (f *replayFlags) noteAnswers(cmd *cobra.Command, r runs.Results) {
	sentences := slices.Concat(tabular.Sentences(r.Costs), tabular.Sentences(r.Rents),
		tabular.Sentences(cost.Caches(r.Costs)))
	if f.target.IsSet || len(r.Costs) > 0 {
		sentences = append(sentences, tabular.Sentences(r.Reaches)...)
	}
	if f.target.IsSet {
		sentences = append(sentences, tabular.Sentences(r.Answers)...)
	}
	for _, sentence := range sentences {
		commandline.Note(cmd, f.trace.quiet, sentence)
	}
}
