package gbm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// MaxLeaves is the most leaves that a tree is grown with: each takes a histogram of every feature, 2 KiB.
const MaxLeaves = 1024

// Options say how a model is trained. Names follow LightGBM's parameters.
type Options struct {
	Trees        int     // boosting rounds, at least 1
	Leaves       int     // most leaves of a tree, from 2 to MaxLeaves
	MaxDepth     int     // of a tree, in splits from the root to a leaf; 0: not limited
	LearningRate float64 // above 0, at most 1
	MinLeafRows  int     // least rows in a leaf
	Lambda       float64 // L2 regularisation of leaf values
	Bagging      float64 // share of rows that a tree is trained on, above 0, at most 1
	Features     float64 // share of features that a tree may split on, above 0, at most 1
	MaxBins      int     // bins of a feature, from 3 to 256, one of them for missing values
	// Validation is the share of rows, drawn at random, that measure the error after each tree and are not trained on. The
	// model keeps the trees up to the smallest error. Training ends when Patience trees have not lowered it. 0: all rows
	// are trained on and all trees are kept.
	Validation float64
	Patience   int    // trees; 0: no end before Trees
	Seed       uint64 // the only source of randomness
}

// Defaults returns LightGBM's defaults.
func Defaults() Options {
	return Options{Trees: 100, Leaves: 31, LearningRate: 0.1, MinLeafRows: 20, Bagging: 1, Features: 1, MaxBins: 256}
}

func (o Options) Check() error {
	switch {
	case o.Trees < 1:
		return fmt.Errorf("trees %d: want at least 1", o.Trees)
	case o.Leaves < 2 || o.Leaves > MaxLeaves:
		return fmt.Errorf("leaves %d: want 2 to %d in a tree", o.Leaves, MaxLeaves)
	case o.MaxDepth < 0:
		return fmt.Errorf("depth %d: want a number of splits, or 0 for no limit", o.MaxDepth)
	case !(o.LearningRate > 0 && o.LearningRate <= 1):
		return fmt.Errorf("learning-rate %v: want above 0, at most 1", o.LearningRate)
	case o.MinLeafRows < 1:
		return fmt.Errorf("min-leaf %d: want at least 1 row in a leaf", o.MinLeafRows)
	case !(o.Lambda >= 0 && o.Lambda <= largest):
		return fmt.Errorf("lambda %v: want 0 or more", o.Lambda)
	case !(o.Bagging > 0 && o.Bagging <= 1):
		return fmt.Errorf("bagging %v: want a share of the rows above 0, at most 1", o.Bagging)
	case !(o.Features > 0 && o.Features <= 1):
		return fmt.Errorf("feature-fraction %v: want a share of the features above 0, at most 1", o.Features)
	case o.MaxBins < 3 || o.MaxBins > 256:
		return fmt.Errorf("bins %d: want 3 to 256", o.MaxBins)
	case !(o.Validation >= 0 && o.Validation < 1):
		return fmt.Errorf("validation %v: want a share of the rows from 0 to below 1", o.Validation)
	case o.Patience < 0:
		return fmt.Errorf("patience %d: want a number of trees, or 0 to train all trees", o.Patience)
	case o.Patience > 0 && o.Validation == 0:
		return fmt.Errorf("patience %d: ending early needs rows that are held back; give a validation share, or leave out "+
			"patience", o.Patience)
	}
	return nil
}

// Trainer trains models with the same options. It keeps its buffers from one training to the next and must not be
// shared by goroutines.
type Trainer struct {
	options   Options
	grower    grower
	bits      *rand.Rand
	scores    []float64 // per row, the prediction of the trees so far
	gradients []float64 // per row, the residual of the label
	rows      []int32   // trained on
	held      []int32   // for validation
	bag       []int32   // rows of the present tree
	outside   []int32   // rows that are trained on, but not in the present tree
	usable    []int     // features of the present tree
	mean      float64   // of the labels that are trained on

	// Progress, where it is set, is called after each tree with their number.
	Progress func(trees int)
}

// NewTrainer returns a trainer, or an error if an option is out of range.
func NewTrainer(o Options) (*Trainer, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return &Trainer{options: o}, nil
}

// Train returns a model of the data that minimises the squared error. Equal data, options and seed give equal models.
func (t *Trainer) Train(d *Data) (*Model, error) {
	if d.Len() == 0 {
		return nil, errors.New("no rows to train on")
	}
	d.bin(t.options.MaxBins)
	t.bits = rand.New(rand.NewPCG(t.options.Seed, uint64(d.Len())))
	t.split(d.Len())
	t.mean = t.meanLabel(d)
	t.scores = resize(t.scores, d.Len())
	for i := range t.scores {
		t.scores[i] = t.mean
	}
	m := &Model{names: d.names, objective: regression}
	best, bestError := 0, t.error(d, t.held)
	for len(m.trees) < t.options.Trees {
		tree, ok := t.step(d)
		if !ok {
			break
		}
		m.trees = append(m.trees, tree)
		if t.Progress != nil {
			t.Progress(len(m.trees))
		}
		if e := t.error(d, t.held); e < bestError {
			best, bestError = len(m.trees), e
		} else if t.options.Patience > 0 && len(m.trees)-best >= t.options.Patience {
			break
		}
	}
	if len(t.held) > 0 {
		m.trees = m.trees[:best]
	}
	m.shift(t.mean)
	m.evaluator = newEvaluator(m.trees)
	m.infos = d.infos()
	t.options.note(m)
	return m, nil
}

