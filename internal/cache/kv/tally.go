package kv

import (
	"math"

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

// StepCounts is what a cell did in one step of one layer, summed over its KV heads.
type StepCounts struct {
	Heads, Whole  int64 // heads served through sets or a store; heads all of whose rows are on the GPU
	Lookups, Hits int64 // sets, blocks of a store, or tokens under PQCache
	Misses        int64 // heads that retrieved and loaded (of a store: heads with at least one block to load)
	Wanted        int64 // tokens of the sets that the step asks for, k for each head, those on the GPU as a whole included
	Loaded, New   int64 // tokens transferred, whole sets or blocks; of them those that were not there before
	Evictions     int64 // blocks
}

func (n *StepCounts) Add(other StepCounts) {
	n.Heads, n.Whole = n.Heads+other.Heads, n.Whole+other.Whole
	n.Lookups, n.Hits, n.Misses = n.Lookups+other.Lookups, n.Hits+other.Hits, n.Misses+other.Misses
	n.Wanted, n.Loaded, n.New = n.Wanted+other.Wanted, n.Loaded+other.Loaded, n.New+other.New
	n.Evictions += other.Evictions
}

// StepQuality is what attention kept in one step of one layer: sums over the KV heads that are not on the GPU as a
// whole, in units of 1/QualityUnit. Sums of whole numbers do not depend on the order of the heads.
type StepQuality struct {
	Recall, LostMass int64
	OutputError      int64 // of a head, the mean over its query heads
	Measured         int64 // heads whose error was measured, those on the GPU as a whole included
	// Similarity is the mean cosine of a head's queries and those for which its set was loaded, before a step replaces
	// it; Compared is the number of heads with a set.
	Similarity, Compared int64
}

// QualityUnit is 1 in StepQuality.
const QualityUnit = 1 << 32

// mostQuality bounds what a head adds, so that no sum overflows: near a norm of 0 an error has no bound.
const mostQuality = 1 << 16

func qualityOf(x float64) int64 {
	return int64(math.Round(QualityUnit * min(max(x, -mostQuality), mostQuality)))
}

func (q *StepQuality) Add(other StepQuality) {
	q.Recall, q.LostMass = q.Recall+other.Recall, q.LostMass+other.LostMass
	q.OutputError, q.Measured = q.OutputError+other.OutputError, q.Measured+other.Measured
	q.Similarity, q.Compared = q.Similarity+other.Similarity, q.Compared+other.Compared
}

// steps are what Outcome.Steps and Outcome.Quality have.
type steps struct {
	counts  []StepCounts
	quality []StepQuality
}

// bytesOfStep is the memory of a step of a layer.
const bytesOfStep = 9*8 + 6*8

func newSteps(n int) steps { return steps{make([]StepCounts, n), make([]StepQuality, n)} }

func (s *steps) add(other steps) {
	for i := range other.counts {
		s.counts[i].Add(other.counts[i])
		s.quality[i].Add(other.quality[i])
	}
}

// SeriesOf returns the values of some steps and layers together, by the metrics that mean the same of a whole replay.
// One that has no value, such as the hit ratio of steps without a lookup, is left out.
func SeriesOf(n StepCounts, q StepQuality) (v metric.Values) {
	quotient := func(m metric.Metric, x, y int64) {
		if y > 0 {
			v.Set(m, float64(x)/float64(y))
		}
	}
	quotient(metric.HitRatio, n.Hits, n.Lookups)
	quotient(loadedPerSet, n.Loaded, n.Wanted)
	quotient(newPerSet, n.New, n.Wanted)
	heads := (n.Heads + n.Whole) * QualityUnit
	quotient(recall, q.Recall+n.Whole*QualityUnit, heads)
	quotient(lostMass, q.LostMass, heads)
	quotient(outputError, q.OutputError, q.Measured*QualityUnit)
	v.SetInt(metric.Evictions, n.Evictions)
	quotient(QuerySimilarity, q.Similarity, q.Compared*QualityUnit)
	return v
}

// QuerySimilarity is a metric of series.
var QuerySimilarity = metric.Metric{Name: "query_similarity", Title: "similarity of queries", Unit: metric.Ratio,
	Digits: 2, Merge: metric.Apart, Better: metric.Higher,
	Doc: "mean cosine of the queries of a step and those for which their head's set was loaded, before the step " +
		"replaces it"}

// SeriesMetrics are those of a series, in their order.
var SeriesMetrics = []metric.Metric{metric.HitRatio, loadedPerSet, newPerSet, recall, lostMass, outputError,
	metric.Evictions, QuerySimilarity}
