package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/coldstart"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// search answers which capacity each policy needs for the target, and for what a log says of its server, by further
// replays. It does so only where somebody sees the answer. sampled is as in search.Options, nil without samples.
func (f *replayFlags) search(cmd *cobra.Command, t *traces.Trace, groups []search.Group, recs []records.Record,
	o search.Options) (answers []target.Answer, err error) {
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
	if f.out == "" {
		return nil
	}
	if err := r.Write(cmd.Context(), f.out); err != nil {
		return fmt.Errorf("%w; the results above are complete", err)
	}
	commandline.Note(cmd, f.trace.quiet, fmt.Sprintf("records (JSON lines, CSV, Parquet), figures (SVG, PNG) and %s are "+
		"in %s", page.Name, f.out))
	return nil
}

// printAnswers prints the answers below a table.
func (f *replayFlags) printAnswers(out io.Writer, r runs.Results) error {
	markdown, width := f.format == "markdown", terminal.TextWidth(out)
	return cmp.Or(tabular.PrintAnswers(out, r.Costs, markdown, width),
		tabular.PrintAnswers(out, r.Reaches, markdown, width),
		tabular.PrintAnswers(out, r.Answers, markdown, width),
		tabular.PrintAnswers(out, cost.Caches(r.Costs), markdown, width),
		coldstart.Print(out, r.ColdStart, markdown, width))
}

// noteAnswers notes the answers where the output is data: the target only if the user has asked for it.
func (f *replayFlags) noteAnswers(cmd *cobra.Command, r runs.Results) {
	sentences := slices.Concat(tabular.Sentences(r.Costs), tabular.Sentences(cost.Caches(r.Costs)))
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
