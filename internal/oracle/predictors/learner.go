package predictors

import (
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// Costs of learning, in nanoseconds, rounded from profiles of fpb on a generated trace on one core of a loaded server:
// trainings took 2.5 to 2.7, predictions with their features 24 to 27, the trees alone 7 to 10 on an idle core. Other
// machines differ, but results depend on these constants, so they are the same everywhere.
const (
	trainingCost   = 2.5  // of a row, feature and tree
	predictionCost = 20.0 // of a tree
	// creditRequests is how many requests pay in advance: early trainings are cheap, and worth most.
	creditRequests = 4_500_000
	// mostPredicting is the share of the budget that predictions may use.
	mostPredicting = 0.4
)

const defaultBudget = "1.5us"

// parseBudget reads a time per request and returns nanoseconds.
func parseBudget(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > time.Second {
		return 0, fmt.Errorf("budget=%.80s: want a time per request up to 1s, for example %s", text, defaultBudget)
	}
	return float64(d), nil
}

// credit is what a replay may spend before its requests have paid for it.
func credit(budget float64) float64 { return creditRequests * budget }

const (
	// trainingBins are the bins of a feature. With 128, the histogram of eight features stays in the processor's first
	// cache.
	trainingBins = 128
	// growth is the share of the rows that must be new before a new model is worth it. With a tenth, hit ratios on
	// mooncake-conversation were half a point lower.
	growth = 0.05
)

// learner trains models on a sliding window of samples. A model is trained when there are enough new samples, and the
// budget of the requests so far pays for it. So learning costs a bounded time per request. Once the window is full and
// the error on new samples has stopped falling, samples and trainings become fewer.
type learner struct {
	samples *Samples
	data    *gbm.Data
	trainer *gbm.Trainer
	model   *gbm.Model // the last one
	column  int        // the one feature to learn from; -1: all
	retrain int
	fresh   int // samples since the last training
	thinner thinner

	budget      float64 // nanoseconds per request
	saved       float64 // of the budget
	predictions float64 // nanoseconds not charged to the budget yet
	perRow      float64 // cost of training
	perAnswer   float64 // cost of a prediction
	training    predict.Training
}

func newLearner(set FeatureSet, column int, c predict.Config) (*learner, error) {
	v := c.Params
	names := set.Names()
	options := gbm.Defaults()
	options.Trees, options.Leaves, options.LearningRate = v.Int("trees"), v.Int("leaves"), v.Float("rate")
	options.MaxBins, options.Seed = trainingBins, c.Seed
	if column >= 0 {
		names = names[column : column+1]
		options.Trees = 1
	}
	trainer, err := gbm.NewTrainer(options)
	if err != nil {
		return nil, fmt.Errorf("predictor gbm: %w", err)
	}
	data, err := gbm.NewData(names, v.Int("window"))
	if err != nil {
		return nil, fmt.Errorf("predictor gbm: %w", err)
	}
	budget, err := parseBudget(v.Text("budget"))
	if err != nil {
		return nil, err
	}
	return &learner{
		samples: NewSamples(set, v.Int("horizon"), c), data: data, trainer: trainer, column: column,
		thinner: thinner{window: v.Int("window")}, retrain: v.Int("retrain"), budget: budget, saved: credit(budget),
		perRow: float64(len(names) * options.Trees), perAnswer: predictionCost * float64(options.Trees),
	}, nil
}

// late reports whether predictions have used more than their part of the budget and of the credit.
func (l *learner) late() bool { return l.predictions > credit(l.budget)/4 }

// charge takes predictions from the budget.
func (l *learner) charge(predictions int) {
	l.predictions += float64(float64(predictions) * l.perAnswer)
}

// observe adds the request at pos and returns a new model when it is time for one, otherwise nil.
func (l *learner) observe(o predict.Object, pos int) *gbm.Model {
	// Predictions come in bursts, at evictions. Each request pays for a bounded part of them, so that they cannot use
	// up what trainings need.
	predicting := min(l.predictions, mostPredicting*l.budget)
	l.predictions -= predicting
	l.saved += l.budget - predicting
	l.samples.Observe(o, pos, l.add)
	work := float64(l.data.Len()) * l.perRow
	if l.fresh < l.retrain || float64(l.fresh) < growth*float64(l.data.Len()) || l.saved < work*trainingCost {
		return nil
	}
	l.fresh = 0
	l.saved -= float64(work * trainingCost)
	l.samples.thin = l.thinner.judge()
	// Only reported: decisions follow the table of costs, or results would depend on the machine.
	start := time.Now()
	m, err := l.trainer.Train(l.data)
	if err != nil {
		panic(fmt.Sprintf("predict: training on %d samples: %v", l.data.Len(), err))
	}
	l.training.Models++
	l.training.Work += int64(work)
	l.training.Elapsed += time.Since(start)
	l.model = m
	return m
}

func (l *learner) add(row []float64, label float64) {
	if l.column >= 0 {
		row = row[l.column : l.column+1]
	}
	if l.model != nil {
		l.charge(1)
		// Before the model can learn from the sample, so that this is the error on unseen data.
		l.thinner.measure(label - l.model.Predict(row))
	}
	if err := l.data.Add(row, label); err != nil {
		panic(fmt.Sprintf("predict: sample: %v", err))
	}
	l.fresh++
}

// thinner decides how many samples are worth learning from. It decides once per window of new samples, by the error on
// them before training. If the error has not fallen since the last decision, half as many are enough; if it has risen,
// twice as many are needed.
type thinner struct {
	window   int
	sum      float64 // of squared errors since the last decision
	count    int
	before   float64 // mean squared error at the last decision; 0: none yet
	halvings int
}

const (
	thinnest     = 4 // halvings: one sample of 16
	errorFalling = 0.98
	errorRising  = 1.1
)

// measure adds the error on a sample that no model has been trained on.
func (t *thinner) measure(e float64) {
	t.sum += float64(e * e)
	t.count++
}

// judge returns how often to halve the samples from now on.
func (t *thinner) judge() int {
	if t.count < t.window {
		return t.halvings
	}
	e := t.sum / float64(t.count)
	switch {
	case t.before == 0:
	case e > errorRising*t.before:
		t.halvings = max(0, t.halvings-1)
	case e > errorFalling*t.before:
		t.halvings = min(thinnest, t.halvings+1)
	}
	t.before, t.sum, t.count = e, 0, 0
	return t.halvings
}
