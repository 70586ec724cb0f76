package admission

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
)

// windowClimber decides by what the window of w-tinylfu grows.
type windowClimber interface {
	// period returns after how many requests it decides next.
	period() int64
	// grow returns by how many objects the window should grow, or shrink if below 0, given the hit ratio of these requests
	// and the present size of the window, which may have a fraction that it has not used yet.
	grow(hitRatio, window float64) float64
}

// requestWatcher is a windowClimber that sees each request, while the cache fills, too.
type requestWatcher interface {
	request(o policies.Object, full bool)
}

// climberEntry is a climber that users name.
type climberEntry struct {
	name   string
	params []params.Param
	make   func(climberConfig) windowClimber
	// filling says that requests count while the cache fills, too.
	filling bool
}

func (e climberEntry) Signature() (string, []params.Param) { return e.name, e.params }

// climberConfig is what a climber is made from.
type climberConfig struct {
	params.Values
	capacity    int64
	window      float64 // share of the capacity that the window begins with
	seed        uint64
	frequencies *Frequencies // which has the hashes of objects
}

// share returns a share of the capacity in whole objects.
func (c climberConfig) share(of string) int64 { return int64(c.Float(of) * float64(c.capacity)) }

// climbers are the climbers of the window, with the names and parameters of Caffeine's simulator.
var climbers = params.NewRegistry("climber", "simple,adam",
	climberEntry{name: "none"},
	climberEntry{name: "simple", params: simpleParams, make: newSimple},
	climberEntry{name: "correlation", params: correlationParams, make: newCorrelation},
	climberEntry{name: "trust-region-ewma", params: trustRegionParams, make: newTrustRegion},
	climberEntry{name: "simulated-annealing", params: annealingParams, make: newAnnealing},
	climberEntry{name: "stochastic-gradient-descent", params: descentParams, make: newDescent},
	climberEntry{name: "adam", params: adamParams, make: newAdam},
	climberEntry{name: "nadam", params: adamParams, make: newNadam},
	climberEntry{name: "amsgrad", params: adamParams, make: newAMSGrad},
	climberEntry{name: "indicator", params: indicatorParams, make: newIndicator},
	climberEntry{name: "minisim", params: miniSimParams, make: newMiniSim, filling: true},
	climberEntry{name: "feedback", params: feedbackParams},
)

// climbParam is the parameter that names a climber.
var climbParam = policies.Param{Name: "climb", Default: "none",
	Doc: "how the window climbs, by objects only: none, " +
		"simple, correlation, trust-region-ewma, simulated-annealing, stochastic-gradient-descent, adam, nadam, amsgrad, " +
		"indicator, minisim or feedback, with its parameters as in adam(beta1=0.8)"}

// checkClimb refuses a climber that is none, or with wrong parameters.
func checkClimb(v policies.Values) error {
	if _, err := climbers.Parse(v.Text("climb")); err != nil {
		return fmt.Errorf("climb=%s: %w", v.Text("climb"), err)
	}
	return nil
}

// climbing is what w-tinylfu keeps for a climber.
type climbing struct {
	by             windowClimber
	watcher        requestWatcher // nil if it sees samples alone
	filling        bool
	hits, requests int64
	period         int64
	window         float64 // size of the window, with a fraction of an object that it has still to grow by
	counted        int64   // objects in the window when it was computed
	full           bool    // before the request that is being served
}

// startClimbing prepares the climber that the parameters name.
func (p *wTinyLFU) startClimbing(c policies.Config) error {
	spec, err := climbers.Parse(c.Params.Text("climb"))
	if err != nil {
		return err
	}
	p.climber = spec.Entry
	// The simulator has the share of the main part, and subtracts that from 1.
	p.climberConfig = climberConfig{Values: spec.Params, window: 1 - (1 - p.window), seed: c.Seed,
		frequencies: &p.Frequencies}
	p.restartClimbing(c.Capacity)
	return nil
}

// restartClimbing forgets what the climber has learned.
func (p *wTinyLFU) restartClimbing(capacity int64) {
	p.climberConfig.capacity = capacity
	switch name := p.climber.name; {
	case name == "none":
	case name == "feedback":
		p.feedback = newFeedback(p.climberConfig, p)
	default:
		p.climb = &climbing{by: p.climber.make(p.climberConfig), filling: p.climber.filling}
		p.climb.watcher, _ = p.climb.by.(requestWatcher)
		p.climb.period = max(p.climb.by.period(), 1)
	}
}

func (p *wTinyLFU) isFull() bool { return int64(p.Frequencies.resident) >= p.Frequencies.capacity }

// climbAfter ends a request: after a sample of them the border between window and main part moves.
func (p *wTinyLFU) climbAfter(o policies.Object, hit, full bool) {
	c := p.climb
	if c.watcher != nil {
		c.watcher.request(o, full)
	}
	if full || c.filling {
		c.requests++
		if hit {
			c.hits++
		}
	}
	if !full || c.requests < c.period {
		return
	}
	c.window += float64(p.Used[inWindow] - c.counted)
	p.moveBorder(c.by.grow(float64(c.hits)/float64(c.requests), c.window))
	c.counted = p.Used[inWindow]
	c.hits, c.requests = 0, 0
	c.period = max(c.by.period(), 1)
}

// moveBorder enlarges the window, whose fraction of an object counts towards the next time.
func (p *wTinyLFU) moveBorder(by float64) {
	c := p.climb
	switch {
	case by > 0 && p.Limit[inProtected] > 0:
		by = min(by, float64(p.Limit[inProtected]))
		steps := int64(c.window+by) - int64(c.window)
		c.window += by
		for range steps {
			c.window -= float64(p.growByOne())
		}
	case by < 0 && p.Limit[inWindow] > 0:
		by = min(-by, float64(p.Limit[inWindow]))
		steps := int64(c.window) - int64(c.window-by)
		c.window -= by
		for range steps {
			c.window += float64(p.shrinkByOne())
		}
	}
}

// growByOne moves the next victim of probation into the window. It returns 1 if there is none.
func (p *wTinyLFU) growByOne() (missing int) {
	p.Limit[inWindow]++
	p.Limit[inProtected]--
	p.spill(inProtected)
	o, ok := p.Pop(inProbation)
	if !ok {
		return 1
	}
	p.Put(inWindow, o)
	return 0
}

// shrinkByOne makes the oldest object of the window the next victim on probation. It returns 1 if the window is empty.
func (p *wTinyLFU) shrinkByOne() (missing int) {
	p.Limit[inWindow]--
	p.Limit[inProtected]++
	o, ok := p.Pop(inWindow)
	if !ok {
		return 1
	}
	p.Put(inProbation, o)
	p.List.Unlink(o)
	p.List.PushBack(inProbation, o)
	return 0
}
