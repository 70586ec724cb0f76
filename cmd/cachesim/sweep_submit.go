package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/experiment/cluster"
	"github.com/cachesim/cachesim/internal/suggest"
)

// submitFlags are the flags of `sweep submit`.
type submitFlags struct{ cluster.Submission }

// flagsOf are the flags that only one engine knows.
var flagsOf = map[string][]string{
	cluster.EngineSlurm:      {"partition", "account", "sbatch-arg", "submit", "wait"},
	cluster.EngineKubernetes: {"image", "dir-volume", "traces-volume", "retries"},
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
	flags.StringVar(&f.Engine, "engine", "", strings.Join(cluster.Engines(), " or "))
	flags.StringVarP(&f.Out, "output", "o", "", "file to write, - for standard output (default DIR/submit.sbatch or "+
		"DIR/job.yaml)")
	flags.StringVar(&f.Program, "program", "", "cachesim on the machines of the cluster (default: the path of this one "+
		"for Slurm, the one in the image's PATH for Kubernetes)")
	flags.IntVar(&f.Shards, "shards", 8, "how many tasks share the cells")
	flags.IntVar(&f.Parallel, "parallel", 0, "run at most this many shards at a time (0: as many as the cluster has "+
		"room for)")
	flags.IntVar(&f.CPUs, "cpus", 1, "cores of each shard")
	flags.StringVar(&f.Memory, "memory", "", "memory of each shard, 8GiB say (default: what the cluster gives)")
	flags.DurationVar(&f.Time, "time", 0, "stop a shard after this time, 2h30m say (default: what the cluster allows)")
	flags.StringVar(&f.Partition, "partition", "", "Slurm: the partition")
	flags.StringVar(&f.Account, "account", "", "Slurm: the account that is charged")
	flags.StringArrayVar(&f.Args, "sbatch-arg", nil, "Slurm: another option of sbatch, --sbatch-arg=--qos=long "+
		"say; can be repeated")
	flags.BoolVar(&f.Submit, "submit", false, "Slurm: submit the script")
	flags.BoolVar(&f.Wait, "wait", false, "Slurm: submit the script, wait until the job is over, collect the records")
	flags.StringVar(&f.Image, "image", "", "Kubernetes: an image that holds cachesim")
	flags.StringVar(&f.DirVolume, "dir-volume", "", "Kubernetes: where pods find DIR: pvc:CLAIM/FOLDER or host:/PATH")
	flags.StringVar(&f.TracesVolume, "traces-volume", "", "Kubernetes: where pods find the traces: pvc:CLAIM/FOLDER or "+
		"host:/PATH")
	flags.IntVar(&f.Retries, "retries", 3, "Kubernetes: how often a failed shard is tried again")
	_ = cmd.RegisterFlagCompletionFunc("engine",
		cobra.FixedCompletions(cluster.Engines(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *submitFlags) run(cmd *cobra.Command, dir string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	collect, err := f.Run(cmd.Context(), cmd.OutOrStdout(), dir, version())
	if left := new(cluster.UnfinishedError); errors.As(err, &left) {
		return checkFailedError{err}
	}
	if err != nil || !collect {
		return err
	}
	merge := &sweepMergeFlags{}
	merge.format = "table"
	return merge.run(cmd, []string{dir})
}

// check reports flags that do not go together.
func (f *submitFlags) check(cmd *cobra.Command) error {
	if f.Engine == "" {
		return errors.New("--engine: want slurm or kubernetes")
	}
	if _, ok := flagsOf[f.Engine]; !ok {
		return suggest.Unknown("engine", f.Engine, cluster.Engines())
	}
	for engine, names := range flagsOf {
		for _, name := range names {
			if engine != f.Engine && cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for --engine %s", name, engine)
			}
		}
	}
	if f.Out == "-" && (f.Submit || f.Wait) {
		return errors.New("-o -: to submit the script it must be in a file")
	}
	return nil
}
