package cluster

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
)

// The engines of clusters.
const (
	EngineSlurm      = "slurm"
	EngineKubernetes = "kubernetes"
)

func Engines() []string { return []string{EngineSlurm, EngineKubernetes} }

// Submission describes how to submit a planned sweep to a cluster.
type Submission struct {
	Engine  string // one of Engines
	Out     string // output file, - for standard output; "" for a name in the sweep's folder
	Program string // path of cachesim on the machines of the cluster; "" for the engine's default

	// As in Job.
	Shards, Parallel, CPUs int
	Memory                 string // with a unit, such as 8GiB
	Time                   time.Duration
	Device                 cuda.Choice

	// For Slurm.
	Partition, Account string
	Args               []string // further options of sbatch
	Submit, Wait       bool     // submit the script; and wait until the job has ended

	// For Kubernetes.
	Image, DirVolume, TracesVolume string // the volumes in the format of ParseVolume
	Retries                        int
}

// UnfinishedError says that a job has ended and cells of the sweep are missing.
type UnfinishedError struct{ message string }

func (e *UnfinishedError) Error() string { return e.message }

// Run submits the remaining cells of the sweep in dir to the cluster, and writes to out what was done and what to do
// next. With Wait it returns when the job has ended, with an *UnfinishedError if cells are missing then. It reports
// whether the caller should now collect the records: all cells are finished, and Wait is set. version is that of this
// program.
func (o Submission) Run(ctx context.Context, out io.Writer, dir, version string) (collect bool, err error) {
	s, err := openUnfinished(dir, version)
	if err != nil {
		return false, err
	}
	job, err := o.job(s)
	switch {
	case err != nil:
		return false, err
	case len(s.missing) == 0:
		fmt.Fprintf(out, "all %d cells are finished\n", s.cells())
		if !o.Wait {
			fmt.Fprintf(out, "collect them: cachesim sweep merge %s\n", s.Dir)
		}
		return o.Wait, nil
	case o.Engine == EngineKubernetes:
		return false, o.writeManifest(ctx, out, s, job)
	}
	return o.slurm(ctx, out, s, job)
}

// unfinished is a sweep and its remaining cells.
type unfinished struct {
	*sweep.Sweep
	dir     string // absolute
	missing []experiment.Cell
}

// openUnfinished opens a planned sweep and determines what is missing.
func openUnfinished(dir, version string) (*unfinished, error) {
	s, err := sweep.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := s.Check(version); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	u := &unfinished{Sweep: s, dir: absolute}
	return u, u.look()
}

// look determines what is missing now.
func (s *unfinished) look() error {
	finished, err := sweep.ReadFinished(s.Cells, s.dir)
	if err != nil {
		return err
	}
	s.missing = finished.Missing(s.Cells)
	return nil
}

func (s *unfinished) cells() int { return len(experiment.WithoutRepetitions(s.Cells)) }

// pending returns the shards with missing cells.
func (s *unfinished) pending(shards int) (pending []int) {
	missing := map[string]bool{}
	for _, c := range s.missing {
		missing[c.Hash] = true
	}
	for i, cells := range sweep.Cut(s.Cells, shards) {
		if slices.ContainsFunc(cells, func(c experiment.Cell) bool { return missing[c.Hash] }) {
			pending = append(pending, i)
		}
	}
	return pending
}

// job returns the part for both engines.
func (o Submission) job(s *unfinished) (Job, error) {
	j := Job{Name: s.File.Name, Dir: s.dir, Shards: min(o.Shards, s.cells()), Parallel: o.Parallel, CPUs: o.CPUs,
		Time: o.Time, Device: o.Device}
	if o.Memory != "" {
		bytes, err := capacity.ParseBytes(o.Memory)
		if err != nil {
			return j, fmt.Errorf("--memory %w", err)
		}
		j.Memory = bytes
	}
	return j, j.Check()
}

// write writes a script or a manifest to the user's output file and returns its path.
func (o Submission) write(ctx context.Context, out io.Writer, dir, name, text string) (path string, err error) {
	if o.Out == "-" {
		_, err = io.WriteString(out, text)
		return "", err
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
	if o.Out != "" {
		return o.Out, atomicfile.Write(ctx, o.Out, write)
	}
	return filepath.Join(dir, name), atomicfile.WriteIn(dir, name, write)
}

func shardCount(n int) string {
	if n == 1 {
		return "1 shard"
	}
	return fmt.Sprintf("%d shards", n)
}
