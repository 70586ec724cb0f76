// Package cluster submits a planned sweep to a cluster: to Slurm as an array job, to Kubernetes as an Indexed Job. Each
// task runs `cachesim sweep run DIR` on one shard of the cells; the tasks share only the folder DIR.
package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/cuda"
)

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

// Check reports values that no cluster supports.
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
