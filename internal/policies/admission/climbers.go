package admission

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
)

// climbParams are the parameters that climbers by samples have in common.
func climbParams(pivot, sample float64, more ...params.Param) []params.Param {
	return append([]params.Param{
		{Name: "percent-pivot", Default: pivot, Min: 0, Max: 1, Doc: "first step, as a share of the capacity"},
		{Name: "percent-sample", Default: sample, Min: 0, Max: 1e6,
			Doc: "requests in a sample, per object that fits"},
	}, more...)
}

// before has what was measured in the previous sample.
type before struct {
	any            bool
	ratio, window  float64
	sampleRequests int64
}

func (b *before) period() int64 { return b.sampleRequests }

func (b *before) remember(ratio, window float64) { b.any, b.ratio, b.window = true, ratio, window }

var simpleParams = climbParams(0.0625, 10,
	params.Param{Name: "tolerance", Default: 0.0, Min: -1, Max: 1,
		Doc: "rise of the hit ratio from which the direction stays"},
	params.Param{Name: "step-decay-rate", Default: 0.98, Min: 0, Max: 1, Doc: "factor of the step after each sample"},
	params.Param{Name: "sample-decay-rate", Default: 1.0, Min: 0, Max: 1, Doc: "factor of the sample after each"},
	params.Param{Name: "restart-threshold", Default: 0.05, Min: 0, Max: 1,
		Doc: "change of the hit ratio that restarts it"},
	params.Param{Name: "min-initial-step", Default: 2.0, Min: 0, Max: 1e9, Doc: "least first step, in objects"},
	params.Param{Name: "small-cache-threshold", Default: 512, Min: 0, Max: 1 << 40,
		Doc: "objects up to which a cache is small"},
	params.Param{Name: "small-cache-step-decay-rate", Default: 0.995, Min: 0, Max: 1,
		Doc: "factor of the step there"},
	params.Param{Name: "small-cache-sample-ratio-cap", Default: 4.0, Min: 1, Max: 1e6,
		Doc: "how much longer samples get there"},
)

// simple goes on while the hit ratio rises, by shorter and shorter steps, and turns round when it falls.
type simple struct {
	before
	small                          bool
	growing                        bool
	first, step                    float64
	firstSample                    int64
	tolerance, restart             float64
	decay, smallDecay, sampleDecay float64
	longest                        float64
}

func newSimple(c climberConfig) windowClimber {
	threshold := int64(c.Int("small-cache-threshold"))
	s := &simple{
		first:       max(c.Float("percent-pivot")*float64(c.capacity), c.Float("min-initial-step")),
		small:       threshold > 0 && c.capacity <= threshold,
		tolerance:   c.Float("tolerance"),
		restart:     c.Float("restart-threshold"),
		decay:       c.Float("step-decay-rate"),
		sampleDecay: c.Float("sample-decay-rate"),
		smallDecay:  c.Float("small-cache-step-decay-rate"),
		longest:     c.Float("small-cache-sample-ratio-cap"),
		firstSample: c.share("percent-sample"),
	}
	s.growing, s.step, s.sampleRequests = s.small, s.first, s.firstSample
	return s
}

func (s *simple) grow(ratio, window float64) float64 {
	if ratio < s.ratio+s.tolerance {
		s.growing = !s.growing
	}
	if math.Abs(ratio-s.ratio) >= s.restart {
		s.sampleRequests, s.step = s.firstSample, s.first
	}
	by := s.step
	if !s.growing {
		by = -by
	}
	s.remember(ratio, window)
	if !s.small {
		s.step *= s.decay
		s.sampleRequests = max(1, int64(float64(s.sampleRequests)*s.sampleDecay))
		return by
	}
	s.step *= s.smallDecay
	times := s.first / max(s.first/s.longest, math.Abs(s.step))
	s.sampleRequests = int64(float64(s.firstSample) * min(max(times, 1), s.longest))
	return by
}

var correlationParams = climbParams(0.0625, 10,
	params.Param{Name: "scale", Default: 0.95, Min: 0, Max: 100,
		Doc: "length of a step, in that of the previous one"},
	params.Param{Name: "restart-threshold", Default: 5, Min: 1, Max: 1 << 30,
		Doc: "samples with falling hit ratios that " +
			"restart it"},
)

// correlation moves the window in the direction in which hit ratio and window changed together.
type correlation struct {
	before
	first, scale   float64
	falls, restart int
}

func newCorrelation(c climberConfig) windowClimber {
	b := &correlation{first: float64(max(1, c.share("percent-pivot"))), scale: c.Float("scale"),
		restart: c.Int("restart-threshold")}
	b.sampleRequests = c.share("percent-sample")
	return b
}

func (c *correlation) grow(ratio, window float64) float64 {
	defer c.remember(ratio, window)
	moved, change := window-c.window, ratio-c.ratio
	if !c.any || moved == 0 {
		return c.first
	}
	if change >= 0 {
		c.falls = 0
	} else if c.falls++; c.falls >= c.restart {
		c.falls = 0
		return c.first
	}
	if change == 0 {
		return 0
	}
	return math.Copysign(max(1, c.scale*math.Abs(moved)), moved*change)
}

