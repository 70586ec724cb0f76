package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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
			return writeReference(cmd.Root(), args[0], man)
		},
	}
	cmd.Flags().BoolVar(&man, "man", false, "write man pages instead of Markdown")
	return cmd
}

func writeReference(root *cobra.Command, dir string, man bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	if man {
		// A fixed date keeps the pages the same from build to build.
		date := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "cachesim " + release, Date: &date}, dir)
	}
	// The page of a command that no longer exists must go.
	old, err := filepath.Glob(filepath.Join(dir, "cachesim*.md"))
	if err != nil {
		return err
	}
	for _, page := range old {
		if err := os.Remove(page); err != nil {
			return fmt.Errorf("removing the old page: %w", err)
		}
	}
	return doc.GenMarkdownTree(root, dir)
}
