package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/cluster"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/suggest"
)

// The engines of `sweep submit`.
const (
	engineSlurm      = "slurm"
	engineKubernetes = "kubernetes"
)

var engines = []string{engineSlurm, engineKubernetes}

type submitFlags struct {
	engine  string
	out     string
	program string

	shards, parallel, cpus int
	memory                 string
	time                   time.Duration

	partition, account string
	sbatchArgs         []string
	submit, wait       bool

	image, dirVolume, tracesVolume string
	retries                        int
}

// flagsOf are the flags that only one engine knows.
var flagsOf = map[string][]string{
	engineSlurm:      {"partition", "account", "sbatch-arg", "submit", "wait"},
	engineKubernetes: {"image", "dir-volume", "traces-volume", "retries"},
}

func newSweepSubmitCommand() *cobra.Command {
	f := &submitFlags{}
	cmd := &cobra.Command{
		Use:   "submit DIR",
		Short: "Hand a planned sweep to Slurm or Kubernetes",
		Long: `Writes what a cluster needs to run the sweep that cachesim sweep plan has written into DIR: for Slurm the batch
script of an array job, DIR/submit.sbatch; for Kubernetes the manifest of an Indexed Job, DIR/job.yaml. Every task runs
one shard of the cells, and all of them must reach DIR under the same path, or through --dir-volume.

Cells that are finished are not run again. If a task was killed, submit again: a Slurm job is given only the shards that
still miss cells. With --wait the command submits the job, waits until it is over, and collects the records as cachesim
sweep merge does; it fails, and shows the end of the logs, if cells are missing then.

--cpus, --memory and --time are those of one shard.`,
		Example: `  cachesim sweep plan classic-block -o out
  cachesim sweep submit out --engine slurm --shards 32 --cpus 4 --memory 8GiB --time 2h
  cachesim sweep submit out --engine slurm --partition compute --sbatch-arg=--constraint=avx512 --wait
  cachesim sweep submit out --engine kubernetes --image registry.example.org/cachesim --dir-volume pvc:experiments/out --traces-volume pvc:traces`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.engine, "engine", "", strings.Join(engines, " or "))
	flags.StringVarP(&f.out, "output", "o", "", "file to write, - for standard output (default DIR/submit.sbatch or "+
		"DIR/job.yaml)")
	flags.StringVar(&f.program, "program", "", "cachesim on the machines of the cluster (default: the path of this one "+
		"for Slurm, the one in the image's PATH for Kubernetes)")
	flags.IntVar(&f.shards, "shards", 8, "how many tasks share the cells")
	flags.IntVar(&f.parallel, "parallel", 0, "run at most this many shards at a time (0: as many as the cluster has "+
		"room for)")
	flags.IntVar(&f.cpus, "cpus", 1, "cores of each shard")
	flags.StringVar(&f.memory, "memory", "", "memory of each shard, 8GiB say (default: what the cluster gives)")
	flags.DurationVar(&f.time, "time", 0, "stop a shard after this time, 2h30m say (default: what the cluster allows)")
	flags.StringVar(&f.partition, "partition", "", "Slurm: the partition")
	flags.StringVar(&f.account, "account", "", "Slurm: the account that is charged")
	flags.StringArrayVar(&f.sbatchArgs, "sbatch-arg", nil, "Slurm: another option of sbatch, --sbatch-arg=--qos=long "+
		"say; can be repeated")
	flags.BoolVar(&f.submit, "submit", false, "Slurm: submit the script")
	flags.BoolVar(&f.wait, "wait", false, "Slurm: submit the script, wait until the job is over, collect the records")
	flags.StringVar(&f.image, "image", "", "Kubernetes: an image that holds cachesim")
	flags.StringVar(&f.dirVolume, "dir-volume", "", "Kubernetes: where pods find DIR: pvc:CLAIM/FOLDER or host:/PATH")
	flags.StringVar(&f.tracesVolume, "traces-volume", "", "Kubernetes: where pods find the traces: pvc:CLAIM/FOLDER or "+
		"host:/PATH")
	flags.IntVar(&f.retries, "retries", 3, "Kubernetes: how often a failed shard is tried again")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(engines, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *submitFlags) run(cmd *cobra.Command, dir string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	s, err := openUnfinished(dir)
	if err != nil {
		return err
	}
	job, err := f.job(s)
	if err != nil {
		return err
	}
	if len(s.missing) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "all %d cells are finished\n", s.cells())
		return f.collect(cmd, s)
	}
	if f.engine == engineKubernetes {
		return f.writeManifest(cmd, s, job)
	}
	return f.slurm(cmd, s, job)
}

// check reports flags that do not go together.
func (f *submitFlags) check(cmd *cobra.Command) error {
	if f.engine == "" {
		return errors.New("--engine: want slurm or kubernetes")
	}
	if _, ok := flagsOf[f.engine]; !ok {
		return suggest.Unknown("engine", f.engine, engines)
	}
	for engine, names := range flagsOf {
		for _, name := range names {
			if engine != f.engine && cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for --engine %s", name, engine)
			}
		}
	}
	if f.out == "-" && (f.submit || f.wait) {
		return errors.New("-o -: to submit the script it must be in a file")
	}
	return nil
}

// unfinished is a sweep and what is left to run of it.
type unfinished struct {
	*sweep.Sweep
	dir     string // absolute
	missing []experiment.Cell
}

func openUnfinished(dir string) (*unfinished, error) {
	s, err := sweep.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := s.Check(version()); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	u := &unfinished{Sweep: s, dir: absolute}
	return u, u.look()
}

// look finds out what is missing now.
func (s *unfinished) look() error {
	finished, err := sweep.ReadFinished(s.Cells, s.dir)
	if err != nil {
		return err
	}
	s.missing = finished.Missing(s.Cells)
	return nil
}

// cells is the number of cells that are run if all are.
func (s *unfinished) cells() int { return len(experiment.WithoutRepetitions(s.Cells)) }

// pending returns the shards that still miss cells.
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

func (f *submitFlags) job(s *unfinished) (cluster.Job, error) {
	j := cluster.Job{Name: s.File.Name, Dir: s.dir, Shards: min(f.shards, s.cells()), Parallel: f.parallel, CPUs: f.cpus,
		Time: f.time}
	if f.memory != "" {
		bytes, err := capacity.ParseBytes(f.memory)
		if err != nil {
			return j, fmt.Errorf("--memory %w", err)
		}
		j.Memory = bytes
	}
	return j, j.Check()
}

// write writes a script or a manifest where the user wants it and returns its path.
func (f *submitFlags) write(cmd *cobra.Command, dir, name, text string) (path string, err error) {
	if f.out == "-" {
		_, err = io.WriteString(cmd.OutOrStdout(), text)
		return "", err
	}
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
	if f.out != "" {
		return f.out, atomicfile.Write(cmd.Context(), f.out, write)
	}
	return filepath.Join(dir, name), atomicfile.WriteIn(dir, name, write)
}

// collect makes the records, now that all cells are finished.
func (f *submitFlags) collect(cmd *cobra.Command, s *unfinished) error {
	if !f.wait {
		fmt.Fprintf(cmd.OutOrStdout(), "collect them: cachesim sweep merge %s\n", s.Dir)
		return nil
	}
	merge := &sweepMergeFlags{}
	merge.format = "table"
	return merge.run(cmd, []string{s.Dir})
}

func shardCount(n int) string {
	if n == 1 {
		return "1 shard"
	}
	return fmt.Sprintf("%d shards", n)
}
