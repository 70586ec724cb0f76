package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/results/coldstart"
	"github.com/cachesim/cachesim/internal/results/cost"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
)

// finish prints what limits results and their answers below their table, and writes the results to the output folder. Formats other
// than tables contain data only; with them the answers are notes, if the user has asked.
func (f *replayFlags) finish(cmd *cobra.Command, r runs.Results) error {
	out := cmd.OutOrStdout()
	sentences := target.Logged(r.Records, sim.ObjectNoun)
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
	return cmp.Or(records.PrintAnswers(out, r.Costs, markdown, width),
		records.PrintAnswers(out, r.Reaches, markdown, width),
		records.PrintAnswers(out, r.Answers, markdown, width),
		records.PrintAnswers(out, cost.Caches(r.Costs), markdown, width),
		coldstart.Print(out, r.ColdStart, markdown, width))
}

// noteAnswers notes the answers where the output is data: the target only if the user has asked for it.
func (f *replayFlags) noteAnswers(cmd *cobra.Command, r runs.Results) {
	sentences := slices.Concat(records.Sentences(r.Costs), records.Sentences(cost.Caches(r.Costs)))
	if f.target.IsSet || len(r.Costs) > 0 {
		sentences = append(sentences, records.Sentences(r.Reaches)...)
	}
	if f.target.IsSet {
		sentences = append(sentences, records.Sentences(r.Answers)...)
	}
	for _, sentence := range sentences {
		commandline.Note(cmd, f.trace.quiet, sentence)
	}
}
