package fluid

import (
	"math"

	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// Prediction is what a node does with a load. Times are in seconds.
type Prediction struct {
	Mean, P99       float64 // latency; +Inf if the load is unstable
	Violations      float64 // share of the requests above the objective; 1 if the load is unstable
	EMBHit          float64 // share of the row lookups
	KVHit           float64 // share of the requests
	Utilisation     float64 // of the GPUs; from 1 on the load is unstable
	SlowEMB, SlowKV float64 // shares of transfer and computation in the latency of the slowest 1% of the requests
}

// sizes are what the caches hold, as shares of the memory of the node: less than they may where they have grown lately.
type sizes struct{ emb, kv float64 }

// Predict returns what happens to a load once both caches have adapted to a ratio, which is the share of EMB. It takes
// a few microseconds and allocates nothing.
func (m *Model) Predict(l hlem.Load, ratio float64) Prediction {
	return m.of(l).predict(l, sizes{ratio, 1 - ratio})
}

// invert returns where a rising function of 0 to 1 has a value.
func invert(f func(float64) float64, value float64) float64 {
	low, high := 0.0, 1.0
	for range 20 {
		if middle := (low + high) / 2; f(middle) < value {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func (m *Model) predict(l hlem.Load, s sizes) Prediction {
	var t tail
	x := &t.mixtures[0]
	m.mix(l, s, x)
	utilisation := l.Rate * x.mean / float64(m.servers)
	p := Prediction{EMBHit: x.embHit, KVHit: x.kvHit, Utilisation: utilisation, Mean: math.Inf(1), P99: math.Inf(1),
		Violations: 1}
	if utilisation >= 1 {
		return p
	}
	q := x.stationary(l.Rate, m.servers)
	t.add(0, q, 1)
	t.build()
	p.Mean = x.mean + float64(q.Busy*q.Wait)
	p.P99 = t.quantile(0.01)
	p.Violations = t.above(m.objective.Latency.Seconds())
	p.SlowEMB, p.SlowKV = t.slow(p.P99)
	return p
}

// Best returns the ratio with the least P99 among least, least+step and so on up to most: r*. If all loads are
// unstable, it is the ratio with the least utilisation. Ties go to the lower ratio.
func (m *Model) Best(l hlem.Load, least, most, step float64) float64 {
	best, bestP99, bestUtilisation := least, math.Inf(1), math.Inf(1)
	for i := 0; ; i++ {
		ratio := least + float64(float64(i)*step)
		if ratio > most+float64(step*1e-6) { // rounding must not lose the last one
			return best
		}
		p := m.Predict(l, min(ratio, most))
		if p.P99 < bestP99 || math.IsInf(bestP99, 1) && math.IsInf(p.P99, 1) && p.Utilisation < bestUtilisation {
			best, bestP99, bestUtilisation = min(ratio, most), p.P99, p.Utilisation
		}
	}
}

// Search is Best, found with a third of the predictions if there are many ratios: first in steps of five, then in
// single ones around the best of these. It misses an optimum that is narrower than that.
func (m *Model) Search(l hlem.Load, least, most, step float64) float64 {
	const few, coarse = 20, 5
	if (most-least)/step < few {
		return m.Best(l, least, most, step)
	}
	at := math.Round((m.Best(l, least, most, coarse*step) - least) / step)
	from, to := least+float64(max(0, at-coarse+1)*step), least+float64((at+coarse-1)*step)
	return m.Best(l, from, min(most, to), step)
}

// Rate returns how many requests per second give a utilisation at a share of hot users and a ratio. It is rounded to
// thousandths, so that traces are the same on machines whose floating-point numbers differ in the last bit.
func (m *Model) Rate(hotShare, utilisation, ratio float64) float64 {
	var x mixture
	m.mix(hlem.Load{HotShare: hotShare}, sizes{ratio, 1 - ratio}, &x)
	return math.Round(1e3*utilisation*float64(m.servers)/x.mean) / 1e3
}

// Loads returns the load of each epoch of a regime. Without spikes, each has the same utilisation at a ratio.
func (m *Model) Loads(steps []recommender.Step, utilisation, ratio float64) []hlem.Load {
	loads := make([]hlem.Load, len(steps))
	last, rate := recommender.Step{Base: -1}, 0.0
	for i, s := range steps {
		if s.Base != last.Base || s.Turned != last.Turned {
			last, rate = s, m.of(hlem.Load{Turned: s.Turned}).Rate(s.Base, utilisation, ratio)
		}
		loads[i] = hlem.Load{Rate: rate * (1 + s.Extra), HotShare: s.HotShare, Turned: s.Turned}
	}
	return loads
}

func (m *Model) Forecast(l hlem.Load) hlem.Forecast { return &forecast{m.of(l), l} }

type forecast struct {
	model *Model
	load  hlem.Load
}

// P99 implements hlem.Forecast. It is +Inf if the load is unstable at the ratio.
func (f *forecast) P99(ratio float64) float64 { return f.model.Predict(f.load, ratio).P99 }

// Best implements hlem.Forecast by Search.
func (f *forecast) Best(least, most, step float64) float64 {
	return f.model.Search(f.load, least, most, step)
}

func (f *forecast) Hits(ratio float64) (emb, kv float64) {
	return f.model.embHit(f.load, ratio), f.model.kvHit(f.load, 1-ratio)
}
