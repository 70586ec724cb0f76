package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/workload"
)

// replayFlags are the flags of every command that replays traces under policies.
type replayFlags struct {
	trace    traceFlags
	capacity capacityFlags
	format   formatFlag
	perFile  bool
	warmup   int
	jobs     int
	out      string
	// neighbours is a flag of commands whose caches may compare queries; for the others it says nothing.
	neighbours neighboursFlag
}

func (f *replayFlags) register(cmd *cobra.Command, defaultCapacities string) {
	f.trace.register(cmd)
	f.capacity.register(cmd, defaultCapacities)
	f.format.register(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.perFile, "per-file", false, "replay each file, and each file in an archive, through an empty "+
		"cache, and sum up")
	flags.IntVar(&f.warmup, "warmup", 0, "serve this many requests before counting begins")
	flags.IntVar(&f.jobs, "jobs", 0, "replays at a time (0: one per core)")
	flags.StringVarP(&f.out, "output", "o", "", "folder for records (JSON lines, CSV, Parquet) and figures (SVG, PNG)")
}

// check refuses values that no trace could make good, and an output folder that cannot be written.
func (f *replayFlags) check() error {
	if f.jobs < 0 {
		return fmt.Errorf("--jobs %d: want a number of replays at a time, or 0 for one per core", f.jobs)
	}
	if f.out != "" {
		if err := records.CheckDir(f.out); err != nil {
			return err
		}
	}
	return f.neighbours.check()
}

// recorded reports whether records leave the program, which say what was replayed.
func (f *replayFlags) recorded() bool { return f.out != "" || f.format == "json" || f.format == "csv" }

// workload returns what the arguments name.
func (f *replayFlags) workload(cmd *cobra.Command, args []string) (workload.Workload, error) {
	w, err := f.trace.workload(cmd, args)
	switch {
	case err != nil:
		return w, err
	case f.perFile && w.Generator != "":
		return w, fmt.Errorf("--per-file: %s is a generator and has no files", w.Name)
	case f.perFile && f.trace.merge:
		return w, errors.New("--per-file and --merge: files that are merged by time cannot be replayed one by one")
	case f.perFile && f.warmup > 0:
		return w, fmt.Errorf("--per-file and --warmup %d: each file starts with an empty cache, so there is nothing to "+
			"warm up", f.warmup)
	}
	w.PerFile = f.perFile
	if f.recorded() {
		return w, w.Describe(&records.Record{})
	}
	return w, nil
}

// load reads what the replays need of their trace.
func (f *replayFlags) load(cmd *cobra.Command, w workload.Workload, needs traces.Needs) (*traces.Trace,
	workload.Workload, error) {
	options := traces.LoadOptions{Needs: needs, RequestBytes: sim.NextUseBytes}
	t, w, err := f.trace.load(cmd, w, options, f.recorded())
	if err != nil {
		return nil, w, err
	}
	if f.warmup < 0 || f.warmup >= len(t.Objects) {
		return nil, w, fmt.Errorf(
			"--warmup %d: want a number of requests from 0 to below the %d of the trace",
			f.warmup,
			len(t.Objects),
		)
	}
	return t, w, nil
}

// options returns what the flags say about the replays; the caller adds the capacities.
func (f *replayFlags) options(specs []policies.Spec) sim.RunOptions {
	return sim.RunOptions{Policies: specs, Seed: f.trace.seed, Warmup: f.warmup, Jobs: f.jobs, Version: version()}
}

// replay runs the replays with a progress bar and writes into each record what w is.
func (f *replayFlags) replay(cmd *cobra.Command, t *traces.Trace, w workload.Workload,
	options sim.RunOptions) ([]records.Record, error) {
	bar := newProgress(cmd.ErrOrStderr(), f.trace.quiet, "replaying", unitRequests)
	defer bar.finish()
	options.Planned = func(n int64) { bar.set(0, n) }
	options.Progress = bar.add
	if options.Note == nil {
		options.Note = bar.note
	}
	options.Neighbours = f.neighbours.options(w, f.jobs, bar)
	options.Memory = budgetOf(cmd)
	recs, err := sim.Run(cmd.Context(), t, options)
	for i := range recs {
		if err := w.Describe(&recs[i]); err != nil {
			return nil, err
		}
	}
	return recs, err
}
