package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/results/coldstart"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/records"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/sim"
)

// finish prints the answers of results below their table, and writes the results to the output folder. Formats other
// than tables contain data only; with them the answers are notes, if the user has asked.
func (f *replayFlags) finish(cmd *cobra.Command, r runs.Results) error {
	out := cmd.OutOrStdout()
	for _, sentence := range target.Logged(r.Records, sim.ObjectNoun) {
		r.Notes = append(r.Notes, sentence)
		if f.format != "table" && f.format != "markdown" {
			commandline.Note(cmd, f.trace.quiet, sentence)
		} else if _, err := fmt.Fprintf(out, "\n%s\n", terminal.WrapLines(terminal.TextWidth(out), sentence)); err != nil {
			return err
		}
	}
	if f.format == "table" || f.format == "markdown" {
		if err := records.PrintAnswers(out, r.Answers, f.format == "markdown", terminal.TextWidth(out)); err != nil {
			return err
		}
		if err := records.PrintAnswers(out, r.Costs, f.format == "markdown", terminal.TextWidth(out)); err != nil {
			return err
		}
		if err := coldstart.Print(out, r.ColdStart, f.format == "markdown", terminal.TextWidth(out)); err != nil {
			return err
		}
	} else {
		for _, a := range r.Answers {
			commandline.Note(cmd, f.trace.quiet || !f.target.IsSet, a.Sentence())
		}
		for _, a := range r.Costs {
			commandline.Note(cmd, f.trace.quiet, a.Sentence())
		}
	}
	if f.out == "" {
		return nil
	}
	if err := r.Write(cmd.Context(), f.out); err != nil {
		return err
	}
	commandline.Note(cmd, f.trace.quiet, fmt.Sprintf("records (JSON lines, CSV, Parquet), figures (SVG, PNG) and %s are "+
		"in %s", page.Name, f.out))
	return nil
}
