package predict

import (
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/predict/gbm"
)

// Costs of learning, in nanoseconds. They were measured once, on one core of a server; results depend on them, and so
// they are the same on every machine.
const (
	trainingCost   = 2.0  // of a row, feature and tree
	predictionCost = 12.0 // of a tree
	// creditRequests are how many requests pay in advance: trainings are cheap while a replay begins, and worth most.
	creditRequests = 2_000_000
	// mostPredicting is the share of the budget that predictions may take from training.
	mostPredicting = 0.4
)

const defaultBudget = "1.5us"

// parseBudget reads a time per request and returns nanoseconds.
func parseBudget(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > time.Second {
		return 0, fmt.Errorf("budget=%.80s: want a time per request up to 1s, such as %s; "+
			"rows times features times trees are no longer counted", text, defaultBudget)
	}
	return float64(d), nil
}

// credit is what a replay may spend before its requests have paid for it.
func credit(budget float64) float64 { return creditRequests * budget }

const (
	// trainingBins are the bins of a feature. With 128, the histogram of eight features stays in the processor's first
	// cache.
	trainingBins = 128
	// growth is the share of the rows that must be new before a new model is worth it.
	growth = 0.1
)

// learner trains models on a sliding window of samples. A model is trained when there are enough new samples, and not
// before the budget of the requests so far has paid for it, so that learning costs a bounded time per request. Once
// the window is full and the error on new samples has stopped falling, samples thin out, and with them the trainings.
type learner struct {
	samples *Samples
	data    *gbm.Data
	trainer *gbm.Trainer
	model   *gbm.Model // the last one
	column  int        // the one feature to learn from; -1: all
	window  int
	retrain int
	fresh   int // samples since the last training
	thinner thinner

	budget      float64 // nanoseconds per request
	saved       float64 // of the budget
	predictions float64 // nanoseconds that are not yet taken from the budget
	perRow      float64 // cost of training
	perAnswer   float64 // cost of a prediction
	training    Training
}

func newLearner(set FeatureSet, column int, c Config) (*learner, error) {
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
		window: v.Int("window"), retrain: v.Int("retrain"), budget: budget, saved: credit(budget),
		perRow: float64(len(names) * options.Trees), perAnswer: predictionCost * float64(options.Trees),
	}, nil
}

// late reports whether predictions have taken more than their part of the budget, and of what is paid in advance.
func (l *learner) late() bool { return l.predictions > credit(l.budget)/4 }

// charge takes predictions from the budget.
func (l *learner) charge(predictions int) { l.predictions += float64(predictions) * l.perAnswer }

// observe adds the request at pos and returns a new model where it is time for one, nil elsewhere.
func (l *learner) observe(o Object, pos int) *gbm.Model {
	predicting := min(l.predictions, mostPredicting*l.budget)
	l.predictions -= predicting
	l.saved += l.budget - predicting
	l.samples.Observe(o, pos, l.add)
	work := float64(l.data.Len()) * l.perRow
	if l.fresh < l.retrain || float64(l.fresh) < growth*float64(l.data.Len()) || l.saved < work*trainingCost {
		return nil
	}
	l.fresh = 0
	l.saved -= work * trainingCost
	l.samples.thin = l.thinner.judge(l.data.Len() == l.window)
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
		l.thinner.measure(label - l.model.Predict(row))
	}
	if err := l.data.Add(row, label); err != nil {
		panic(fmt.Sprintf("predict: sample: %v", err))
	}
	l.fresh++
}

// thinner decides how many samples are worth learning from: half as many each time that the error on samples that are
// not yet learned from has not fallen for some trainings, and twice as many when it has risen.
type thinner struct {
	sum      float64 // of squared errors since the last training
	count    int
	usual    float64 // squared error, averaged over the last trainings
	before   float64 // usual when it was last looked at; 0: never
	judged   int     // trainings since then
	halvings int
}

const (
	thinnest     = 4 // halvings: one sample of 16
	judgedAfter  = 4 // trainings between two looks
	errorFalling = 0.98
	errorRising  = 1.1
)

// measure notes the error for a sample that is not yet learned from.
func (t *thinner) measure(e float64) {
	t.sum += e * e
	t.count++
}

// judge ends the time between two trainings and returns how often to halve the samples from now on.
func (t *thinner) judge(windowFull bool) int {
	if t.count == 0 {
		return t.halvings
	}
	e := t.sum / float64(t.count)
	t.sum, t.count = 0, 0
	if t.usual == 0 {
		t.usual = e
	}
	t.usual += (e - t.usual) / judgedAfter
	if t.judged++; t.judged < judgedAfter || !windowFull {
		return t.halvings
	}
	switch {
	case t.before == 0:
	case t.usual > errorRising*t.before:
		t.halvings = max(0, t.halvings-1)
	case t.usual > errorFalling*t.before:
		t.halvings = min(thinnest, t.halvings+1)
	}
	t.before, t.judged = t.usual, 0
	return t.halvings
}
