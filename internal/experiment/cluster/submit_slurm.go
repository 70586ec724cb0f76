package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// slurm writes the batch script and, if requested, submits it.
func (o Submission) slurm(ctx context.Context, out io.Writer, s *unfinished, job Job) (collect bool, err error) {
	options, err := o.slurmOptions(s, job)
	if err != nil {
		return false, err
	}
	script, err := options.Script(job)
	if err != nil {
		return false, err
	}
	if _, err := atomicfile.MakeFolderIn(s.dir, LogsDir); err != nil {
		return false, err
	}
	path, err := o.write(ctx, out, s.Dir, "submit.sbatch", script)
	if err != nil || path == "" {
		return false, err
	}
	fmt.Fprintf(out, "%s: %s of %d; %d of %d cells are left to run\n", path, shardCount(len(options.Pending)), job.Shards,
		len(s.missing), s.cells())
	if !o.Submit && !o.Wait {
		fmt.Fprintf(out, "submit it: sbatch %s\n", path)
		fmt.Fprintf(out, "collect:   cachesim sweep merge %s\n", s.Dir)
		return false, nil
	}
	return o.submitScript(ctx, out, s, job, path)
}

// slurmOptions returns the part for Slurm alone.
func (o Submission) slurmOptions(s *unfinished, job Job) (Slurm, error) {
	options := Slurm{Program: o.Program, Partition: o.Partition, Account: o.Account, Args: o.Args,
		Pending: s.pending(job.Shards)}
	if traces := os.Getenv(workload.Env); traces != "" {
		absolute, err := filepath.Abs(traces)
		if err != nil {
			return options, err
		}
		options.Traces = absolute
	}
	var err error
	if options.Program == "" {
		if options.Program, err = os.Executable(); err != nil {
			return options, fmt.Errorf("cannot find the path of this program (%w); give it with --program", err)
		}
	}
	options.WorkDir, err = os.Getwd()
	return options, err
}

// submitScript submits the script and, with Wait, waits for the job.
func (o Submission) submitScript(ctx context.Context, out io.Writer, s *unfinished, job Job,
	path string) (collect bool, err error) {
	var number string
	err = Submit(ctx, path, o.Wait, func(n string) {
		number = n
		fmt.Fprintf(out, "submitted job %s; its logs are %s\n", n,
			filepath.Join(s.Dir, LogsDir, n+"_*.log"))
	})
	failed := new(FailedError)
	switch {
	case ctx.Err() != nil && number != "":
		return false, fmt.Errorf("interrupted: job %s continues; scancel %s ends it, cachesim sweep merge %s collects its "+
			"results", number, number, s.Dir)
	case errors.As(err, &failed):
		// The cells say more than the exit code: they may be complete nevertheless.
	case err != nil:
		return false, err
	}
	if !o.Wait {
		fmt.Fprintf(out, "collect: cachesim sweep merge %s\n", s.Dir)
		return false, nil
	}
	if err := s.look(); err != nil {
		return false, err
	}
	if len(s.missing) > 0 {
		return false, s.unfinishedError(job, number)
	}
	return true, nil
}

// The number of unfinished shards that are shown with their logs, and the number of lines of each.
const (
	logsShown  = 5
	linesOfLog = 5
)

// unfinishedError says which shards of a finished job have missing cells, and what they wrote last.
func (s *unfinished) unfinishedError(job Job, number string) error {
	var b strings.Builder
	pending := s.pending(job.Shards)
	fmt.Fprintf(&b, "job %s has ended, but %d of %d cells are missing, of %s:", number, len(s.missing), s.cells(),
		shardCount(len(pending)))
	for _, shard := range pending[:min(logsShown, len(pending))] {
		path := LogFile(s.Dir, number, shard)
		fmt.Fprintf(&b, "\n  shard %d, %s:", shard, path)
		lines, err := LastLines(path, linesOfLog)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && len(lines) == 0:
			lines = []string{fmt.Sprintf("wrote nothing; scontrol show job %s_%d may give the reason", number, shard)}
		case err != nil:
			lines = []string{err.Error()}
		case !slices.ContainsFunc(lines, isError):
			// A task that is killed says nothing itself: its log ends with whatever it said before.
			lines = append(lines, fmt.Sprintf("no error; scontrol show job %s_%d may give the reason", number, shard))
		}
		for _, line := range lines {
			fmt.Fprintf(&b, "\n    %s", line)
		}
	}
	if more := len(pending) - logsShown; more > 0 {
		fmt.Fprintf(&b, "\n  and %s more", shardCount(more))
	}
	b.WriteString("\nthe same command, run again, runs what is missing")
	return &UnfinishedError{b.String()}
}

// isError reports whether a line of a log is an error of ours or of Slurm's.
func isError(line string) bool {
	return strings.HasPrefix(line, "cachesim: ") || strings.HasPrefix(line, "slurmstepd: error: ")
}
