package cachesim

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Record is the result of one policy at one capacity. Its Metric method returns what was measured by the names of
// docs/metrics.md, such as "hit_ratio".
type Record = records.Record

// Options say how Run replays a trace. Texts have the form of the flag of the same name of the command run.
type Options struct {
	Policies   []string          // "lru", "s3fifo(small=0.1)"; at least one
	Capacities []string          // objects "100", bytes "64MiB", shares "1%", ranges "1%..20%x2"; none: 1%,3%,10%,30%
	Cache      string            // what counts as a hit: "exact", "prefix", "sets(ways=8)"; "": exact
	Format     string            // of the trace; "": it is detected
	Bytes      bool              // capacities count bytes, even bare numbers and shares
	UnitSize   bool              // every object has size 1
	Optimum    bool              // records have competitive ratios: the offline optimum is replayed, too
	Warmup     int               // requests that are served before counting starts
	Limit      int               // requests that are read at most; 0: all
	Seed       uint64            // of every random choice
	Jobs       int               // replays that run at the same time; 0: one per core. Results do not depend on it
	Note       func(text string) // gets what was recognised, left out or assumed; may be nil
}

// Run replays a trace, a file or a generator such as "zipf(objects=10000)", under each policy at each capacity,
// capacity by capacity. Files are also looked for in the folder that CACHESIM_TRACES names. An error says what was
// found, what was expected and what to do, or that ctx has ended.
func Run(ctx context.Context, trace string, o Options) ([]Record, error) {
	f := o.experiment(trace)
	if len(f.Policies) == 0 {
		return nil, errors.New("Options.Policies is empty; want at least one policy, such as lru")
	}
	cells, err := f.Cells(experiment.CellOptions{Version: version.Program()})
	if err != nil {
		return nil, err
	}
	results := experiment.Results{}
	err = experiment.Execute(ctx, cells, experiment.Options{Jobs: o.Jobs, Dirs: f.Dirs(), Finished: results.Keep,
		Note: o.Note})
	if err != nil {
		return nil, experiment.Cause(err)
	}
	// A workload with a checksum accepts any lines that cannot be read, so that it gets one only now.
	checksum, err := cells[0].Workload.ReadChecksum(ctx, f.Dirs())
	if err != nil {
		return nil, err
	}
	for i := range cells {
		cells[i].Workload.Checksum = checksum
	}
	return results.Records(cells, "")
}

// experiment returns the options as an experiment of one trace.
func (o Options) experiment(trace string) *experiment.File {
	t := experiment.Trace{Name: filepath.Base(trace), File: trace, Format: o.Format, Limit: o.Limit}
	if workload.IsGenerator(trace) {
		t.Name, t.File, t.Generate = trace, "", trace
	}
	f := &experiment.File{Name: "run", Traces: []experiment.Trace{t}, Bytes: o.Bytes, UnitSize: o.UnitSize,
		Warmup: o.Warmup, Seeds: experiment.Seeds{o.Seed}, Optimum: &o.Optimum,
		Caches: []experiment.Part{{Use: cmp.Or(o.Cache, "exact")}}, Capacities: o.Capacities}
	if len(f.Capacities) == 0 {
		f.Capacities = experiment.Capacities{"1%", "3%", "10%", "30%"}
	}
	for _, p := range o.Policies {
		f.Policies = append(f.Policies, experiment.Policy{Policy: p})
	}
	return f
}
