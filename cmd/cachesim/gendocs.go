package main

import (
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/cmd/cachesim/internal/version"
)

// newGendocsCommand generates the command reference from the commands; `make docs` and `make install` call it.
func newGendocsCommand() *cobra.Command {
	man := false
	cmd := &cobra.Command{
		Use:    "gendocs DIR",
		Short:  "Write the command reference as Markdown or man pages",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return commandline.WriteReference(cmd.Root(), args[0], "cachesim "+version.Release, man)
		},
	}
	cmd.Flags().BoolVar(&man, "man", false, "write man pages instead of Markdown")
	return cmd
}
