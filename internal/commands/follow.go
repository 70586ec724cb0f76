package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/commands/progress"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/runs"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/lives"
	"github.com/cachesim/cachesim/internal/traces"
)

// following is the flags --lives and --top.
type following struct {
	lives bool
	top   int
}

// mostTop limits --top.
const mostTop = 10_000

func (f *following) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.lives, "lives", false, "what happens to objects: columns for the age of objects and the time since "+
		"their last request when they are evicted, and for the share that is never hit; over time with --series")
	flags.IntVar(&f.top, "top", 0, "list the objects that miss most: this many of the best policy at each capacity")
}

// isSet reports whether objects are to be followed.
func (f *following) isSet() bool { return f.lives || f.top > 0 }

// check rejects setups whose objects cannot be followed; listed says that there is a place for the list of --top.
func (f *following) check(setups []experiment.Setup, listed bool) error {
	if f.top < 0 || f.top > mostTop {
		return fmt.Errorf("--top %d: want a number of objects from 1 to %d", f.top, mostTop)
	}
	if !f.isSet() {
		return nil
	}
	if f.top > 0 && !listed {
		return fmt.Errorf("--top %d: the list is printed below a table and on the page; use --format table, or add -o", f.top)
	}
	for _, s := range setups {
		cell := sim.Cell{Parts: s.Parts}
		err, flag := sim.CheckLives(cell), "lives"
		if f.top > 0 {
			flag = fmt.Sprintf("top %d", f.top)
			if s.Parts.Replayed().Cache.Entry.NeedsPrompts() {
				err = errors.New("blocks of prompts have no keys that tell who missed; remove --top, or use --by with a field " +
					"of the prompts")
			}
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
	}
	return nil
}

// checkOn rejects setups whose objects cannot be followed on a trace.
func (f *following) checkOn(setups []experiment.Setup, t *traces.Trace) error {
	for _, s := range setups {
		if err := lives.CheckTiers(&s.Parts.Cache.Entry, false, t); err != nil && f.isSet() {
			return fmt.Errorf("--lives: %w", err)
		}
	}
	return nil
}

// addTo adds what it needs of the trace.
func (f *following) addTo(n traces.Needs) traces.Needs {
	n.Clock, n.Keys = n.Clock || f.lives, n.Keys || f.top > 0
	return n
}

// follow replays the finished cells once more, request by request, adds what happens to their objects to the results,
// and returns the objects that miss most in each cell that has a record.
func (f *runFlags) follow(cmd *cobra.Command, t *traces.Trace, cells []experiment.Cell,
	results experiment.Results) (missed [][]runs.Missed, err error) {
	if !f.objects.isSet() {
		return nil, nil
	}
	followed := slices.DeleteFunc(slices.Clone(cells), func(c experiment.Cell) bool {
		_, ended := results[c.Hash]
		return !ended || c.Auxiliary
	})
	bar := progress.New(cmd.ErrOrStderr(), f.trace.quiet, "following objects", progress.Requests)
	defer bar.Finish()
	bar.Set(0, int64(len(followed))*int64(len(t.Objects)))
	all := make([]sim.Lives, len(followed))
	err = parallel.For(cmd.Context(), parallel.Jobs(f.jobs), len(followed),
		func(ctx context.Context, _, i int) error {
			if followed[i].Parts.Policy.Entry.Kind == policies.Bound {
				return nil
			}
			replayer, cell, err := f.kept.On(t, followed[i])
			if err != nil {
				return err
			}
			all[i], err = replayer.WithProgress(bar.Add).Lives(ctx, cell, f.objects.top)
			return err
		})
	for i, c := range followed {
		result := results[c.Hash]
		if err == nil && f.objects.lives {
			for name := range all[i].Values.Names() {
				x, _ := all[i].Values.Get(name)
				result.Record.SetNamed(name, x)
			}
			if c.Series.IsSet() {
				result.Series = append(result.Series, all[i].Series...)
				result.Record.SeriesDigest = series.Digest(result.Series)
			}
			results[c.Hash] = result
		}
		missed = append(missed, runs.MissedOf(t, all[i].Top))
	}
	return missed, err
}
