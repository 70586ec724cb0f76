package boosted

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/policies"
)

// learner trains a model on each batch of labelled samples, and forgets the batch then.
type learner struct {
	names   []string
	options gbm.Options
	data    *gbm.Data
	model   *gbm.Model // the last one; nil: none yet
	row     []float64

	batch, largest int // samples of the present and of the largest batch
	learned        int // samples of the present batch so far

	trainings, samples int64
	lastBatch          int64 // samples of the last model
	work               int64 // rows times features times trees
}

// learnerParams are the parameters of a learner.
func learnerParams(batch, trees int) []policies.Param {
	return append([]policies.Param{
		{Name: "batch", Default: batch, Min: 1, Max: 1 << 22, Doc: "labelled samples that a model is trained on, each " +
			"used once"},
		{Name: "first-batch", Default: defaultFirstBatch, Min: 1, Max: 1 << 22, Doc: "labelled samples of the first " +
			"model; each further model has twice as many, up to batch"},
	}, treeParams(trees)...)
}

// treeParams are the parameters of the trees of a model.
func treeParams(trees int) []policies.Param {
	return []policies.Param{
		{Name: "trees", Default: trees, Min: 1, Max: 10_000, Doc: "trees of a model"},
		{Name: "leaves", Default: 32, Min: 2, Max: gbm.MaxLeaves, Doc: "most leaves of a tree"},
		{Name: "rate", Default: 0.1, Min: 0.001, Max: 1, Doc: "learning rate"},
		{Name: "min-leaf", Default: 20, Min: 1, Max: 1 << 20, Doc: "least samples in a leaf"},
		{Name: "bagging", Default: 0.8, Min: 0.01, Max: 1, Doc: "share of the samples that a tree is trained on"},
		{Name: "features", Default: 0.8, Min: 0.01, Max: 1, Doc: "share of the features that a tree may split on"},
	}
}

// treeOptions are what treeParams say.
func treeOptions(c policies.Config) gbm.Options {
	v, o := c.Params, gbm.Defaults()
	o.Trees, o.Leaves, o.LearningRate, o.MinLeafRows = v.Int("trees"), v.Int("leaves"), v.Float("rate"), v.Int("min-leaf")
	o.Bagging, o.Features, o.Seed = v.Float("bagging"), v.Float("features"), c.Seed
	return o
}

// checkBatches refuses a first batch that is larger than the others.
func checkBatches(v policies.Values) error {
	if first, batch := v.Int("first-batch"), v.Int("batch"); first > batch && first != defaultFirstBatch {
		return fmt.Errorf("first-batch=%d: want at most batch, which is %d", first, batch)
	}
	return nil
}

// newLearner returns the learner of a policy with the parameters of learnerParams, and with these features.
func newLearner(c policies.Config, policy string, names []string) (learner, error) {
	v, o := c.Params, treeOptions(c)
	if err := o.Check(); err != nil {
		return learner{}, fmt.Errorf("%s: %w", policy, err)
	}
	l := learner{names: names, options: o,
		largest: v.Int("batch"), batch: min(v.Int("first-batch"), v.Int("batch"))}
	l.row = make([]float64, l.width())
	data, err := gbm.NewData(l.names, l.batch)
	l.data = data
	return l, err
}

// width returns the number of features.
func (l *learner) width() int { return len(l.names) }

// add adds a sample that was requested again after a time, and trains a model if the batch is complete.
func (l *learner) add(row []float64, time int64) {
	if err := l.data.Add(row, logarithm(time)); err != nil {
		panic(fmt.Sprintf("trees of a policy: sample: %v", err))
	}
	l.samples++
	if l.learned++; l.learned == l.batch {
		l.train()
	}
}

// logarithm is what models learn and predict of a time.
func logarithm(time int64) float64 { return random.Log(float64(1 + time)) }

// continueAs takes the model and the batch of another learner. Labels depend on the window, and batches grow, so a
// model of another window would stay for long.
func (l *learner) continueAs(other *learner) {
	l.data, l.model = other.data, other.model
	l.batch, l.learned, l.lastBatch = other.batch, other.learned, other.lastBatch
}

func (l *learner) train() {
	l.model = trained(l.options, l.data)
	l.trainings++
	l.lastBatch = int64(l.batch)
	l.work += int64(l.batch) * int64(l.width()) * int64(l.options.Trees)
	l.learned = 0
	if l.batch == l.largest {
		return // further samples take the places of these
	}
	l.batch = min(2*l.batch, l.largest)
	l.data = sure(gbm.NewData(l.names, l.batch))
	l.data.Reserve()
}

// trained returns a model of some samples. A trainer takes megabytes for as long as it lives, and thousands of pools
// may have a policy each, so none is kept.
func trained(o gbm.Options, data *gbm.Data) *gbm.Model {
	return sure(sure(gbm.NewTrainer(o)).Train(data))
}

// sure returns a value whose error was excluded when parameters were checked.
func sure[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("trees of a policy: %v", err))
	}
	return value
}
