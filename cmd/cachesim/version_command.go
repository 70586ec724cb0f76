package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version of the program this is",
		Long: `Says what cachesim --version says: the release and the commit, as they stand in records.

A program that was built with changes that are not committed has the beginning of its own checksum besides.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "cachesim version %s\n", version())
			return err
		},
	}
}
