package searching

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/suite"
)

type policyTestFlags struct {
	cases int
	seed  uint64
}

// NewPolicyTestCommand returns the command test, which is one of the command policies.
func NewPolicyTestCommand() *cobra.Command {
	f := &policyTestFlags{}
	cmd := &cobra.Command{
		Use:   "test POLICY",
		Short: "Check that a policy keeps its contract, and show the shortest trace on which it does not",
		Long: `Drives a policy with random requests, loads, removals, writes and changes of the capacity, and checks what all
policies of the program promise: the cache is never above its capacity, victims are resident, the policy does the same
every time, keeps what it loads where there is room, and its batches do what its calls one by one do. It works for any
policy, such as one that you have written: rank(...), exec(...), or the path of a file with one.

Where a check fails, the trace is shortened as far as it still fails, and printed. The exit code is 1 then. A program
that does not answer in time ends the test.`,
		Example: `  cachesim policies test 'exec(command="python3 my.py")'
  cachesim policies test 'rank(evict="hits / size")' --cases 1000`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.cases, "cases", 20, "random traces for each check, with each unit of capacity")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of these traces")
	return cmd
}

func (f *policyTestFlags) run(cmd *cobra.Command, text string) error {
	if f.cases < 1 {
		return fmt.Errorf("--cases %d: want at least 1", f.cases)
	}
	spec, err := policies.Registry.Parse(commandline.OwnPolicy(text))
	if err != nil {
		return err
	}
	subject, err := suite.SubjectOf(spec)
	if err != nil {
		return err
	}
	out, failed := cmd.OutOrStdout(), 0
	err = suite.Judge(cmd.Context(), subject, suite.Options{Cases: f.cases, Attempts: 200, Seed: f.seed,
		Done: func(v suite.Verdict) {
			if v.Err != nil {
				failed++
			}
			printVerdict(out, v)
		}})
	switch {
	case err != nil:
		return err
	case failed > 0:
		return checks.Failed(fmt.Errorf("policy %s: %s failed", spec, show.Counted(failed, "check")))
	}
	_, err = fmt.Fprintf(out, "\npolicy %s passes\n", spec)
	return err
}

// printVerdict prints a line for a check, and below it the trace on which it fails.
func printVerdict(w io.Writer, v suite.Verdict) {
	switch {
	case v.Cases == 0:
		fmt.Fprintf(w, "-     %s: does not apply\n", v.Check)
	case v.Err == nil:
		fmt.Fprintf(w, "ok    %s: %s\n", v.Check, show.Counted(v.Cases, "trace"))
	default:
		fmt.Fprintf(w, "FAILS %s: %v\n", v.Check, v.Err)
		if len(v.Script.Steps) == 0 {
			return
		}
		for line := range strings.Lines(v.Script.String()) {
			fmt.Fprint(w, "      ", line)
		}
	}
}
