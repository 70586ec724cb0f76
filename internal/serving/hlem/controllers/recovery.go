package controllers

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// Values of the parameter recovery.
const (
	recoveryOn    = "on"
	recoveryPaper = "paper"
	recoveryOff   = "off"
)

// recoveryParam chooses the recovery controller (section IV-A).
var recoveryParam = params.Param{Name: "recovery", Choices: []string{recoveryOn, recoveryPaper, recoveryOff},
	Doc: "in a burst, a rule decides instead: on: memory moves to the users as the share of hot users rises above its " +
		"mean, and goes back; paper: it moves by a fixed step while the P99 is high"}

// surgeParams are the parameters of recovery=on, which is ours.
var surgeParams = []params.Param{
	{Name: "surge_z", Default: 4.0, Min: 0, Max: 100,
		Doc: "recovery=on: a burst begins if the share of hot users is above " +
			"its mean by more than this number of standard deviations: its own, or those of chance if that is more"},
	{Name: "surge_slope", Default: 0.35, Min: 0, Max: 10, Doc: "recovery=on: how much memory moves to the users, as a " +
		"multiple of what the share of hot users has risen by"},
}

// recoveryParams are the parameters of recovery=paper (equation 8). The text has lost its numbers, except for the 10
// epochs.
var recoveryParams = []params.Param{
	{Name: "burst_z", Default: 2.0, Min: 0, Max: 100,
		Doc: "recovery=paper: a burst begins if the P99 is above its mean by more than this number of standard deviations"},
	{Name: "burst_window", Default: 10, Min: 2, Max: 1000, Doc: "recovery=paper: epochs of the standard deviation, and " +
		"the least number of epochs before a burst is detected (the paper: 10)"},
	{Name: "burst_floor_ms", Default: 0.5, Min: 0, Max: 1e6, Doc: "recovery=paper: least standard deviation"},
	{Name: "burst_calm", Default: 2, Min: 1, Max: 1000,
		Doc: "recovery=paper: a burst ends after this number of epochs in " +
			"a row within one standard deviation of the mean"},
	{Name: "hot_share", Default: 0.4, Min: 0, Max: 1,
		Doc: "recovery=paper: in a burst memory moves to the users if more " +
			"than this share of the requests comes from hot users"},
	{Name: "burst_step", Default: 0.1, Min: 0, Max: 1,
		Doc: "recovery=paper: share of the memory that moves in each epoch"},
}

// bothParams are parameters of both.
var bothParams = []params.Param{
	{Name: "burst_epochs", Default: 8, Min: 1, Max: 1000,
		Doc: "epochs after which a burst ends in any case: the load has changed for longer, and a new mean is learned"},
	{Name: "burst_most", Default: 0.25, Min: 0, Max: 1,
		Doc: "largest share that moves in one burst (the paper: from 0.51 to 0.26)"},
}

// withRecovery appends the parameters of the recovery controllers.
func withRecovery(which string, ps ...params.Param) []params.Param {
	choice := recoveryParam
	choice.Default = which
	return slices.Concat(ps, []params.Param{choice}, surgeParams, recoveryParams, bothParams)
}

// checkRecovery rejects parameters of a recovery controller that is not chosen.
func checkRecovery(v params.Values) error {
	for _, other := range []struct {
		params    []params.Param
		chosen    bool
		otherwise string
	}{
		{surgeParams, v.Text("recovery") == recoveryOn, "recovery=on"},
		{recoveryParams, v.Text("recovery") == recoveryPaper, "recovery=paper"},
		{bothParams, v.Text("recovery") != recoveryOff, "recovery=on"},
	} {
		if other.chosen {
			continue
		}
		if err := params.NoEffect(other.params, v, "recovery="+v.Text("recovery"), other.otherwise); err != nil {
			return err
		}
	}
	return nil
}

// overrider decides in the place of others, in bursts.
type overrider interface {
	// override returns the ratio for the next epoch if the last one belongs to a burst.
	override(w *hlem.Window) (ratio float64, ok bool)
}

// newRecovery returns the recovery controller that the parameters choose.
func newRecovery(v params.Values) overrider {
	switch v.Text("recovery") {
	case recoveryOn:
		return newSurge(v)
	case recoveryPaper:
		return newPaperRecovery(v)
	}
	return never{}
}

type never struct{}

func (never) override(*hlem.Window) (float64, bool) { return 0, false }

// surge follows the share of hot users above its mean: the best ratio falls with it.
type surge struct {
	z, slope, most float64
	longest        int

	hot, squares average // of the share without bursts
	calm         int     // epochs of them
	burst        bool
	start, base  float64 // the ratio and the mean when the burst began
	epochs       int
}

