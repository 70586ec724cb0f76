package admission

import (
	"math"
	"math/big"

	"github.com/cachesim/cachesim/internal/base/params"
)

var descentParams = climbParams(0.005, 0.05,
	params.Param{Name: "acceleration", Default: "momentum", Choices: []string{"none", "momentum", "nesterov"},
		Doc: "what carries steps on"},
	params.Param{Name: "beta", Default: 0.9, Min: 0, Max: 1, Doc: "share of the velocity that stays"},
)

// slope estimates by how much the miss ratio changes per object of the window, from the last two samples.
type slope struct {
	before
	step float64
}

func newSlope(c climberConfig) slope {
	return slope{before{sampleRequests: c.share("percent-sample")}, float64(c.share("percent-pivot"))}
}

// next returns the slope; ok is false after the first sample, which only a probing step can follow.
func (s *slope) next(ratio, window float64) (gradient float64, ok bool) {
	if moved := window - s.window; s.any && moved != 0 {
		gradient = (s.ratio - ratio) / moved
	}
	ok = s.any
	s.remember(ratio, window)
	return gradient, ok
}

// descent follows the slope of the miss ratio downwards, in one of three ways.
type descent struct {
	slope
	acceleration   string
	beta, velocity float64
}

func newDescent(c climberConfig) windowClimber {
	return &descent{slope: newSlope(c), acceleration: c.Text("acceleration"), beta: c.Float("beta")}
}

func (d *descent) grow(ratio, window float64) float64 {
	gradient, ok := d.next(ratio, window)
	if !ok {
		return d.step
	}
	switch d.acceleration {
	case "momentum":
		d.velocity = float64(d.beta*d.velocity) + float64((1-d.beta)*gradient)
		return -d.step * d.velocity
	case "nesterov":
		was := d.velocity
		d.velocity = float64(d.beta*d.velocity) - float64(d.step*gradient)
		return float64((1+d.beta)*d.velocity) - float64(d.beta*was)
	}
	return -d.step * gradient
}

var adamParams = climbParams(0.005, 0.05,
	params.Param{Name: "beta1", Default: 0.9, Min: 0, Max: 0.999999, Doc: "share of the moment that stays"},
	params.Param{Name: "beta2", Default: 0.999, Min: 0, Max: 0.999999, Doc: "share of the velocity that stays"},
	params.Param{Name: "epsilon", Default: 1e-8, Min: 1e-300, Max: 1, Doc: "what keeps the divisor above 0"},
)

// moments are the means of the slope and of its square.
type moments struct {
	slope
	beta1, beta2, epsilon float64
	moment, velocity      float64
	left1, left2          power // weight of what was before the first sample
	gradient              float64
}

func newMoments(c climberConfig) moments {
	return moments{slope: newSlope(c), beta1: c.Float("beta1"), beta2: c.Float("beta2"), epsilon: c.Float("epsilon"),
		left1: newPower(), left2: newPower()}
}

func (m *moments) update(ratio, window float64) (ok bool) {
	if m.gradient, ok = m.next(ratio, window); !ok {
		return false
	}
	m.left1.raise(m.beta1)
	m.left2.raise(m.beta2)
	m.moment = float64(m.beta1*m.moment) + float64((1-m.beta1)*m.gradient)
	m.velocity = float64(m.beta2*m.velocity) + float64((1-m.beta2)*(m.gradient*m.gradient))
	return true
}

// power is a power of a number. Rounding it to high at each step would be too far off after many.
type power struct {
	exact *big.Float
	high  float64
}

func newPower() power { return power{new(big.Float).SetPrec(200).SetInt64(1), 1} }

// raise multiplies by x.
func (p *power) raise(x float64) { p.high, _ = p.exact.Mul(p.exact, big.NewFloat(x)).Float64() }

// adam takes steps whose length follows from these means, without the bias of their start.
type adam struct{ moments }

func newAdam(c climberConfig) windowClimber { return &adam{newMoments(c)} }

func (a *adam) grow(ratio, window float64) float64 {
	if !a.update(ratio, window) {
		return a.step
	}
	moment, velocity := a.moment/(1-a.left1.high), a.velocity/(1-a.left2.high)
	return -(a.step * moment) / (math.Sqrt(velocity) + a.epsilon)
}

// nadam is adam that looks one step ahead.
type nadam struct{ moments }

func newNadam(c climberConfig) windowClimber { return &nadam{newMoments(c)} }

func (n *nadam) grow(ratio, window float64) float64 {
	if !n.update(ratio, window) {
		return n.step
	}
	moment, velocity := n.moment/(1-n.left1.high), n.velocity/(1-n.left2.high)
	ahead := float64(n.beta1*moment) + float64(((1-n.beta1)/(1-n.left1.high))*n.gradient)
	return -(n.step / (math.Sqrt(velocity) + n.epsilon)) * ahead
}

// amsGrad is adam with the largest velocity so far, and with the bias.
type amsGrad struct {
	moments
	most float64
}

func newAMSGrad(c climberConfig) windowClimber { return &amsGrad{moments: newMoments(c)} }

func (a *amsGrad) grow(ratio, window float64) float64 {
	if !a.update(ratio, window) {
		return a.step
	}
	a.most = max(a.velocity, a.most)
	return -(a.step * a.moment) / (math.Sqrt(a.most) + a.epsilon)
}
