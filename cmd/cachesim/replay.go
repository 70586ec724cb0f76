package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// replayFlags are the flags of every command that replays traces under policies.
type replayFlags struct {
	trace    traceFlags
	capacity capacityFlags
	format   formatFlag
	warmup   int
	jobs     int
	out      string
}

func (f *replayFlags) register(cmd *cobra.Command, defaultCapacities string) {
	f.trace.register(cmd)
	f.capacity.register(cmd, defaultCapacities)
	f.format.register(cmd)
	flags := cmd.Flags()
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
		return records.CheckDir(f.out)
	}
	return nil
}

// load reads the columns that options names, and those that the policies need.
func (f *replayFlags) load(cmd *cobra.Command, paths []string, specs []policies.Spec, options traces.LoadOptions) (*traces.Trace, error) {
	options.Times = slices.ContainsFunc(specs, func(s policies.Spec) bool { return s.Entry.NeedsTime })
	t, err := f.trace.load(cmd, paths, options)
	if err != nil {
		return nil, err
	}
	if f.warmup < 0 || f.warmup >= len(t.Objects) {
		return nil, fmt.Errorf("--warmup %d: want a number of requests from 0 to below the %d of the trace", f.warmup, len(t.Objects))
	}
	return t, nil
}

// options returns what the flags say about the replays; the caller adds the capacities.
func (f *replayFlags) options(specs []policies.Spec) sim.RunOptions {
	return sim.RunOptions{Policies: specs, Seed: f.trace.seed, Warmup: f.warmup, Jobs: f.jobs, Version: version()}
}

// replay runs the replays with a progress bar.
func (f *replayFlags) replay(cmd *cobra.Command, t *traces.Trace, options sim.RunOptions) ([]records.Record, error) {
	bar := newProgress(cmd.ErrOrStderr(), f.trace.quiet, "replaying", unitRequests)
	defer bar.finish()
	options.Planned = func(n int64) { bar.set(0, n) }
	options.Progress = bar.add
	return sim.Run(cmd.Context(), t, options)
}
