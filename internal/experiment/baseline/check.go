// Package baseline replays the cells of recorded results and compares: a baseline in a repository keeps hit ratios from
// drifting. It distinguishes changed hit ratios from traces that changed, are missing, or cannot be replayed any more.
package baseline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

type Options struct {
	Rules   []Rule         // the last one that matches a cell applies; cells without a match must be exactly as recorded
	Dirs    []string       // folders to search for traces, as in Workload.Load
	Jobs    int            // replays that run at the same time; 0 means one per core
	Version string         // of the program
	Memory  *memory.Budget // nil: all there is
	Device  *cuda.Shared   // as in experiment.Options
	// Progress is called with the number of cells to replay and returns their progress display; both may be nil.
	Progress func(cells int) experiment.Progress
	Note     func(text string) // as in experiment.Options
	// AllowTraceChange judges records whose trace has changed by their hit ratios, as if it had not.
	AllowTraceChange bool
	// NewTraces accepts traces, and files that parts read, with a checksum other than the recorded one.
	NewTraces bool
}

// Status is the outcome for one record.
type Status string

// The outcomes of a check. A trace is missing if its file does not exist, and has changed if its checksum differs; its
// records are replayed and compared all the same, if that can be done.
const (
	Equal        Status = "equal"
	Within       Status = "within tolerance"
	Moved        Status = "moved"
	TraceChanged Status = "trace changed"
	TraceMissing Status = "trace missing"
	// a file that a part reads, such as weights, is not the recorded one
	FileChanged Status = "file changed"
	// its policy or a parameter no longer exists, or the trace cannot be read
	NotReplayable Status = "not replayable"
)

var statuses = []Status{Equal, Within, Moved, TraceChanged, FileChanged, TraceMissing, NotReplayable}

// Result is a record of the baseline with its new replay.
type Result struct {
	Was         records.Record
	Is          *records.Record // nil if nothing was replayed
	Status      Status
	Tolerance   Tolerance
	Differences []Difference
	Problem     error                  // why nothing was replayed
	Change      *workload.ChangedError // how the trace has changed; nil if it has not

	kept   bool                 // the tolerance, or everything is equal
	named  map[string]Tolerance // metrics for which a rule holds
	times  sim.Times            // of the replay
	series []series.Row         // of the replay
}

// Report is the outcome of a check, its results in the order of the baseline.
type Report struct {
	Baseline          string // its path
	Version           string // of the program that checked
	Results           []Result
	NewTraces         []string // traces, and files of parts, that were accepted with a new checksum
	AllowsTraceChange bool     // as in Options
	Fixed             bool     // the baseline cannot be updated
}

