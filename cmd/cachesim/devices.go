package main

import (
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/cmd/cachesim/internal/lists"
	"github.com/cachesim/cachesim/internal/cuda"
)

func newDevicesCommand() *cobra.Command {
	var format commandline.Format
	cmd := &cobra.Command{
		Use:   "devices [NAME...]",
		Short: "List the devices that can compute, and what they compute",
		Long: `Lists the CPU and the NVIDIA GPUs: name, memory, compute capability, multiprocessors, and the versions of the
driver and of CUDA. The last column has what a device computes: join (which queries are similar), sets (replays of
set-associative caches) and lru (LRU at all capacities); the CPU computes everything. Choose a device with --device.

If no GPU can be used, the command says why. That is not an error.`,
		Example: `  cachesim devices
  cachesim devices --format json | jq .memory_bytes`,
	}
	format.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		gpus, problem := cuda.List()
		list, err := lists.Devices(gpus).Choose(names)
		if err != nil {
			return err
		}
		if problem != nil {
			commandline.Note(cmd, false, "no GPU can be used: "+cuda.Explain(problem))
		}
		return list.Print(cmd.OutOrStdout(), string(format))
	}
	return cmd
}
