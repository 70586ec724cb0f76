package commandline

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// WriteReference writes a page about each command into a folder, as Markdown or as man pages of a release.
func WriteReference(root *cobra.Command, dir, release string, man bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	if man {
		// A fixed date keeps the pages the same from build to build.
		date := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: release, Date: &date}, dir)
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
