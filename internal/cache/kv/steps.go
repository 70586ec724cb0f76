package kv

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/metric"
)

// StepCounts is what a cell did in one step of one layer, summed over its KV heads.
type StepCounts struct {
	Heads, Whole  int64 // heads served through sets or a store; heads all of whose rows are on the GPU
	Lookups, Hits int64 // sets, blocks of a store, or tokens under PQCache
	Misses        int64 // heads that retrieved and loaded (of a store: heads with at least one block to load)
	Wanted        int64 // tokens of the sets that the step asks for, k for each head, those on the GPU as a whole included
	Loaded, New   int64 // tokens transferred, whole sets or blocks; of them those that were not there before
	Evictions     int64 // blocks
}

// Add adds what was counted elsewhere.
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

// mostQuality bounds what a head adds, so that no sum overflows. The relative error of an output with a norm near 0 has
// no bound.
const mostQuality = 1 << 16

func qualityOf(x float64) int64 {
	return int64(math.Round(QualityUnit * min(max(x, -mostQuality), mostQuality)))
}

// Add adds the sums of other heads.
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

// add adds the counts of other heads.
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
