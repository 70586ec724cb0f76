package searching

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/cmd/cachesim/internal/commandline"
	"github.com/cachesim/cachesim/cmd/cachesim/internal/progress"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim/adversary"
	"github.com/cachesim/cachesim/internal/sim/challenge"
)

// Limits of the flags of challenge.
const (
	maxChallenged         = 1_000_000
	maxChallengeRequests  = 10_000_000
	challengedByDefault   = "lru,s3fifo,arc,lirs,w-tinylfu"
	challengeRequestsEach = 200 // of a workload, for each object that fits
)

type challengeFlags struct {
	against   string
	predictor string
	options   challenge.Options
	quiet     bool
	format    commandline.Format
}

// NewChallengeCommand returns the command challenge.
func NewChallengeCommand() *cobra.Command {
	f := &challengeFlags{}
	cmd := &cobra.Command{
		Use:   "challenge POLICY",
		Short: "Search for workloads on which a policy is far behind others",
		Long: `Searches for workloads on which a policy has fewer hits than the best of others at the same capacity. A
workload is up to five phases: Zipf's law, also with ranks that move or with scans between, loops, and new objects, with
popularity, lengths and numbers of objects around the capacity. Phases of the workloads on which the policy is furthest
behind are changed, and the worst ones are shortened as long as nine tenths of the lag are left.

How far a policy is behind is the difference of the hit ratios. What is found is what the search met: there may be
worse. Each workload has the command that replays it. The same seed finds the same on any number of cores.`,
		Example: `  cachesim challenge s3fifo --capacity 100
  cachesim challenge best --against lirs,arc,s3fifo,w-tinylfu,lru --tries 1000
  cachesim challenge 'igtcache(mode=safe)'
  cachesim challenge arc --against lru --format json | jq -r .trace`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.against, "against", challengedByDefault, "list of the policies that the best is taken of")
	flags.StringVar(&f.predictor, "predictor", "popu", "what policies that follow predictions get; see cachesim "+
		"predictors")
	flags.IntVar(&f.options.Capacity, "capacity", 100, "objects")
	flags.IntVar(&f.options.Requests, "requests", 0, fmt.Sprintf("largest number of requests in a workload, "+
		"which has half as many at least (0: %d for each object that fits)", challengeRequestsEach))
	flags.IntVar(&f.options.Tries, "tries", 400, "workloads that are tried")
	flags.IntVar(&f.options.Keep, "keep", 3, "workloads that are printed, at most")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed of every random choice")
	flags.IntVar(&f.options.Jobs, "jobs", 0, "workloads that are replayed at the same time (0: one per core)")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress bar")
	f.format.Register(cmd)
	commandline.CompleteNames(cmd, "against", policies.Registry.Names)
	return cmd
}

func (f *challengeFlags) run(cmd *cobra.Command, policy string) error {
	if err := f.check(); err != nil {
		return err
	}
	specs, err := f.specs(policy)
	if err != nil {
		return err
	}
	predictor, err := predict.Registry.Parse(f.predictor)
	if err != nil {
		return fmt.Errorf("--predictor: %w", err)
	}
	f.options.Predictor = &predictor
	if f.options.Requests == 0 {
		f.options.Requests = min(challengeRequestsEach*f.options.Capacity, maxChallengeRequests)
	}
	bar := progress.New(cmd.ErrOrStderr(), f.quiet, "trying", progress.Searches)
	bar.Set(0, int64(f.options.Tries))
	found, err := challenge.Search(cmd.Context(), specs, f.options, func() { bar.Add(1) })
	bar.Finish()
	if err != nil {
		return err
	}
	return challenge.Print(cmd.OutOrStdout(), challenge.Rows(found, specs, f.options), specs[0], f.options,
		string(f.format))
}

// specs returns the policy, and those that it is compared with: the list of --against without it.
func (f *challengeFlags) specs(policy string) ([]policies.Spec, error) {
	challenged, err := policies.Registry.Parse(policy)
	if err != nil {
		return nil, err
	}
	specs, err := policies.Registry.ParseList(f.against)
	if err != nil {
		return nil, fmt.Errorf("--against: %w", err)
	}
	specs = slices.DeleteFunc(specs, func(s policies.Spec) bool { return s.Full() == challenged.Full() })
	if len(specs) == 0 {
		return nil, fmt.Errorf("--against %s: want another policy than %s", f.against, challenged)
	}
	specs = slices.Insert(specs, 0, challenged)
	for _, s := range specs {
		if s.Entry.ShortFor != nil {
			continue // a replay tells whether it serves requests for keys
		}
		if err := adversary.Check(s.Entry); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

func (f *challengeFlags) check() error {
	requests := f.options.Requests
	if requests == 0 {
		requests = minSearchRequests
	}
	return checkRanges([]ranged{
		{"capacity", f.options.Capacity, 1, maxChallenged},
		{"requests", requests, minSearchRequests, maxChallengeRequests},
		{"tries", f.options.Tries, 1, maxTries},
		{"keep", f.options.Keep, 1, 8},
		{"jobs", f.options.Jobs, 0, maxTries},
	})
}
