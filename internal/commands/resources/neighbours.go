package resources

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/sim/neighbours"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Neighbours is --neighbours: the folder that stores which queries are similar.
type Neighbours string

const neighboursOff = "off"

func (f *Neighbours) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "neighbours", "", "folder that stores which queries of trace files are "+
		"similar, for later runs; "+neighboursOff+
		" stores nothing (default: cachesim/neighbours in the user's cache folder)")
	_ = cmd.MarkFlagDirname("neighbours")
}

// Check rejects a path that is not a folder. A read-only folder still serves what it contains.
func (f Neighbours) Check() error {
	if f == "" || f == neighboursOff {
		return nil
	}
	return atomicfile.MakeFolder(string(f))
}

// Folder returns the folder that stores neighbours, "" for none.
func (f Neighbours) Folder() string {
	switch f {
	case neighboursOff:
		return ""
	case "":
		cache, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(cache, "cachesim", "neighbours")
	}
	return string(f)
}

// Options returns how replays of w use stored neighbours. Neighbours of a generator are not stored, because its queries
// may never come again.
func (f Neighbours) Options(w workload.Workload, jobs int, bar *progress.Bar) neighbours.Options {
	options := neighbours.Options{
		Dir: f.Folder(), Jobs: jobs, Note: bar.Note,
		Comparing: func() (func(done, total int64), func()) { return bar.Interlude("comparing queries", progress.Pairs) },
	}
	if w.Generator != "" {
		options.Dir = ""
	}
	return options
}
