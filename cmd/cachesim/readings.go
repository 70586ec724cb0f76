package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/traces"
)

// sayTrace prints how a trace was interpreted, and what may be wrong with it.
func sayTrace(cmd *cobra.Command, bar *progress.Bar, t *traces.Trace, sizesCount bool) {
	for _, line := range slices.Concat(t.Lines(sizeRemark(cmd, sizesCount)), t.Warnings) {
		bar.Note(line)
	}
}

// sizeRemark says whether the sizes in a trace count, and how to make them count.
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
