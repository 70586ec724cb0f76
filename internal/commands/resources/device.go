package resources

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/cuda"
)

// Device is --device, and the device that it leads to.
type Device struct {
	choice cuda.Choice
	device *cuda.Shared
}

func (d *Device) Register(cmd *cobra.Command) {
	RegisterDevice(cmd, &d.choice, "device for what it can compute: cpu, cuda (an NVIDIA GPU; cuda:N is the GPU with "+
		"number N) or auto (a GPU if there is one); results are the same")
}

// RegisterDevice adds a flag for a choice that is made elsewhere.
func RegisterDevice(cmd *cobra.Command, choice *cuda.Choice, usage string) {
	cmd.Flags().Var(choice, "device", usage)
	_ = cmd.RegisterFlagCompletionFunc("device",
		cobra.FixedCompletions([]string{"cpu", "cuda", "auto"}, cobra.ShellCompDirectiveNoFileComp))
}

// Open opens the device, once per command, and notes what auto chose. The caller calls Close.
func (d *Device) Open(cmd *cobra.Command, quiet bool) error {
	device, note, err := d.choice.Open()
	d.device = device
	if note != "" && !quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
	return err
}

// Shared returns the device, nil for the CPU.
func (d *Device) Shared() *cuda.Shared { return d.device }

// Close releases the device. After an interrupt a kernel may still run; then the end of the process releases it, so
// that Close does not wait.
func (d *Device) Close(cmd *cobra.Command, quiet bool) {
	if d.device == nil || cmd.Context().Err() != nil {
		return
	}
	if err := d.device.Close(); err != nil && !quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), err)
	}
}
