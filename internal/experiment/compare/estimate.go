package compare

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/results"
)

// quantity is a metric with a quantity behind it that is better if lower and has meaningful ratios: the miss ratio
// behind the hit ratio.
type quantity struct {
	metric.Metric
	complement bool   // it is 1 minus the value
	noun       string // "miss ratio"
}

func quantityOf(name string) quantity {
	m, _ := metric.Lookup(name)
	m.Name = name
	q := quantity{Metric: m, noun: m.Label(), complement: m.Unit == metric.Share && m.Better == metric.Higher}
	switch {
	case m.Name == metric.HitRatio.Name:
		q.noun = "miss ratio"
	case m.Name == metric.ByteHitRatio.Name:
		q.noun = "byte miss ratio"
	case q.complement:
		q.noun = "1 − " + m.Label()
	}
	return q
}

// cost returns the quantity behind a value.
func (q quantity) cost(value float64) float64 {
	if q.complement {
		return 1 - value
	}
	return value
}

// lessIsBetter reports whether the quantity behind the metric is to be small.
func (q quantity) lessIsBetter() bool { return q.complement || q.Better == metric.Lower }

// Outcome says how a run compares with the first one.
type Outcome string

// The outcomes. A difference within its interval is a tie. Metrics without a better direction are higher or lower.
const (
	Equal  Outcome = "equal"
	Tie    Outcome = "tie"
	Better Outcome = "better"
	Worse  Outcome = "worse"
	Above  Outcome = "higher"
	Below  Outcome = "lower"
)

// Estimate is the difference between two runs over independent samples.
type Estimate struct {
	Old        float64 `json:"old"` // means
	New        float64 `json:"new"`
	Difference float64 `json:"difference"` // New - Old
	Margin     margin  `json:"margin"`     // of the mean of the paired differences
	Samples    int     `json:"n"`          // traces, or seeds of one trace
	// Ratio is the geometric mean of the ratios new / old of the quantity behind the metric; NaN without any.
	Ratio   number  `json:"ratio"`
	Outcome Outcome `json:"outcome"`
}

// margin is half of a 95% confidence interval, by Student's t; NaN for a single sample.
type margin = number

// marginOf returns the mean of samples and its margin.
func marginOf(samples []float64) (mean float64, m margin) {
	e := results.Average(samples)
	if len(samples) == 1 {
		return e.Mean, margin(math.NaN())
	}
	return e.Mean, margin(e.Margin)
}

// sample is one of the independent measurements that an estimate is made of.
type sample struct {
	old, is  float64
	logRatio float64 // of the quantities behind the values; NaN if one of them is 0
	rounding float64 // how far the difference may be off because values were printed with few digits
	equal    bool    // all values are
}

// sampleOf returns the sample of a pair; ok is false if one of the results does not have the metric.
func (q quantity) sampleOf(p pair) (s sample, ok bool) {
	old, hasOld := p.old.Get(q.Name)
	is, hasNew := p.is.Get(q.Name)
	if !hasOld || !hasNew {
		return sample{}, false
	}
	s = sample{old: old, is: is, equal: old == is, logRatio: math.NaN()}
	if x, y := q.cost(old), q.cost(is); x > 0 && y > 0 {
		s.logRatio = math.Log(y / x)
	}
	s.rounding = p.old.Rounding[q.Name] + p.is.Rounding[q.Name]
	return s, true
}

// merged returns the mean of samples that are not independent: of the capacities of one trace, say.
func merged(samples []sample) sample {
	all := columnsOf(samples)
	return sample{
		old: statistics.Mean(all.old), is: statistics.Mean(all.is), logRatio: statistics.Mean(all.logRatios),
		rounding: statistics.Mean(all.rounding), equal: all.equal,
	}
}

// columns are the values of samples.
type columns struct {
	old, is, differences, rounding []float64
	logRatios                      []float64 // without those that are undefined
	equal                          bool
}

func columnsOf(samples []sample) columns {
	c := columns{equal: true}
	for _, s := range samples {
		c.old, c.is = append(c.old, s.old), append(c.is, s.is)
		c.differences = append(c.differences, s.is-s.old)
		c.rounding = append(c.rounding, s.rounding)
		if !math.IsNaN(s.logRatio) {
			c.logRatios = append(c.logRatios, s.logRatio)
		}
		c.equal = c.equal && s.equal
	}
	return c
}

// estimate returns the estimate from independent samples.
func (q quantity) estimate(samples []sample) Estimate {
	all := columnsOf(samples)
	e := Estimate{Old: statistics.Mean(all.old), New: statistics.Mean(all.is), Samples: len(samples),
		Ratio: number(math.Exp(statistics.Mean(all.logRatios)))}
	e.Difference, e.Margin = marginOf(all.differences)
	e.Outcome = q.outcome(e, all)
	return e
}

// slack keeps the rounding error of sums from deciding.
const slack = 1e-12

func (q quantity) outcome(e Estimate, all columns) Outcome {
	rounding := statistics.Mean(all.rounding)
	if rounding > 0 {
		rounding += slack
	}
	switch {
	case all.equal:
		return Equal
	case math.Abs(e.Difference) <= e.Margin.orZero()+rounding:
		return Tie
	}
	return q.direction(e.Difference)
}

// direction says what a difference means that is not a tie.
func (q quantity) direction(difference float64) Outcome {
	switch {
	case q.Better == metric.Neither && difference > 0:
		return Above
	case q.Better == metric.Neither:
		return Below
	case (difference > 0) == (q.Better == metric.Higher):
		return Better
	}
	return Worse
}
