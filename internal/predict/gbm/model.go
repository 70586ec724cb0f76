// Package gbm trains and evaluates gradient-boosted regression trees, and reads and writes them as LightGBM's text files.
// Its trainer works on histograms and grows trees leaf by leaf, as LightGBM does (Ke et al., NeurIPS 2017); a model of either may be used in the
// other.
package gbm

import (
	"fmt"
	"math"
	"slices"
)

// Model is a trained model. It is safe for concurrent use.
type Model struct {
	names     []string
	objective objective
	average   bool // of the trees instead of their sum: a random forest
	trees     []tree
}

// Names returns the names of the features, in the order of a row.
func (m *Model) Names() []string { return slices.Clone(m.names) }

// Trees returns the number of trees.
func (m *Model) Trees() int { return len(m.trees) }

// Predict returns the prediction for a row. NaN is a missing value. It panics if the row has another number of features than the model.
func (m *Model) Predict(row []float64) float64 {
	return m.objective.output(m.score(row))
}

// PredictRows sets out[i] to the prediction for the i-th of the rows, which lie one after the other.
func (m *Model) PredictRows(rows, out []float64) {
	width := len(m.names)
	for i := range out {
		out[i] = m.Predict(rows[i*width : (i+1)*width])
	}
}

// score returns the sum or average of the trees.
func (m *Model) score(row []float64) float64 {
	if len(row) != len(m.names) {
		panic(fmt.Sprintf("gbm: row of %d features given to a model of %d", len(row), len(m.names)))
	}
	sum := 0.0
	for i := range m.trees {
		sum += m.trees[i].predict(row)
	}
	if m.average {
		sum /= float64(len(m.trees))
	}
	return sum
}

// shift adds a constant to the model's score.
func (m *Model) shift(by float64) {
	if len(m.trees) == 0 {
		m.trees = []tree{{leaves: []treeLeaf{{}}, shrinkage: 1}}
	}
	first := &m.trees[0]
	for i := range first.leaves {
		first.leaves[i].value += by
	}
	for i := range first.nodes {
		first.nodes[i].value += by
	}
}

// objective is what a model was trained for, and so what its score means.
type objective string

const regression objective = "regression"

func (o objective) output(score float64) float64 { return score }

type tree struct {
	nodes     []treeNode // none: the tree is its only leaf
	leaves    []treeLeaf
	shrinkage float64
}

// treeNode is a split: rows with a value up to the threshold go left. Children below 0 are leaves: ^child.
type treeNode struct {
	feature     int32
	left, right int32
	threshold   float64
	missing     missing
	defaultLeft bool
	gain        float64
	rows        int
	value       float64 // it would have as a leaf
}

type treeLeaf struct {
	value float64
	rows  int
}

// missing says which values a node takes for missing. The numbers are LightGBM's.
type missing uint8

const (
	missingNone missing = iota // NaN is taken for 0
	missingZero                // NaN and 0
	missingNaN
)

func (t *tree) predict(row []float64) float64 {
	if len(t.nodes) == 0 {
		return t.leaves[0].value
	}
	at := int32(0)
	for at >= 0 {
		n := &t.nodes[at]
		if n.goesLeft(row[n.feature]) {
			at = n.left
		} else {
			at = n.right
		}
	}
	return t.leaves[^at].value
}

// zero is the magnitude up to which LightGBM takes a value for 0.
const zero = float64(float32(1e-35))

func isZero(value float64) bool { return value > -zero && value <= zero }

func (n *treeNode) goesLeft(value float64) bool {
	if math.IsNaN(value) {
		if n.missing == missingNaN {
			return n.defaultLeft
		}
		value = 0
	}
	if n.missing == missingZero && isZero(value) {
		return n.defaultLeft
	}
	return value <= n.threshold
}
