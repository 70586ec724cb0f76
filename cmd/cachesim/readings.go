package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/quote"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// sayReadings tells the user what files were read as.
func sayReadings(bar *progress.Bar, readings []source.Reading, remark string) {
	for _, line := range traces.Lines(readings, remark) {
		bar.Note(line)
	}
}

// sayTrace tells the user what a trace was read as, and what may be wrong with that.
func sayTrace(cmd *cobra.Command, bar *progress.Bar, t *traces.Trace, sizesCount bool) {
	sayReadings(bar, t.Readings, sizeRemark(cmd, sizesCount))
	for _, warning := range t.Warnings {
		bar.Note(warning)
	}
}

// sizeRemark says of sizes that are in a trace whether they count, and what would make them count.
func sizeRemark(cmd *cobra.Command, used bool) string {
	unitSize := cmd.Flags().Lookup("unit-size")
	switch {
	case used:
		return ""
	case cmd.Flags().Lookup("bytes") == nil || unitSize != nil && unitSize.Changed:
		return " (not used)"
	}
	return " (not used; --bytes counts it)"
}

// note writes a line for the user, unless quiet is set.
func note(cmd *cobra.Command, quiet bool, text string) {
	if !quiet && text != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), quote.Shorten(text))
	}
}
