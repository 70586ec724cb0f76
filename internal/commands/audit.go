package commands

import (
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/auditing"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// auditInputs are the flags of audit that it shares: those of explain, which also replays one cell, and --server.
type auditInputs struct {
	explainFlags
	server commandline.Server
}

func newAuditCommand() *cobra.Command { return auditing.NewCommand(&auditInputs{}) }

func (f *auditInputs) Register(cmd *cobra.Command) {
	f.registerCell(cmd)
	f.trace.registerKV(cmd)
	f.server.Register(cmd)
}

func (f *auditInputs) Cell(cmd *cobra.Command) (sim.Cell, capacity.Spec, capacity.Mode, error) {
	f.server.ByLog = true
	if err := f.server.Apply(cmd.Flags()); err != nil {
		return sim.Cell{}, capacity.Spec{}, 0, err
	}
	c, capacities, mode, err := f.cell(cmd)
	if err != nil {
		return c, capacity.Spec{}, mode, err
	}
	return c, capacities[0], mode, nil
}

func (f *auditInputs) Workload(cmd *cobra.Command, args []string) (workload.Workload, error) {
	return f.trace.workload(cmd, args)
}

func (f *auditInputs) Load(cmd *cobra.Command, w workload.Workload, o read.Options) (*traces.Trace, error) {
	t, _, err := f.trace.load(cmd, w, o, false)
	return t, err
}

func (f *auditInputs) Options(cmd *cobra.Command) (read.Options, error) {
	return f.trace.loadOptions(cmd)
}
func (f *auditInputs) Quiet() bool { return f.trace.quiet }
