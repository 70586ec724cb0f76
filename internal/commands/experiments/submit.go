package experiments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/commands/resources"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/experiment/cluster"
)

type submitFlags struct{ cluster.Submission }

var flagsOf = map[string][]string{
	cluster.EngineSlurm:      {"partition", "account", "sbatch-arg", "submit", "wait"},
	cluster.EngineKubernetes: {"image", "dir-volume", "traces-volume", "retries"},
}

func newSweepSubmitCommand() *cobra.Command {
	f := &submitFlags{}
	cmd := &cobra.Command{
		Use:   "submit DIR",
		Short: "Submit a planned sweep to Slurm or Kubernetes",
		Long: `Writes what a cluster needs to run the sweep that cachesim sweep plan wrote into DIR: for Slurm the batch
script of an array job, DIR/submit.sbatch; for Kubernetes the manifest of an Indexed Job, DIR/job.yaml. Every task runs
one shard of the cells, and all of them must reach DIR under the same path, or through --dir-volume.

Cells that are finished are not run again. If a task was killed, submit again: a Slurm job gets only the shards with
missing cells. With --wait the command submits the job, waits until it ends, and collects the records as cachesim sweep
merge does. If cells are missing then, it fails and shows the end of the logs.

--cpus, --memory and --time apply to one shard.`,
		Example: `  cachesim sweep plan classic-block -o out
  cachesim sweep submit out --engine slurm --shards 32 --memory 8GiB --time 2h
  cachesim sweep submit out --engine slurm --partition compute --sbatch-arg=--constraint=avx512 --wait
  cachesim sweep submit out --engine kubernetes --image registry.example.org/cachesim --dir-volume pvc:experiments/out --traces-volume pvc:traces`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Engine, "engine", "", strings.Join(cluster.Engines(), " or "))
	flags.StringVarP(&f.Out, "output", "o", "", "output file, - for standard output (default DIR/submit.sbatch or "+
		"DIR/job.yaml)")
	flags.StringVar(&f.Program, "program", "", "path of cachesim on the machines of the cluster (default: the path of "+
		"this program for Slurm, the one in the image's PATH for Kubernetes)")
	flags.IntVar(&f.Shards, "shards", 8, "number of tasks that share the cells")
	flags.IntVar(&f.Parallel, "parallel", 0, "run at most this many shards at the same time (0: as many as the cluster "+
		"has room for)")
	flags.IntVar(&f.CPUs, "cpus", 1, "cores per shard")
	resources.RegisterDevice(cmd, &f.Device, "device of each shard, as for sweep run: cpu, cuda (a shard gets a "+
		"GPU) or auto (a GPU if the shard has one)")
	flags.StringVar(&f.Memory, "memory", "", "memory per shard: 8GiB (default: the cluster's default)")
	flags.DurationVar(&f.Time, "time", 0, "stop a shard after this time: 2h30m (default: the cluster's limit)")
	flags.StringVar(&f.Partition, "partition", "", "Slurm: the partition")
	flags.StringVar(&f.Account, "account", "", "Slurm: the account to charge")
	flags.StringArrayVar(&f.Args, "sbatch-arg", nil, "Slurm: another option of sbatch: --sbatch-arg=--qos=long; "+
		"repeatable")
	flags.BoolVar(&f.Submit, "submit", false, "Slurm: submit the script")
	flags.BoolVar(&f.Wait, "wait", false, "Slurm: submit the script, wait until the job ends, collect the records")
	flags.StringVar(&f.Image, "image", "", "Kubernetes: an image that contains cachesim")
	flags.StringVar(&f.DirVolume, "dir-volume", "", "Kubernetes: where pods find DIR: pvc:CLAIM/FOLDER or host:/PATH")
	flags.StringVar(&f.TracesVolume, "traces-volume", "", "Kubernetes: where pods find the traces: pvc:CLAIM/FOLDER or "+
		"host:/PATH")
	flags.IntVar(&f.Retries, "retries", 3, "Kubernetes: number of retries of a failed shard")
	_ = cmd.RegisterFlagCompletionFunc("engine",
		cobra.FixedCompletions(cluster.Engines(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *submitFlags) run(cmd *cobra.Command, dir string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	collect, err := f.Run(cmd.Context(), cmd.OutOrStdout(), dir, version.Program())
	if left := new(cluster.UnfinishedError); errors.As(err, &left) {
		return checks.Failed(err)
	}
	if err != nil || !collect {
		return err
	}
	merge := &sweepMergeFlags{}
	merge.format = "table"
	return merge.run(cmd, []string{dir})
}

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
		return errors.New("--submit and --wait need the script in a file; give its name with -o instead of -")
	}
	return nil
}
