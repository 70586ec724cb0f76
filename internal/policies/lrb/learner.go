package lrb

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

func newLearner(c policies.Config) (learner, error) {
	v := c.Params
	o := gbm.Defaults()
	o.Trees, o.Leaves, o.LearningRate, o.MinLeafRows = v.Int("trees"), v.Int("leaves"), v.Float("rate"), v.Int("min-leaf")
	o.Bagging, o.Features, o.Seed = v.Float("bagging"), v.Float("features"), c.Seed
	if err := o.Check(); err != nil {
		return learner{}, fmt.Errorf("lrb: %w", err)
	}
	l := learner{names: featureNames(v.Int("deltas")-1, v.Int("counters")), options: o,
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
		panic(fmt.Sprintf("lrb: sample: %v", err))
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
	// A trainer takes megabytes for as long as it lives, and thousands of pools may have a policy each.
	trainer, err := gbm.NewTrainer(l.options)
	if err == nil {
		l.model, err = trainer.Train(l.data)
	}
	if err != nil {
		panic(fmt.Sprintf("lrb: training on %d samples: %v", l.batch, err))
	}
	l.trainings++
	l.lastBatch = int64(l.batch)
	l.work += int64(l.batch) * int64(l.width()) * int64(l.options.Trees)
	l.learned = 0
	if l.batch == l.largest {
		return // further samples take the places of these
	}
	l.batch = min(2*l.batch, l.largest)
	if l.data, err = gbm.NewData(l.names, l.batch); err != nil {
		panic(fmt.Sprintf("lrb: %v", err))
	}
	l.data.Reserve()
}
