package kv

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// bytesOfNumber is the size of a number on the GPU.
const bytesOfNumber = 2

// tally is what a cell counted on one head. Tokens are counted, each of which has a key and a value.
type tally struct {
	StepCounts // of all steps
	comparison

	recall, mass  float64 // sums over the steps
	lost          float64
	middle, exact float64 // mass of the middle, and that of the exact sets
	errors        float64 // sum over steps and query heads
	outputs       int64   // number of them
	missed        int64   // under PQCache: tokens that were wanted and not there

	// in the last step, in tokens
	set, visible, whole int64
	labels              int64 // queries
}

// keepWhole counts a head all of whose rows are on the GPU, apart from what is counted per step.
func (t *tally) keepWhole(shape *attention.Shape) {
	t.recall, t.mass = float64(shape.Steps), float64(shape.Steps)
	t.whole = int64(shape.Tokens())
}

// add adds what was counted on another head.
func (t *tally) add(other *tally) {
	t.StepCounts.Add(other.StepCounts)
	t.recall, t.mass, t.lost = t.recall+other.recall, t.mass+other.mass, t.lost+other.lost
	t.middle, t.exact = t.middle+other.middle, t.exact+other.exact
	t.errors, t.outputs, t.missed = t.errors+other.errors, t.outputs+other.outputs, t.missed+other.missed
	t.set, t.visible, t.whole = t.set+other.set, t.visible+other.visible, t.whole+other.whole
	t.labels += other.labels
}

// hitRatioOfAll returns the hit ratio with the heads that are on the GPU as a whole. They hit in every lookup, and have
// as many in a step as the others on average.
func (t *tally) hitRatioOfAll() float64 {
	if t.Lookups == 0 {
		return metric.Divide(float64(t.Whole), float64(t.Heads+t.Whole))
	}
	heads, whole, lookups := float64(t.Heads), float64(t.Whole), float64(t.Lookups)
	return float64(float64(heads*float64(t.Hits))+float64(whole*lookups)) / float64((heads+whole)*lookups)
}

// The bins of errors: from leastError on, each is 2% above the one before. Below is bin 0.
const (
	errorBins  = 1000
	leastError = 1e-6
)

var binWidth = random.Log(1.02) // the same on every machine, as bins must be

// histogram counts output errors. Counts add up in any order to the same.
type histogram [errorBins]int64

func (h *histogram) add(x float64) {
	bin := 0
	if x > leastError {
		bin = min(errorBins-1, 1+int(random.Log(x/leastError)/binWidth))
	}
	h[bin]++
}

// quantile returns the upper end of the bin in which a share of the errors has been reached; 0 for none.
func (h *histogram) quantile(share float64) float64 {
	var total, sum int64
	for _, n := range h {
		total += n
	}
	for bin, n := range h {
		if sum += n; float64(sum) >= share*float64(total) {
			if bin == 0 {
				return 0
			}
			return leastError * random.Exp(float64(bin)*binWidth)
		}
	}
	return 0
}

// values returns the metrics of a cell from the tallies of its heads, in their order. Without effects of heads nothing
// is weighed by them: importances that are drawn say nothing about losses, and the rule qsac follows them.
func values(heads []tally, serves serving, effects []float64, errors *histogram, shape *attention.Shape) (
	v metric.Values, c cache.Counts) {
	var all tally
	var byEffect, errorByEffect, effect float64
	for i := range heads {
		t := &heads[i]
		all.add(t)
		if effects == nil {
			continue
		}
		byEffect += float64(effects[i] * metric.Divide(t.lost, float64(t.Heads+t.Whole)))
		errorByEffect += float64(effects[i] * metric.Divide(t.errors, float64(t.outputs)))
		effect += effects[i]
	}
	c = cache.Counts{Requests: all.Lookups, Hits: all.Hits, Evictions: all.Evictions}
	steps, perToken := float64(all.Heads+all.Whole), int64(2*bytesOfNumber*shape.Dim)
	v.Set(hitRatioAll, all.hitRatioOfAll())
	v.SetInt(loaded, 2*all.Loaded)
	v.SetInt(loadedNew, 2*all.New)
	v.SetInt(loadedBytes, all.Loaded*perToken)
	v.Set(loadedPerSet, metric.Divide(float64(all.Loaded), float64(all.Wanted)))
	v.Set(newPerSet, metric.Divide(float64(all.New), float64(all.Wanted)))
	if serves == servesLayer {
		v.Set(missedPerSet, metric.Divide(float64(all.missed), float64(all.Wanted)))
	}
	v.Set(recall, all.recall/steps)
	v.Set(mass, all.mass/steps)
	v.Set(lostMass, all.lost/steps)
	v.Set(middleMass, metric.Divide(all.middle, all.exact))
	v.Set(outputError, metric.Divide(all.errors, float64(all.outputs)))
	v.Set(outputErrorTail, errors.quantile(0.95))
	if effects != nil {
		v.Set(lostByEffect, metric.Divide(byEffect, effect))
		v.Set(outputErrorByEffect, metric.Divide(errorByEffect, effect))
	}
	setComparisons(&v, heads)
	sets, visible, whole := all.set*perToken, all.visible*perToken, all.whole*perToken
	labels := all.labels * int64(bytesOfNumber*shape.Dim)
	v.SetInt(gpuSets, sets)
	v.SetInt(gpuLabels, labels)
	v.SetInt(gpuVisible, visible)
	v.SetInt(gpuWhole, whole)
	v.SetInt(gpuBytes, sets+labels+visible+whole)
	return v, c
}
