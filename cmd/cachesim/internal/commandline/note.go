package commandline

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/terminal"
)

// Note writes a line for the user, unless quiet is set.
func Note(cmd *cobra.Command, quiet bool, text string) {
	if !quiet && text != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), terminal.Shorten(text))
	}
}
