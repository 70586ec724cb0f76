package searching

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/challenge"
)

// Limits of the flags of challenge.
const (
	maxChallenged        = 1_000_000
	maxChallengeRequests = 10_000_000
	defaultTries         = 400
)

type challengeFlags struct {
	names   challenge.Names
	options challenge.Options
	budget  time.Duration
	quiet   bool
	format  commandline.Format
}

// NewChallengeCommand returns the command challenge.
func NewChallengeCommand() *cobra.Command {
	f := &challengeFlags{}
	cmd := &cobra.Command{
		Use:   "challenge VARIANT",
		Short: "Search for workloads on which a policy or controller is far behind others",
		Long: `Searches for workloads on which a policy has fewer hits than the best of others at the same capacity, or on
which a controller of a node has a longer P99 than the best of others. Workloads are of a kind, which follows from the
variant unless --workloads names it:

` + kindsOfWorkloads() + `
What the workloads have that the variant is furthest behind on is changed, and the worst ones are simplified as long as
nine tenths of the lag are left. How far a policy is behind is the difference of the hit ratios; a controller, by how
many percent its P99 of all requests is longer. What is found is what the search met: there may be worse.

Each workload has the command that replays it. The same seed finds the same on any number of cores. With --budget the
search stops when that time is over, and then simplifies what it found; the table says how many workloads were tried,
and --tries with that number finds the same.`,
		Example: `  cachesim challenge s3fifo --capacity 100
  cachesim challenge best --against lirs,arc,s3fifo,w-tinylfu,lru --tries 1000
  cachesim challenge 'igtcache(mode=safe)' --budget 10m
  cachesim challenge rac-adaptive --against lru,lirs
  cachesim challenge hlem2 --tries 50
  cachesim challenge arc --against lru --format json | jq -r .trace`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.names.Kind, "workloads", "", "kind of workloads: "+strings.Join(challenge.KindNames(), ", ")+
		" (default: the kind of the variant)")
	flags.StringVar(&f.names.Against, "against", "", "list of what the best is taken of (default: see above)")
	flags.StringVar(&f.names.Prefetch, "prefetch", "", "list of prefetchers, each of which the others are combined with "+
		"(default: see above)")
	flags.StringVar(&f.names.Predictor, "predictor", "popu", "what policies that follow predictions get; see cachesim "+
		"predictors")
	flags.IntVar(&f.options.Capacity, "capacity", 0, "objects (0: see above)")
	flags.IntVar(&f.options.Requests, "requests", 0, "largest number of requests in a workload, which has half as many "+
		"at least (0: see above)")
	flags.IntVar(&f.options.Tries, "tries", 0, fmt.Sprintf("workloads that are tried, at most (0: %d, or as many as "+
		"--budget allows)", defaultTries))
	flags.DurationVar(&f.budget, "budget", 0, "stop trying after this time: 10m (0: when all are tried)")
	flags.IntVar(&f.options.Keep, "keep", 3, "workloads that are printed, at most")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed of every random choice")
	flags.IntVar(&f.options.Jobs, "jobs", 0, "workloads that are replayed at the same time (0: one per core)")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress bar")
	f.format.Register(cmd)
	commandline.CompleteNames(cmd, "against", policies.Registry.Names)
	commandline.CompleteNames(cmd, "workloads", challenge.KindNames)
	return cmd
}

// kindsOfWorkloads lists the kinds with their defaults.
func kindsOfWorkloads() string {
	var list strings.Builder
	for _, k := range challenge.Kinds {
		fmt.Fprintf(&list, "  %-8s %s\n", k.Name, strings.ReplaceAll(k.Text(), "\n", "\n           "))
	}
	return list.String()
}

func (f *challengeFlags) run(cmd *cobra.Command, variant string) error {
	f.names.Variant = variant
	contest, err := challenge.NewContest(f.names)
	if err != nil {
		return err
	}
	o := f.options
	if err := f.complete(&o, contest.Kind); err != nil {
		return err
	}
	if f.budget > 0 {
		until, end := context.WithTimeout(cmd.Context(), f.budget)
		defer end()
		o.Stop = func() bool { return until.Err() != nil }
	}
	bar := progress.New(cmd.ErrOrStderr(), f.quiet, "trying", progress.Searches)
	if f.options.Tries > 0 || f.budget == 0 {
		bar.Set(0, int64(o.Tries))
	}
	found, err := contest.Search(cmd.Context(), o, func() { bar.Add(1) })
	bar.Finish()
	if err != nil {
		return err
	}
	return contest.Print(cmd.OutOrStdout(), found, o, string(f.format))
}

// complete checks the options, and replaces those that were not given.
func (f *challengeFlags) complete(o *challenge.Options, kind *challenge.Kind) error {
	if kind.Capacity == 0 && o.Capacity != 0 {
		return errors.New("--capacity: a node has the memory of its GPUs; remove it")
	}
	if o.Capacity == 0 {
		o.Capacity = kind.Capacity
	}
	if o.Requests == 0 {
		o.Requests = min(kind.Requests*max(o.Capacity, 1), maxChallengeRequests)
	}
	if o.Tries == 0 {
		if o.Tries = defaultTries; f.budget > 0 {
			o.Tries = maxTries
		}
	}
	if f.budget < 0 {
		return fmt.Errorf("--budget %s: want a time above 0, as in 10m", f.budget)
	}
	return checkRanges([]ranged{
		{"capacity", o.Capacity, min(kind.Capacity, 1), maxChallenged},
		{"requests", o.Requests, minSearchRequests, maxChallengeRequests},
		{"tries", o.Tries, 1, maxTries},
		{"keep", o.Keep, 1, 8},
		{"jobs", o.Jobs, 0, maxTries},
	})
}
