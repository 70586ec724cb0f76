// Package searching has the commands that look for what a policy does badly on: adversary for traces on which it misses
// more than the optimum, challenge for workloads on which it is behind other policies.
package searching

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/adversary"
)

// Limits of the flags.
const (
	maxPattern         = 1000
	maxSearchRequests  = 100_000
	maxTries           = 10_000_000
	minSearchRequests  = 10
	defaultSearchSizes = "2,3,4,6,8"
)

type adversaryFlags struct {
	policies   string
	capacities string
	options    adversary.Options
	jobs       int
	quiet      bool
	format     commandline.Format
}

// NewAdversaryCommand returns the command adversary.
func NewAdversaryCommand() *cobra.Command {
	f := &adversaryFlags{}
	cmd := &cobra.Command{
		Use:   "adversary",
		Short: "Search for short traces and predictions on which policies miss far more than the optimum",
		Long: `Searches for the worst ratio of a policy's misses to the optimum's and prints it next to the proven
bounds: with exact predictions (consistency) and with arbitrary predictions, which the search varies together with the
trace (robustness). The search starts many times, from random requests and from loops, and changes a few requests or
predictions at each step. It prints the worst ratio that it found; the true worst case is at least as bad. Up to
capacity 5, laru and lru are solved instead, over up to 8 objects: the ratio marked = is the worst in the long run.

A trace is a pattern of at most --length requests, repeated up to --requests, and the cache starts empty. Guarantees
hold up to a constant number of misses. For randomised policies, misses are the mean over 100 seeds that the search did
not use.

Below the table, each policy has the command that replays its worst trace. With --format csv or json, each row contains
its traces and predictions.`,
		Example: `  cachesim adversary
  cachesim adversary --policy laru,fpb,lru --capacity 2..8+1 --tries 20000
  cachesim adversary --policy 'laru(decay=k/32)' --format json | jq -r .robustness.trace`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.policies, "policy", "", "list of policies (default: all policies that use a predictor)")
	flags.StringVar(&f.capacities, "capacity", defaultSearchSizes, fmt.Sprintf("list of objects and ranges (2..8+1), at "+
		"most %d", adversary.MaxCapacity))
	flags.IntVar(&f.options.Length, "length", 24, "largest number of requests in a pattern")
	flags.IntVar(&f.options.Requests, "requests", 500, "largest number of requests in a trace: the repeated pattern")
	flags.IntVar(&f.options.Tries, "tries", 5000, "traces that each search replays")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed of every random choice")
	flags.IntVar(&f.jobs, "jobs", 0, "searches that run at the same time (0: one per core)")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress bar")
	f.format.Register(cmd)
	commandline.CompleteNames(cmd, "policy", policies.Registry.Names)
	return cmd
}

func (f *adversaryFlags) run(cmd *cobra.Command) error {
	specs, err := f.specs()
	if err != nil {
		return err
	}
	capacities, err := f.sizes()
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	bar := progress.New(cmd.ErrOrStderr(), f.quiet, "searching", progress.Searches)
	bar.Set(0, int64(adversary.Searches(specs, capacities)))
	rows, err := adversary.Table(cmd.Context(), specs, capacities, f.options, f.jobs, func() { bar.Add(1) })
	bar.Finish()
	if err != nil {
		return err
	}
	return adversary.Print(cmd.OutOrStdout(), rows, f.options, string(f.format))
}

// specs returns the policies whose worst cases are searched for.
func (f *adversaryFlags) specs() ([]policies.Spec, error) {
	list := f.policies
	if list == "" {
		var names []string
		for _, e := range policies.Registry.All() {
			if policies.Can[policies.PredictorUser](e) {
				names = append(names, e.Name)
			}
		}
		list = strings.Join(names, ",")
	}
	specs, err := policies.Registry.ParseList(list)
	for _, s := range specs {
		if err == nil {
			err = adversary.Check(s.Entry)
		}
	}
	return specs, err
}

func (f *adversaryFlags) sizes() (sizes []int, err error) {
	parsed, err := capacity.ParseList(f.capacities)
	if err != nil {
		return nil, err
	}
	for _, c := range parsed {
		n, err := strconv.Atoi(c.String())
		if err != nil || n > adversary.MaxCapacity {
			return nil, fmt.Errorf("--capacity %s: want a whole number of objects from 1 to %d", c, adversary.MaxCapacity)
		}
		if !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	return sizes, nil
}

func (f *adversaryFlags) check() error {
	return checkRanges([]ranged{
		{"length", f.options.Length, 1, maxPattern},
		{"requests", f.options.Requests, minSearchRequests, maxSearchRequests},
		{"tries", f.options.Tries, 1, maxTries},
		{"jobs", f.jobs, 0, maxTries},
	})
}

// ranged is the value of a flag, and what it may be.
type ranged struct {
	name            string
	value, min, max int
}

func checkRanges(flags []ranged) error {
	for _, flag := range flags {
		if flag.value < flag.min || flag.value > flag.max {
			return fmt.Errorf("--%s %d: want a whole number from %d to %d", flag.name, flag.value, flag.min, flag.max)
		}
	}
	return nil
}
