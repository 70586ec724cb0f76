package experiments

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
)

type sweepShardFlags struct {
	sweepRunFlags
	shard string
}

func newSweepRunCommand() *cobra.Command {
	f := &sweepShardFlags{}
	cmd := &cobra.Command{
		Use:   "run DIR --shard I/N",
		Short: "Run one of N equal shares of a planned sweep",
		Long: `Runs share I, from 0 to N-1, of the cells that cachesim sweep plan wrote into DIR, and keeps their results in
DIR/cells. Shares are chosen so that each loads as few traces as possible, each once. Several shares may run at the same
time, also on machines that share DIR. If a share was killed, run it again: it does only what is missing. This also
holds for a share that another machine has already done.

Without --shard, I and N come from the task in a Slurm array (SLURM_ARRAY_TASK_ID minus SLURM_ARRAY_TASK_MIN, and
SLURM_ARRAY_TASK_COUNT) or in an indexed job of Kubernetes (JOB_COMPLETION_INDEX). If CACHESIM_SHARDS is set, it is N,
and the tasks of a Slurm array count from 0, even if only a part of the array runs. Kubernetes needs it.

It is an error if DIR was planned by another version of the program, or if a trace has changed since.`,
		Example: `  cachesim sweep run out/block --shard 3/16
  sbatch --array=0-15 --wrap 'cachesim sweep run out/block'`,
		Args: cobra.ExactArgs(1),
		RunE: f.run,
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.shard, "shard", "", "share to run, I/N with I from 0 (default: the task's own share in an "+
		"array)")
	return cmd
}

func (f *sweepShardFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	shard, err := f.which(cmd)
	if err != nil {
		return err
	}
	if err := f.device.Open(cmd, f.quiet); err != nil {
		return err
	}
	defer f.device.Close(cmd, f.quiet)
	lock, err := shareSweep(cmd, args[0], f.quiet)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	s, err := sweep.Open(args[0])
	if err != nil {
		return err
	}
	if err := s.Check(version.Program()); err != nil {
		return err
	}
	cells := shard.Cells(s.Cells)
	if err := f.runMissing(cmd, s, cells); err != nil {
		return err
	}
	f.note(cmd, "shard %s is finished: %d cells", shard, len(cells))
	return nil
}

func (f *sweepShardFlags) which(cmd *cobra.Command) (sweep.Shard, error) {
	if cmd.Flags().Changed("shard") {
		return sweep.ParseShard(f.shard)
	}
	return sweep.ShardFromEnvironment(os.LookupEnv)
}