// split draws the rows that are held back for validation.
func (t *Trainer) split(rows int) {
	t.rows, t.held = t.rows[:0], t.held[:0]
	for i := range rows {
		if t.options.Validation > 0 && t.bits.Float64() < t.options.Validation {
			t.held = append(t.held, int32(i))
		} else {
			t.rows = append(t.rows, int32(i))
		}
	}
	// With few rows all may be drawn for validation. There must be some to train on.
	if len(t.rows) == 0 {
		t.rows, t.held = t.held, t.rows
	}
}

func (t *Trainer) meanLabel(d *Data) (mean float64) {
	for i, r := range t.rows {
		mean += (d.labels[r] - mean) / float64(i+1)
	}
	return mean
}

// error returns the mean squared error over rows, 0 without rows.
func (t *Trainer) error(d *Data, rows []int32) (sum float64) {
	for _, r := range rows {
		e := d.labels[r] - t.scores[r]
		sum += float64(e * e)
	}
	return sum / float64(max(len(rows), 1))
}

// Fit says how well a model predicts the labels of some rows.
type Fit struct {
	Rows     int
	RMSE     float64 // of the model: the root of the mean squared error
	MeanRMSE float64 // of the mean label of the training rows, predicted for every row
}

// Fit returns how well m, which Train has just returned for d, predicts the rows that it was trained on, and those held
// back for validation.
func (t *Trainer) Fit(d *Data, m *Model) (trained, held Fit) {
	return t.fit(d, m, t.rows), t.fit(d, m, t.held)
}

func (t *Trainer) fit(d *Data, m *Model, rows []int32) Fit {
	model, mean := 0.0, 0.0
	for _, r := range rows {
		row, label := d.Row(int(r))
		e := m.Predict(row) - label
		model += float64(e * e)
		mean += float64((t.mean - label) * (t.mean - label))
	}
	n := float64(max(len(rows), 1))
	return Fit{len(rows), math.Sqrt(model / n), math.Sqrt(mean / n)}
}

// step grows one tree on the residuals of the trees so far and adds it to the scores. It reports whether any split
// improved the error.
func (t *Trainer) step(d *Data) (tree, bool) {
	t.draw(len(d.names))
	g := &t.grower
	t.gradients = resize(t.gradients, d.Len())
	for i, label := range d.labels {
		t.gradients[i] = label - t.scores[i]
	}
	g.start(d, t.options, t.usable, t.bag, t.gradients)
	if !g.grow() {
		return tree{}, false
	}
	g.eachLeaf(func(leaf int, rows []int32) {
		for _, r := range rows {
			t.scores[r] += g.values[leaf]
		}
	})
	// These rows are in no leaf of the grower and walk down the tree instead.
	for _, rows := range [][]int32{t.outside, t.held} {
		for _, r := range rows {
			t.scores[r] += g.values[g.leafOf(r)]
		}
	}
	return g.tree(), true
}

// draw chooses the rows and features of the next tree.
func (t *Trainer) draw(features int) {
	t.bag, t.outside = append(t.bag[:0], t.rows...), t.outside[:0]
	if t.options.Bagging < 1 {
		t.bag = t.bag[:0]
		for _, r := range t.rows {
			if t.bits.Float64() < t.options.Bagging {
				t.bag = append(t.bag, r)
			} else {
				t.outside = append(t.outside, r)
			}
		}
	}
	t.usable = t.usable[:0]
	for f := range features {
		t.usable = append(t.usable, f)
	}
	if n := max(1, int(math.Round(t.options.Features*float64(features)))); n < features {
		t.bits.Shuffle(features, func(i, j int) { t.usable[i], t.usable[j] = t.usable[j], t.usable[i] })
		t.usable = t.usable[:n]
		slices.Sort(t.usable)
	}
}

// resize returns a slice of length n that reuses s if it can; its elements are not cleared.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// note records the options under their LightGBM names.
func (o Options) note(m *Model) {
	for _, n := range []struct {
		key   string
		value any
	}{
		{"boosting", "gbdt"}, {"objective", m.objective}, {"num_iterations", o.Trees}, {"learning_rate", o.LearningRate},
		{"num_leaves", o.Leaves}, {"max_depth", cmp.Or(o.MaxDepth, -1)}, {"min_data_in_leaf", o.MinLeafRows},
		{"lambda_l2", o.Lambda},
		{"bagging_fraction", o.Bagging}, {"bagging_freq", 1}, {"feature_fraction", o.Features}, {"max_bin", o.MaxBins - 1},
		{"early_stopping_round", o.Patience}, {"seed", o.Seed},
	} {
		m.AddNote(n.key, fmt.Sprint(n.value))
	}
}
