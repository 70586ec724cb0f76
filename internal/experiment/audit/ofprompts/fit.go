package ofprompts

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/traces"
)

// Fitted is the capacity at which a number of servers find what the log says, as far as any capacity does.
type Fitted struct {
	Servers int
	// Units of the capacity of each server: where the replay is nearest to the log, and the least and the most of which
	// the log does not tell that they are farther.
	Units, Least, Most int64
	Everything         bool // Most holds all that was requested, so that more is the same
	Outcome            audit.Outcome
	Fits               bool // no other number of servers is nearer by more than chance

	apart []int64 // per prompt: how far the replay at Units is from the log
}

// Fit returns the best capacity for each number of servers, and the number of the best one.
func (l *Log) Fit(ctx context.Context, s Setup, jobs int) (all []Fitted, best int, err error) {
	t, err := l.trace(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	numbers := append([]int{1}, mostReplicas...)
	all = make([]Fitted, len(numbers))
	err = parallel.For(ctx, parallel.Jobs(jobs), len(numbers), func(ctx context.Context, _, i int) (err error) {
		s := s
		s.nodes = numbers[i]
		all[i], err = l.fit(ctx, s, t)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		if distance(all[i].Outcome) < distance(all[best].Outcome) {
			best = i
		}
	}
	for i := range all {
		all[i].Fits = isAsNear(all[i].apart, all[best].apart)
	}
	return all, best, nil
}

// searcher replays a setup at several capacities, each once.
type searcher struct {
	log   *Log
	setup Setup
	top   int64 // units that hold everything
	known map[int64]*replayed
	tried []int64 // sorted
}

// replayed is what a capacity gives.
type replayed struct {
	outcome audit.Outcome
	apart   []int64 // per prompt of which the log says something
}

// Each search looks at so many capacities, each larger than the last by the same factor, and then so often between the
// neighbours of the best.
const (
	coarseSteps = 14
	refinements = 3
	leastFactor = 4096 // by which the smallest is below what holds everything
)

// fit finds the capacity of a setup.
func (l *Log) fit(ctx context.Context, s Setup, t *traces.Trace) (f Fitted, err error) {
	v := &searcher{log: l, setup: s, top: int64(t.NumObjects), known: map[int64]*replayed{}}
	if block := s.Cell.Capacity; block.Bytes {
		v.top = max(1, t.Footprint())
	}
	for k := range coarseSteps + 1 {
		share := math.Pow(leastFactor, float64(k)/coarseSteps-1)
		if err := v.at(ctx, int64(math.Round(float64(v.top)*share))); err != nil {
			return f, err
		}
	}
	best := v.best()
	for range refinements {
		if err := v.around(ctx, best, best); err != nil {
			return f, err
		}
		best = v.best()
	}
	least, most := v.asNear(best)
	for range refinements {
		if err := v.around(ctx, least, most); err != nil {
			return f, err
		}
		best = v.best()
		least, most = v.asNear(best)
	}
	return Fitted{Servers: max(1, s.nodes), Units: best, Least: least, Most: most, Everything: most == v.top,
		Outcome: v.known[best].outcome, apart: v.known[best].apart}, nil
}

// at replays a capacity.
func (v *searcher) at(ctx context.Context, units int64) error {
	units = max(1, min(units, v.top))
	if v.known[units] != nil {
		return nil
	}
	seen, err := v.log.replay(ctx, v.setup.scaled(units))
	if err != nil {
		return err
	}
	v.known[units] = &replayed{seen.outcome(), seen.apart()}
	v.tried = append(v.tried, units)
	slices.Sort(v.tried)
	return nil
}

// best returns the capacity that is nearest to the log, the smallest of several.
func (v *searcher) best() int64 {
	best := v.tried[0]
	for _, units := range v.tried[1:] {
		if distance(v.known[units].outcome) < distance(v.known[best].outcome) {
			best = units
		}
	}
	return best
}

// around replays capacities between two that were tried and their neighbours outside.
func (v *searcher) around(ctx context.Context, low, high int64) error {
	i, _ := slices.BinarySearch(v.tried, low)
	k, _ := slices.BinarySearch(v.tried, high)
	for _, pair := range [][2]int64{{v.tried[max(0, i-1)], low}, {high, v.tried[min(len(v.tried)-1, k+1)]}} {
		if err := v.at(ctx, int64(math.Round(math.Sqrt(float64(pair[0])*float64(pair[1]))))); err != nil {
			return err
		}
	}
	return nil
}

// asNear returns the smallest and the largest capacity that are as near to the log as one of them.
func (v *searcher) asNear(best int64) (least, most int64) {
	i, _ := slices.BinarySearch(v.tried, best)
	near := func(k int) bool {
		return k >= 0 && k < len(v.tried) && isAsNear(v.known[v.tried[k]].apart, v.known[best].apart)
	}
	low, high := i, i
	for near(low - 1) {
		low--
	}
	for near(high + 1) {
		high++
	}
	return v.tried[low], v.tried[high]
}

// apart returns how many tokens each prompt is apart, of which the log says something.
func (s *seen) apart() (all []int64) {
	for i := range s.hits {
		if s.says(i) {
			_, measured, replayed := s.item(i)
			all = append(all, max(measured-replayed, replayed-measured))
		}
	}
	return all
}

// The bootstrap draws so many blocks of prompts, so often. One of two replays is farther if it is in all but the lowest
// draws.
const (
	bootstrapBlocks = 50
	draws           = 400
	lowestShare     = 0.025
)

// isAsNear reports whether one replay is not farther from the log than another by more than chance: by draws of blocks
// of prompts.
func isAsNear(apart, best []int64) bool {
	blocks := min(bootstrapBlocks, len(apart))
	farther := make([]int64, blocks)
	for i := range apart {
		farther[i*blocks/len(apart)] += apart[i] - best[i]
	}
	r := rand.New(rand.NewPCG(1, 1))
	low := 0
	for range draws {
		sum := int64(0)
		for range blocks {
			sum += farther[r.IntN(blocks)]
		}
		if sum <= 0 {
			low++
		}
	}
	return float64(low) > lowestShare*draws
}

// capacity is that the server has another capacity than stated.
func (l *Log) capacity(t *traces.Trace) cause {
	return cause{Name: "capacity", Kind: "capacity", Try: func(ctx context.Context, at trial) (Setup, string, error) {
		f, err := l.fit(ctx, at.Setup, t)
		if err != nil {
			return at.Setup, "", err
		}
		stated := at.Setup.Cell.Capacity
		at.Setup = at.Setup.scaled(f.Units)
		says := fmt.Sprintf("a capacity of about %s in the place of %s (%s)", about(at.Setup, f.Units),
			show.Capacity(stated.Amount, stated.Unit()), f.Interval(at.Setup))
		return at.Setup, says, nil
	}}
}

// about writes a number of units of the capacity of a setup.
func about(s Setup, units int64) string {
	c := s.scaled(units).Cell.Capacity
	return show.About(c.Amount, c.Unit())
}

// Interval says which capacities fit as well.
func (f Fitted) Interval(s Setup) string {
	if f.Everything {
		return about(s, f.Least) + " or more fit"
	}
	return show.Between(about(s, f.Least), about(s, f.Most)) + " fit"
}

// distance is how far a replay is from the log: the share of the tokens on which they disagree, and the gap.
func distance(o audit.Outcome) float64 { return 1 - o.Agreement() + math.Abs(o.Gap()) }
