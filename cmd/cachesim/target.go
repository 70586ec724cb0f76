package main

import (
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/target"
	"github.com/cachesim/cachesim/internal/terminal"
)

// printAnswers writes answers below a table. Other formats hold data alone; there they are notes, if the user has
// asked.
func (f *replayFlags) printAnswers(cmd *cobra.Command, answers []target.Answer) error {
	out := cmd.OutOrStdout()
	switch f.format {
	case "table", "markdown":
		return target.Print(out, answers, f.format == "markdown", terminal.TextWidth(out))
	}
	for _, a := range answers {
		if f.target.IsSet {
			note(cmd, f.trace.quiet, a.Sentence())
		}
	}
	return nil
}