var trustRegionParams = climbParams(0.0625, 10,
	params.Param{Name: "ewma-alpha", Default: 0.3, Min: 0, Max: 1, Doc: "weight of the last change of the hit ratio"},
	params.Param{Name: "shrink-threshold", Default: 0.25, Min: 0, Max: 1e6,
		Doc: "ratio of changes below which steps shrink"},
	params.Param{Name: "grow-threshold", Default: 0.75, Min: 0, Max: 1e6,
		Doc: "ratio of changes above which steps grow"},
	params.Param{Name: "grow-factor", Default: 1.5, Min: 0, Max: 1e6, Doc: "factor by which they grow"},
	params.Param{Name: "shrink-factor", Default: 0.5, Min: 0, Max: 1, Doc: "factor by which they shrink"},
	params.Param{Name: "overshoot", Default: 0.005, Min: 0, Max: 1, Doc: "fall of the hit ratio that turns it round"},
	params.Param{Name: "min-frac", Default: 0.001, Min: 0, Max: 1, Doc: "least step, as a share of the capacity"},
	params.Param{Name: "max-frac", Default: 0.1, Min: 0, Max: 1, Doc: "largest step, as a share of the capacity"},
)

// trustRegion lengthens and shortens its steps by how much the hit ratio still changes.
type trustRegion struct {
	before
	step, least, most        float64
	changed, smoothed        float64 // amounts by which the hit ratio changed
	alpha, below, above      float64
	longer, shorter, turning float64
	growing                  bool
}

func newTrustRegion(c climberConfig) windowClimber {
	size := float64(c.capacity)
	t := &trustRegion{
		step:    c.Float("percent-pivot") * size,
		least:   max(1, c.Float("min-frac")*size),
		alpha:   c.Float("ewma-alpha"),
		below:   c.Float("shrink-threshold"),
		above:   c.Float("grow-threshold"),
		longer:  c.Float("grow-factor"),
		shorter: c.Float("shrink-factor"),
		turning: c.Float("overshoot"),
	}
	t.most = max(t.least+1, c.Float("max-frac")*size)
	t.sampleRequests = c.share("percent-sample")
	return t
}

func (t *trustRegion) grow(ratio, window float64) float64 {
	defer t.remember(ratio, window)
	if !t.any {
		t.growing = true
		return t.step
	}
	change := ratio - t.ratio
	now := math.Abs(change)
	t.smoothed = float64((1-t.alpha)*t.smoothed) + float64(t.alpha*now)
	if t.changed > 1e-12 {
		switch times := t.smoothed / t.changed; {
		case times < t.below:
			t.step *= t.shorter
		case times > t.above:
			t.step *= t.longer
		}
	}
	t.step = min(max(t.step, t.least), t.most)
	t.changed = now
	if change < -t.turning {
		t.growing = !t.growing
		return t.signed(t.step * 0.5)
	}
	t.growing = (change >= 0) == t.growing
	return t.signed(t.step)
}

func (t *trustRegion) signed(step float64) float64 {
	if t.growing {
		return step
	}
	return -step
}

var annealingParams = climbParams(0.0625, 10,
	params.Param{Name: "cool-down-rate", Default: 0.99, Min: 0, Max: 1,
		Doc: "factor of the temperature after each sample"},
	params.Param{Name: "min-temperature", Default: 0.00001, Min: 1e-12, Max: 1,
		Doc: "least temperature; it begins with 1"},
	params.Param{Name: "random-restart", Default: 0.002, Min: 0, Max: 1,
		Doc: "probability of a restart after a sample"},
)

// annealing tries windows around the best one, nearer and nearer.
type annealing struct {
	before
	draws                            *rand.PCG
	widest, coolDown, least, restart float64
	temperature                      float64
	bestWindow, bestRatio            float64
}

// annealingBits is the purpose of the random bits of annealing.
const annealingBits = 0xc001

func newAnnealing(c climberConfig) windowClimber {
	a := &annealing{
		draws:       random.Stream(c.seed, annealingBits),
		widest:      c.Float("percent-pivot") * float64(c.capacity),
		coolDown:    c.Float("cool-down-rate"),
		least:       c.Float("min-temperature"),
		restart:     c.Float("random-restart"),
		temperature: 1,
	}
	a.sampleRequests = c.share("percent-sample")
	return a
}

func (a *annealing) grow(ratio, window float64) float64 {
	if !a.any {
		a.bestWindow, a.bestRatio = window, ratio
	} else {
		rise := ratio - a.bestRatio
		if rise >= 0 || random.Unit(a.draws) < random.Exp(rise/a.temperature) {
			a.bestWindow, a.bestRatio = window, ratio
		}
		if random.Unit(a.draws) < a.restart {
			a.temperature, a.bestWindow, a.bestRatio = 1, window, ratio
		} else {
			a.temperature = max(a.least, a.coolDown*a.temperature)
		}
	}
	a.remember(ratio, window)
	return a.bestWindow + float64(random.Normal(a.draws)*a.widest*a.temperature) - window
}
