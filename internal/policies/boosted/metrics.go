package boosted

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// Metrics of the policy.
var (
	windowMetric = metric.Metric{Name: "memory_window", Unit: metric.Count, Merge: metric.Apart,
		Doc: "requests after which an object is forgotten; 0 if that was not known yet because the cache never filled"}
	chosenMetric = metric.Metric{Name: "chosen_reach", Unit: metric.Ratio, Digits: 1, Merge: metric.Apart,
		Doc: "window=auto: the best window in the first fifth of the trace, as a multiple of the number of objects that " +
			"fit; absent before the end of that"}
	batchMetric = metric.Metric{Name: "training_batch", Unit: metric.Count, Merge: metric.Apart,
		Doc: "labelled samples that the next model is to be trained on"}
	samplesMetric = metric.Metric{Name: "training_samples", Unit: metric.Count,
		Doc: "tracked objects that were drawn as samples"}
	labelledMetric = metric.Metric{Name: "labelled_samples", Unit: metric.Count,
		Doc: "samples that have received their label"}
	candidatesMetric = metric.Metric{Name: "candidates", Unit: metric.Count, Better: metric.Lower,
		Doc: "residents that a model has scored for evictions"}
	beyondMetric = metric.Metric{Name: "candidates_beyond", Unit: metric.Count,
		Doc: "candidates that were expected beyond the memory window, or left it: an eviction of one is as good as another"}
	decisionsMetric = metric.Metric{Name: "decisions", Unit: metric.Count,
		Doc: "evictions since the first model"}
	goodMetric = metric.Metric{Name: "good_decisions", Unit: metric.Count, Better: metric.Higher,
		Doc: "decisions whose object was not requested within the next memory window, or the rest of the replay"}
	goodShareMetric = metric.Metric{Name: "good_decision_ratio", Unit: metric.Share, Digits: 2, Better: metric.Higher,
		Merge: metric.Quotient(goodMetric, decisionsMetric),
		Doc:   "good_decisions / decisions (LRB, section 3.3, with the memory window as the boundary)"}
	memoryMetric = metric.Metric{Name: "learning_bytes", Unit: metric.Bytes, Better: metric.Lower,
		Doc: "most memory that histories, samples without a label and a batch have taken"}
)

var metrics = []metric.Metric{predict.TrainingsMetric, predict.WorkMetric, windowMetric, chosenMetric, batchMetric,
	samplesMetric, labelledMetric, candidatesMetric, beyondMetric, decisionsMetric, goodMetric, goodShareMetric,
	memoryMetric}

// tally counts what the policy does.
type tally struct {
	samples            int64
	candidates, beyond int64
	decisions, regrets int64
}

// Counters implements policies.Reporter.
func (p *lrb) Counters() []policies.Counter {
	t, l := &p.tally, &p.learner
	counters := []policies.Counter{
		policies.Count(predict.TrainingsMetric, float64(l.trainings)),
		policies.Count(predict.WorkMetric, float64(l.work)),
		policies.Count(windowMetric, float64(p.window)),
		policies.Count(batchMetric, float64(l.batch)),
		policies.Count(samplesMetric, float64(t.samples)),
		policies.Count(labelledMetric, float64(l.samples)),
		policies.Count(candidatesMetric, float64(t.candidates)),
		policies.Count(beyondMetric, float64(t.beyond)),
		policies.Count(decisionsMetric, float64(t.decisions)),
		policies.Count(goodMetric, float64(t.decisions-t.regrets)),
		policies.Count(memoryMetric, float64(p.learningBytes())),
	}
	if p.chosen > 0 {
		counters = append(counters, policies.Count(chosenMetric, p.chosen))
	}
	if t.decisions > 0 {
		counters = append(counters, policies.Count(goodShareMetric, float64(t.decisions-t.regrets)/float64(t.decisions)))
	}
	return counters
}

// learningBytes returns the most memory that histories, samples that wait and batches have taken. None of their
// columns ever shrinks but that of the batch, and batches grow.
func (p *lrb) learningBytes() int64 {
	const perNumber, perSample, perFeature, perRow = 4, 8, 9, 8
	histories := int64(p.history.made) * int64(p.history.deltas+p.history.counters) * perNumber
	rows := max(int64(p.learner.learned), p.learner.lastBatch)
	return histories + perSample*int64(len(p.waiting.pairs)) + rows*int64(perFeature*p.learner.width()+perRow)
}
