package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/version"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Long: `Prints the same as cachesim --version: the release and the commit, as in records.

If the program was built with uncommitted changes, the beginning of its checksum follows.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "cachesim version %s\n", version.Program())
			return err
		},
	}
}
