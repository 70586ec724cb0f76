package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/experiment/cluster"
	"github.com/cachesim/cachesim/internal/workload"
)

func (f *submitFlags) slurm(cmd *cobra.Command, s *unfinished, job cluster.Job) error {
	out := cmd.OutOrStdout()
	options, err := f.slurmOptions(s, job)
	if err != nil {
		return err
	}
	script, err := options.Script(job)
	if err != nil {
		return err
	}
	if _, err := atomicfile.MakeFolderIn(s.dir, cluster.LogsDir); err != nil {
		return err
	}
	path, err := f.write(cmd, s.Dir, "submit.sbatch", script)
	if err != nil || path == "" {
		return err
	}
	fmt.Fprintf(out, "%s: %s of %d; %d of %d cells are left to run\n", path, shardCount(len(options.Pending)), job.Shards,
		len(s.missing), s.cells())
	if !f.submit && !f.wait {
		fmt.Fprintf(out, "submit it: sbatch %s\n", path)
		fmt.Fprintf(out, "collect:   cachesim sweep merge %s\n", s.Dir)
		return nil
	}
	return f.submitScript(cmd, s, job, path)
}

func (f *submitFlags) slurmOptions(s *unfinished, job cluster.Job) (cluster.Slurm, error) {
	options := cluster.Slurm{Program: f.program, Partition: f.partition, Account: f.account, Args: f.sbatchArgs,
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
			return options, fmt.Errorf("cannot tell where this program is (%w); name it with --program", err)
		}
	}
	options.WorkDir, err = os.Getwd()
	return options, err
}

// submitScript submits the script and with --wait sees it through.
func (f *submitFlags) submitScript(cmd *cobra.Command, s *unfinished, job cluster.Job, path string) error {
	var number string
	err := cluster.Submit(cmd.Context(), path, f.wait, func(n string) {
		number = n
		fmt.Fprintf(cmd.OutOrStdout(), "job %s is submitted; its logs are %s\n", n,
			filepath.Join(s.Dir, cluster.LogsDir, n+"_*.log"))
	})
	failed := new(cluster.FailedError)
	switch {
	case cmd.Context().Err() != nil && number != "":
		return fmt.Errorf(
			"interrupted: job %s goes on; scancel %s ends it, cachesim sweep merge %s collects its results",
			number,
			number,
			s.Dir,
		)
	case errors.As(err, &failed):
		// The cells tell more than the exit code: they may be there all the same.
	case err != nil:
		return err
	}
	if !f.wait {
		fmt.Fprintf(cmd.OutOrStdout(), "collect: cachesim sweep merge %s\n", s.Dir)
		return nil
	}
	if err := s.look(); err != nil {
		return err
	}
	if len(s.missing) > 0 {
		return checkFailedError{s.unfinishedError(job, number)}
	}
	return f.collect(cmd, s)
}

// How many of the unfinished shards are shown with their logs, and how many lines of each.
const (
	logsShown  = 5
	linesOfLog = 5
)

// unfinishedError says which shards of a job that is over have left cells behind, and what they wrote last.
func (s *unfinished) unfinishedError(job cluster.Job, number string) error {
	var b strings.Builder
	pending := s.pending(job.Shards)
	fmt.Fprintf(&b, "job %s is over, but %d of %d cells are missing, of %s:", number, len(s.missing), s.cells(),
		shardCount(len(pending)))
	for _, shard := range pending[:min(logsShown, len(pending))] {
		path := cluster.LogFile(s.Dir, number, shard)
		fmt.Fprintf(&b, "\n  shard %d, %s:", shard, path)
		lines, err := cluster.LastLines(path, linesOfLog)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && len(lines) == 0:
			lines = []string{fmt.Sprintf("wrote nothing; scontrol show job %s_%d may tell why", number, shard)}
		case err != nil:
			lines = []string{err.Error()}
		}
		for _, line := range lines {
			fmt.Fprintf(&b, "\n    %s", line)
		}
	}
	if more := len(pending) - logsShown; more > 0 {
		fmt.Fprintf(&b, "\n  and %s more", shardCount(more))
	}
	b.WriteString("\nthe same command again runs what is missing")
	return errors.New(b.String())
}