// Check replays the records of a baseline and compares. Records that do not say what to replay, records that contradict
// each other, and rules that match no record are errors; all other problems are in the report.
func Check(ctx context.Context, path string, recs []records.Record, options Options) (*Report, error) {
	if err := checkRules(options.Rules, recs); err != nil {
		return nil, err
	}
	all, err := plan(recs, options.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	report := &Report{Baseline: path, Version: options.Version, AllowsTraceChange: options.AllowTraceChange}
	if options.NewTraces {
		if report.NewTraces, err = takeNewTraces(ctx, all, options.Dirs); err != nil {
			return nil, err
		}
		files, err := takeNewFiles(ctx, all)
		if err != nil {
			return nil, err
		}
		report.NewTraces = append(report.NewTraces, files...)
	}
	done, err := replay(ctx, all, options)
	if err == nil {
		err = done.replayChanged(ctx, all, options)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		report.Results = append(report.Results, done.result(p, options))
	}
	return report, nil
}

// takeNewTraces gives the cells the current checksums of their traces, and returns the names of the traces that
// changed.
func takeNewTraces(ctx context.Context, all []planned, dirs []string) (changed []string, err error) {
	sums := map[string]string{} // of files with a recorded checksum
	for i := range all {
		w := &all[i].cell.Workload
		if w.Checksum == "" {
			continue
		}
		key := w.Checksum + strings.Join(w.Paths(), "\n") // records of the same files may have different checksums
		sum, known := sums[key]
		if !known {
			sum, err = w.ReadChecksum(ctx, dirs)
			if errors.As(err, new(*workload.MissingError)) {
				continue // reported with its cells
			} else if err != nil {
				return nil, err
			}
			sums[key] = sum
			if sum != w.Checksum {
				changed = append(changed, w.Name)
			}
		}
		all[i].takeChecksum(sum)
	}
	return changed, nil
}

// takeNewFiles gives the cells the current checksums of the files that their parts read, and returns those that
// changed.
func takeNewFiles(ctx context.Context, all []planned) (changed []string, err error) {
	sums := workload.Checksums{}
	for i := range all {
		c := &all[i].cell
		if all[i].problem != nil || c.Parts.Checksum == "" {
			continue
		}
		parts := c.Parts.Parts
		if parts.Checksum, err = sums.Of(ctx, parts.Files()); err != nil {
			return nil, err
		}
		if files := strings.Join(parts.Files(), ", "); parts.Checksum != c.Parts.Checksum &&
			!slices.Contains(changed, files) {
			changed = append(changed, files)
		}
		c.Parts = experiment.NewParts(parts)
		all[i].name()
	}
	return changed, nil
}

// replayed has the results of the replays, by the hashes of the cells.
type replayed struct {
	results  experiment.Results
	problems map[string]error
}

func replay(ctx context.Context, all []planned, options Options) (*replayed, error) {
	done := &replayed{experiment.Results{}, map[string]error{}}
	var cells []experiment.Cell
	for _, p := range all {
		if p.problem == nil {
			cells = append(append(cells, p.cell), p.against...)
		}
	}
	cells = experiment.WithoutRepetitions(cells)
	var progress experiment.Progress
	if options.Progress != nil {
		progress = options.Progress(len(cells))
	}
	return done, experiment.Execute(ctx, cells, experiment.Options{
		Jobs: options.Jobs, Memory: options.Memory, Dirs: options.Dirs, Progress: progress, Note: options.Note,
		Device:   options.Device,
		Finished: done.results.Keep,
		Failed: func(failed []experiment.Cell, err error) error {
			for _, c := range failed {
				done.problems[c.Hash] = err
			}
			return nil
		},
	})
}

// replayChanged replays the cells whose traces have changed with the traces as they are now.
func (d *replayed) replayChanged(ctx context.Context, all []planned, options Options) error {
	var changed []planned
	for i := range all {
		p := &all[i]
		if p.problem != nil || !errors.As(d.problem(*p), &p.change) {
			continue
		}
		p.takeChecksum(p.change.Got)
		changed = append(changed, *p)
	}
	if len(changed) == 0 {
		return nil
	}
	again, err := replay(ctx, changed, options)
	if err != nil {
		return err
	}
	maps.Copy(d.results, again.results)
	maps.Copy(d.problems, again.problems)
	return nil
}

func (p *planned) takeChecksum(sum string) {
	p.cell.Workload.Checksum = sum
	for i := range p.against {
		p.against[i].Workload.Checksum = sum
	}
	p.name()
}

func (d *replayed) result(p planned, options Options) Result {
	allowed := tolerancesOf(options.Rules, &p.was)
	r := Result{Was: p.was, Tolerance: allowed.Tolerance, Change: p.change}
	if r.Problem = p.problem; r.Problem == nil {
		r.Problem = d.problem(p)
	}
	if r.Problem != nil {
		r.Status, r.Problem = classify(r.Problem)
		if r.Change != nil && !options.AllowTraceChange && r.Status != TraceChanged {
			r.Status, r.Problem = TraceChanged, fmt.Errorf("the trace has changed, and cannot be replayed: %w", r.Problem)
		}
		r.Problem = errors.New(terminal.Shorten(r.Problem.Error()))
		return r
	}
	result := d.results[p.cell.Hash]
	is := result.Record
	for _, c := range p.against {
		sim.HoldAgainst(&is, d.results[c.Hash].Record)
	}
	r.Is, r.times, r.series, r.named = &is, result.Times, result.Series, allowed.of
	r.Differences = compare(&p.was, &is, allowed)
	if r.kept = allowed.allow(&p.was, &is, r.Differences); r.Change != nil {
		r.kept = allowed.allowOnAnother(r.Differences)
	}
	switch {
	case r.Change != nil && !options.AllowTraceChange:
		r.Status = TraceChanged
	case len(r.Differences) == 0:
		r.Status = Equal
	case r.kept:
		r.Status = Within
	default:
		r.Status = Moved
	}
	return r
}

// problem returns why a cell or one of its optima was not replayed.
func (d *replayed) problem(p planned) error {
	if err := d.problems[p.cell.Hash]; err != nil {
		return err
	}
	for _, c := range p.against {
		if err := d.problems[c.Hash]; err != nil {
			return err
		}
	}
	return nil
}

// classify returns the status of a record that was not replayed and, if the trace is at fault, the reason.
func classify(problem error) (Status, error) {
	var changed *workload.ChangedError
	var part *workload.FileChangedError
	var missing *workload.MissingError
	switch {
	case errors.As(problem, &changed):
		return TraceChanged, changed
	case errors.As(problem, &part):
		return FileChanged, part
	case errors.As(problem, &missing):
		return TraceMissing, missing
	}
	return NotReplayable, problem
}

// Count returns the number of records with a status.
func (r *Report) Count(s Status) int {
	return records.Count(r.Results, func(result Result) bool { return result.Status == s })
}

// Passed reports whether every record is unchanged or within its tolerance.
func (r *Report) Passed() bool { return r.Count(Equal)+r.Count(Within) == len(r.Results) }

// OnlyMissing reports whether missing traces are the only reason why the check did not pass.
func (r *Report) OnlyMissing() bool {
	missing := r.Count(TraceMissing)
	return missing > 0 && missing+r.Count(Equal)+r.Count(Within) == len(r.Results)
}
