package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/workload"
)

// neighboursFlag is --neighbours.
type neighboursFlag string

const neighboursOff = "off"

func (f *neighboursFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "neighbours", "", "folder that keeps which queries of trace files are similar, "+
		"for the next time; "+neighboursOff+
		" keeps nothing (default: cachesim/neighbours in the user's cache folder)")
	_ = cmd.MarkFlagDirname("neighbours")
}

// check refuses a folder that was named and is none. One that cannot be written still serves what it holds.
func (f neighboursFlag) check() error {
	if f == "" || f == neighboursOff {
		return nil
	}
	return atomicfile.MakeFolder(string(f))
}

// folder returns where neighbours are kept, "" for nowhere.
func (f neighboursFlag) folder() string {
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

// options returns what replays of w do with neighbours; those of a generator, which may never come again, are not kept.
func (f neighboursFlag) options(w workload.Workload, jobs int, bar *progress.Bar) sim.NeighbourOptions {
	options := sim.NeighbourOptions{
		Dir: f.folder(), Jobs: jobs, Note: bar.Note,
		Comparing: func() (func(done, total int64), func()) { return bar.Interlude("comparing queries", progress.Pairs) },
	}
	if w.Generator != "" {
		options.Dir = ""
	}
	return options
}