// fewestCalm is how many epochs are seen before a burst can begin.
const fewestCalm = 10

func newSurge(v params.Values) *surge {
	return &surge{z: v.Float("surge_z"), slope: v.Float("surge_slope"), most: v.Float("burst_most"),
		longest: v.Int("burst_epochs"), hot: average{kept: averageKept}, squares: average{kept: averageKept}}
}

func (s *surge) override(w *hlem.Window) (ratio float64, ok bool) {
	limit := s.limit(w)
	switch {
	case s.burst && w.HotShare > s.base+float64(limit/2) && s.epochs < s.longest:
		s.epochs++
		return s.moved(w), true
	case s.burst:
		s.burst = false
		if s.epochs >= s.longest {
			s.calm, s.hot, s.squares = 0, average{kept: averageKept}, average{kept: averageKept}
		}
		s.learn(w)
		return s.start, true
	case s.calm >= fewestCalm && w.HotShare > s.hot.value()+limit:
		s.burst, s.start, s.base, s.epochs = true, w.Ratio, s.hot.value(), 1
		return s.moved(w), true
	}
	s.learn(w)
	return 0, false
}

// limit returns the rise above the mean that is no chance.
func (s *surge) limit(w *hlem.Window) float64 {
	mean := s.hot.value()
	own := math.Sqrt(max(0, s.squares.value()-float64(mean*mean)))
	n := float64(max(1, w.Requests))
	return s.z * max(own, math.Sqrt(max(1/n, mean*(1-mean))/n))
}

func (s *surge) moved(w *hlem.Window) float64 {
	return s.start - min(s.most, s.slope*(w.HotShare-s.base))
}

func (s *surge) learn(w *hlem.Window) {
	s.calm++
	s.hot.add(w.HotShare)
	s.squares.add(w.HotShare * w.HotShare)
}

// recovery is the paper's: it detects bursts by the P99, and says what to do in one. Its baseline is frozen in a burst,
// a few windows of which would otherwise lift the mean and hide it.
type recovery struct {
	z, floor      float64
	window        int
	calm, longest int
	hotShare      float64
	step, most    float64 // of the ratio: in an epoch, in a burst

	recent []float64 // P99 of the last epochs without a burst, the oldest first
	mean   average   // of the P99
	burst  bool
	start  float64 // ratio when the burst began
	epochs int     // of the burst
	quiet  int     // how many of the last ones in a row were calm
}

func newPaperRecovery(v params.Values) *recovery {
	return &recovery{z: v.Float("burst_z"), floor: v.Float("burst_floor_ms") / 1e3, window: v.Int("burst_window"),
		calm: v.Int("burst_calm"), longest: v.Int("burst_epochs"), hotShare: v.Float("hot_share"),
		step: v.Float("burst_step"), most: v.Float("burst_most"), mean: average{kept: averageKept}}
}

// override returns the ratio for the next epoch if the last one belongs to a burst.
func (c *recovery) override(w *hlem.Window) (ratio float64, ok bool) {
	p99, ok := latency(w)
	if !ok {
		return 0, false
	}
	before := c.burst
	if !c.detect(p99) {
		return 0, false
	}
	if !before {
		c.start = w.Ratio
	}
	if w.HotShare > c.hotShare {
		return min(w.Ratio, max(w.Ratio-c.step, c.start-c.most)), true // never up, even if the ratio is already lower
	}
	return w.Ratio, true
}

// detect takes the P99 of an epoch and reports whether it belongs to a burst.
func (c *recovery) detect(p99 float64) bool {
	deviation := max(c.floor, deviationOf(c.recent))
	switch {
	case !c.burst && len(c.recent) == c.window && p99 > c.mean.value()+float64(c.z*deviation):
		c.burst, c.epochs, c.quiet = true, 1, 0
		return true
	case c.burst && c.lasts(p99 <= c.mean.value()+deviation):
		return true
	}
	if len(c.recent) == c.window {
		c.recent = append(c.recent[:0], c.recent[1:]...)
	}
	c.recent = append(c.recent, p99)
	c.mean.add(p99)
	return false
}

// lasts reports whether a burst goes on after another epoch. If it has lasted too long, the baseline is forgotten: the
// load is another one now.
func (c *recovery) lasts(calm bool) bool {
	if calm {
		c.quiet++
	} else {
		c.quiet = 0
	}
	switch {
	case c.quiet >= c.calm:
		c.burst = false
	case c.epochs >= c.longest:
		c.burst, c.recent, c.mean = false, c.recent[:0], average{kept: c.mean.kept}
	default:
		c.epochs++
	}
	return c.burst
}
