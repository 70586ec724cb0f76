package controllers

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/serving"
)

// recoveryParams are the parameters of the recovery controller (section IV-A, equation 8). The text has lost its
// numbers, except for the 10 epochs.
var recoveryParams = []params.Param{
	{Name: "recovery", Default: false, Doc: "in a burst, a fixed rule decides instead"},
	{Name: "burst_z", Default: 2.0, Min: 0, Max: 100,
		Doc: "a burst begins if the P99 is above its mean by more than this number of standard deviations"},
	{Name: "burst_window", Default: 10, Min: 2, Max: 1000,
		Doc: "epochs of the standard deviation, and the least number of epochs before a burst is detected (the paper: 10)"},
	{Name: "burst_floor_ms", Default: 0.5, Min: 0, Max: 1e6, Doc: "least standard deviation"},
	{Name: "burst_calm", Default: 2, Min: 1, Max: 1000,
		Doc: "a burst ends after this number of epochs in a row within one standard deviation of the mean"},
	{Name: "burst_epochs", Default: 8, Min: 1, Max: 1000,
		Doc: "epochs after which a burst ends in any case: the load has changed for longer, and a new mean is learned"},
	{Name: "hot_share", Default: 0.4, Min: 0, Max: 1,
		Doc: "in a burst memory moves to the users if more than this share of the requests comes from hot users"},
	{Name: "burst_step", Default: 0.1, Min: 0, Max: 1, Doc: "share of the memory that moves in each epoch of a burst"},
	{Name: "burst_most", Default: 0.25, Min: 0, Max: 1,
		Doc: "largest share that moves in one burst (the paper: from 0.51 to 0.26)"},
}

// withRecovery appends the parameters of the recovery controller, which is on or off by default.
func withRecovery(on bool, ps ...params.Param) []params.Param {
	for _, p := range recoveryParams {
		if p.Name == "recovery" {
			p.Default = on
		}
		ps = append(ps, p)
	}
	return ps
}

// checkRecovery rejects parameters of a recovery controller that is off. The first parameter switches it on.
func checkRecovery(v params.Values) error {
	if v.Bool("recovery") {
		return nil
	}
	return params.NoEffect(recoveryParams[1:], v, "recovery=off", "recovery=on")
}

// recovery detects bursts, and says what to do in one. Its baseline is frozen in a burst, a few windows of which would
// otherwise lift the mean and hide it.
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

// newRecovery returns nil if the parameters say that there is none.
func newRecovery(v params.Values) *recovery {
	if !v.Bool("recovery") {
		return nil
	}
	return &recovery{z: v.Float("burst_z"), floor: v.Float("burst_floor_ms") / 1e3, window: v.Int("burst_window"),
		calm: v.Int("burst_calm"), longest: v.Int("burst_epochs"), hotShare: v.Float("hot_share"),
		step: v.Float("burst_step"), most: v.Float("burst_most"), mean: average{kept: averageKept}}
}

// override returns the ratio for the next epoch if the last one belongs to a burst.
func (c *recovery) override(w *serving.Window) (ratio float64, ok bool) {
	if c == nil {
		return 0, false
	}
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
