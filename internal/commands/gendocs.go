//go:build gendocs

package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/cachesim/cachesim/internal/commands/version"
)

func init() { tagged = append(tagged, newGendocsCommand) }

// newGendocsCommand generates the command reference from the commands; `make docs` and `make install` call it. It is
// in programs built with -tags gendocs only, because it takes in a library for Markdown and another one for YAML.
func newGendocsCommand() *cobra.Command {
	man := false
	cmd := &cobra.Command{
		Use:    "gendocs DIR",
		Short:  "Write the command reference as Markdown or man pages",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if man {
				return writeManual(cmd.Root(), args[0])
			}
			return writePages(cmd.Root(), args[0])
		},
	}
	cmd.Flags().BoolVar(&man, "man", false, "write man pages instead of Markdown")
	return cmd
}

func writeManual(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	// A fixed date keeps the pages the same from build to build.
	date := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "cachesim " + version.Release, Date: &date}, dir)
}

func writePages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
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
	root.DisableAutoGenTag = true
	return doc.GenMarkdownTree(root, dir)
}
