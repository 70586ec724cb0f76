package ofprompts

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/traces"
)

// Fitted is the capacity at which a number of servers find what the log says, as far as any capacity does.
type Fitted struct {
	Servers int `json:"servers"`
	// Units of the capacity of each server: where the replay is nearest to the log, and the least and the most of which
	// the log does not tell that they are farther.
	Units      int64         `json:"-"`
	Least      int64         `json:"-"`
	Most       int64         `json:"-"`
	Everything bool          `json:"everything"` // Most holds all that was requested, so that more is the same
	Capacity   string        `json:"capacity"`
	Interval   string        `json:"interval"`
	Replayed   float64       `json:"replayed_hit_ratio"`
	Agreement  float64       `json:"agreement"`
	Fits       bool          `json:"fits"` // no other number of servers is nearer by more than chance, and it is near
	Outcome    audit.Outcome `json:"-"`

	apart []int64 // per prompt: how far the replay at Units is from the log
}

// Fit is which capacities and numbers of servers explain a log.
type Fit struct {
	Trace    string   `json:"trace"`
	Measured float64  `json:"hit_ratio"` // that the log says
	Prompts  int      `json:"prompts"`
	ByMean   float64  `json:"agreement_of_mean"` // of the mean hit ratio, for each prompt
	Rows     []Fitted `json:"servers"`
	best     int
}

// Best returns what is nearest to the log.
func (f Fit) Best() Fitted { return f.Rows[f.best] }

// Explains reports whether the best says more of the prompts than their mean hit ratio.
func (f Fit) Explains() bool { return f.Best().Agreement > f.ByMean }

// Fit finds the best capacity for each number of servers. t is the log as the setup reads it.
func (l *Log) Fit(ctx context.Context, s Setup, t *traces.Trace, jobs int) (f Fit, err error) {
	mean := byMean(t)
	numbers := append([]int{1}, mostReplicas...)
	f = Fit{Trace: t.Name, Measured: mean.HitRatio(), Prompts: mean.Items, ByMean: mean.Agreement(),
		Rows: make([]Fitted, len(numbers))}
	err = parallel.For(ctx, parallel.Jobs(jobs), len(numbers), func(ctx context.Context, _, i int) (err error) {
		s := s
		s.nodes = numbers[i]
		f.Rows[i], err = l.fit(ctx, s, t)
		return err
	})
	if err != nil {
		return f, err
	}
	for i := range f.Rows {
		if distance(f.Rows[i].Outcome) < distance(f.Best().Outcome) {
			f.best = i
		}
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		r.Fits = r.isNear() && f.Prompts >= leastPrompts && isAsNear(r.apart, f.Best().apart)
	}
	return f, nil
}

// leastPrompts is from how many prompts on chance can be told, and farGap the gap from which on a replay is far from
// what was measured, whatever chance allows.
const (
	leastPrompts = 30
	farGap       = 0.05
)

// isNear reports whether the replay has about as many hits as the log.
func (f Fitted) isNear() bool { return math.Abs(f.Outcome.Gap()) < farGap }

// Sentence says which capacity and number of servers are nearest to the log.
func (f Fit) Sentence() string {
	b := f.Best()
	nearest := fmt.Sprintf("%s with %s", show.Counted(b.Servers, "server"), b.Capacity)
	if b.Servers > 1 {
		nearest += " each"
	}
	if !f.Explains() {
		return fmt.Sprintf("No capacity explains what the log says of %s (%.1f%% of the tokens): even the nearest, %s, "+
			"agrees on %.1f%% of them, and the mean hit ratio by itself on %.1f%%.", show.Counted(f.Prompts, "prompt"),
			100*f.Measured, nearest, 100*b.Agreement, 100*f.ByMean)
	}
	return fmt.Sprintf("Nearest to the log (%.1f%% of the tokens of %s) is %s (%s): replayed %.1f%%, with agreement on "+
		"%.1f%% of the tokens.", 100*f.Measured, show.Counted(f.Prompts, "prompt"), nearest, b.Interval, 100*b.Replayed,
		100*b.Agreement)
}

// Table has a row for each number of servers.
func (f Fit) Table() tabular.Grid {
	return tabular.GridOf([]tabular.Column[Fitted]{
		{Head: tabular.Head{Name: "servers", Weight: tabular.Key}, Cell: func(r Fitted) string {
			return fmt.Sprint(r.Servers)
		}},
		{Head: tabular.Head{Name: "capacity of each", Weight: tabular.Key}, Cell: func(r Fitted) string {
			return r.Capacity
		}},
		{Head: tabular.Head{Name: "as near"}, Cell: func(r Fitted) string { return r.Interval }},
		{Head: tabular.Head{Name: "replayed"}, Cell: func(r Fitted) string {
			return fmt.Sprintf("%.1f%%", 100*r.Replayed)
		}},
		{Head: tabular.Head{Name: "agrees"}, Cell: func(r Fitted) string {
			return fmt.Sprintf("%.1f%%", 100*r.Agreement)
		}},
		{Head: tabular.Head{Name: "fits", IsText: true}, Cell: func(r Fitted) string {
			switch {
			case r.Fits && f.Explains():
				return "yes"
			case r.isNear() && f.Prompts < leastPrompts:
				return "unknown"
			}
			return "no"
		}},
	}, f.Rows)
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
	least, most = v.between(least, most)
	o := v.known[best].outcome
	f = Fitted{Servers: max(1, s.nodes), Units: best, Least: least, Most: most, Everything: most == v.top, Outcome: o,
		Capacity: about(s, best), Replayed: o.ReplayedRatio(), Agreement: o.Agreement(), apart: v.known[best].apart}
	f.Interval = f.interval(s)
	return f, nil
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

// between returns the ends of an interval of capacities that were tried as far as the next ones outside, which are too
// far from the log: nothing is known of those between.
func (v *searcher) between(least, most int64) (from, to int64) {
	i, _ := slices.BinarySearch(v.tried, least)
	k, _ := slices.BinarySearch(v.tried, most)
	from, to = least, most
	if i > 0 {
		from = v.tried[i-1] + 1
	}
	if k < len(v.tried)-1 {
		to = v.tried[k+1] - 1
	}
	return from, to
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
			show.Capacity(stated.Amount, stated.Unit()), f.Interval)
		return at.Setup, says, nil
	}}
}

// about writes a number of units of the capacity of a setup.
func about(s Setup, units int64) string {
	c := s.scaled(units).Cell.Capacity
	switch {
	case c.Unit() == show.Bytes:
		return show.About(c.Amount, c.Unit())
	case c.Amount == 1:
		return "1 block"
	}
	return show.About(c.Amount, c.Unit()) + " blocks"
}

// interval says which capacities fit as well.
func (f Fitted) interval(s Setup) string {
	switch {
	case f.Outcome.Items < leastPrompts:
		return "too few prompts for an interval"
	case f.Everything:
		return about(s, f.Least) + " or more fit"
	case f.Least == f.Most:
		return "no other fits"
	}
	return show.Between(about(s, f.Least), about(s, f.Most)) + " fit"
}

// distance is how far a replay is from the log: the share of the tokens on which they disagree, and the gap.
func distance(o audit.Outcome) float64 { return 1 - o.Agreement() + math.Abs(o.Gap()) }
