package controllers

import (
	"math"

	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// stateOf returns the state that a window shows, or false if a value is NaN.
func stateOf(w *hlem.Window) (hlem.State, bool) {
	state := w.State()
	for _, v := range state {
		if math.IsNaN(v) {
			return state, false
		}
	}
	return state, true
}

// slowest is the P99 from which on all count as the same, as a multiple of the objective: the load is too much. States
// are cut at the same multiple.
const slowest = 4

// latency returns the P99 of a window in seconds, at most slowest times the objective, or false if it is NaN or there
// is no objective.
func latency(w *hlem.Window) (float64, bool) {
	slo := w.Objective.Latency.Seconds()
	if math.IsNaN(w.P99) || slo <= 0 {
		return 0, false
	}
	return min(slowest*slo, max(slo/1000, w.P99)), true // above 0, since logarithms and ratios are taken of it
}

// averageKept is what the averages of P99 and reward keep in each epoch.
const averageKept = 0.9

// average is an exponential moving average. At the beginning it is the weighted mean of the values so far, so that the
// first one, of a cold cache, has no extra weight.
type average struct {
	kept        float64
	sum, weight float64
}

func (a *average) add(x float64) {
	a.sum = float64(a.kept*a.sum) + float64((1-a.kept)*x)
	a.weight = float64(a.kept*a.weight) + (1 - a.kept)
}

// value returns the average; 0 before the first value.
func (a *average) value() float64 {
	if a.weight == 0 {
		return 0
	}
	return a.sum / a.weight
}

// deviationOf returns the standard deviation of values, 0 of none.
func deviationOf(values []float64) float64 {
	mean, square := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		square += (v - mean) * (v - mean) / float64(len(values))
	}
	return math.Sqrt(square)
}
