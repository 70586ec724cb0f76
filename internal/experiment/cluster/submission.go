// Package cluster submits a planned sweep to a cluster: to Slurm as an array job, to Kubernetes as an Indexed Job. Each
// task runs `cachesim sweep run DIR` on one shard of the cells; the tasks share only the folder DIR.
package cluster

import (
	"context"
	"errors"
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

	Job
	Memory string // with a unit, such as 8GiB

	Slurm
	Submit, Wait bool // submit the script; and wait until the job has ended

	Kubernetes
	DirVolume, TracesVolume string // in the format of ParseVolume
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

func (s *unfinished) look() error {
	finished, err := sweep.ReadFinished(s.Cells, s.dir)
	if err != nil {
		return err
	}
	s.missing = finished.Missing(s.Cells)
	return nil
}

func (s *unfinished) cells() int { return len(experiment.WithoutRepetitions(s.Cells)) }

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

func (o Submission) job(s *unfinished) (Job, error) {
	j := o.Job
	j.Name, j.Dir, j.Shards = s.File.Name, s.dir, min(o.Shards, s.cells())
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

// Job is the part of a submission that both engines have.
type Job struct {
	Name     string        // of the experiment: letters, digits and -
	Dir      string        // the folder of the sweep, absolute
	Shards   int           // number of shares of the cells
	Parallel int           // shards that run at the same time; 0 leaves it to the cluster
	CPUs     int           // of each shard, which runs the same number of replays at a time
	Memory   int64         // bytes of each shard; 0 leaves it to the cluster
	Time     time.Duration // after which a shard is stopped; 0 leaves it to the cluster
	Device   cuda.Choice   // of each shard
}

func (j Job) Check() error {
	switch {
	case j.Shards < 1:
		return fmt.Errorf("--shards %d: want at least 1", j.Shards)
	case j.Parallel < 0:
		return fmt.Errorf("--parallel %d: want a number of shards, or 0 for as many as the cluster has room for", j.Parallel)
	case j.CPUs < 1:
		return fmt.Errorf("--cpus %d: want at least 1", j.CPUs)
	case j.Memory < 0:
		return errors.New("--memory: want a number of bytes above 0, such as 8GiB")
	case j.Time < 0 || j.Time > 0 && j.Time < time.Second:
		return fmt.Errorf("--time %v: want at least a second, for example 2h", j.Time)
	case j.Device.IsNumbered():
		return fmt.Errorf("--device %s: a shard sees only the GPU that the cluster gives it; want cpu, cuda or auto",
			j.Device)
	}
	return nil
}

// ceil divides and rounds up: a limit of 1.5 MiB or minutes must not become 1.
func ceil(n, unit int64) int64 { return (n + unit - 1) / unit }

// flags returns the flags of `cachesim sweep run` for the resources of a shard.
func (j Job) flags() []string {
	if j.Device.IsCPU() {
		return j.memoryFlag()
	}
	return append(j.memoryFlag(), "--device", j.Device.String())
}

// memoryFlag gives a shard its memory limit: nine tenths of what the cluster gives it. The shard then ends by itself,
// with an error that says why, before it is killed.
func (j Job) memoryFlag() []string {
	if j.Memory == 0 {
		return nil
	}
	return []string{"--memory", fmt.Sprintf("%dMiB", max(64, j.Memory/10*9>>20))}
}
