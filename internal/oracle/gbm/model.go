// Package gbm trains and evaluates gradient-boosted regression trees, and reads and writes them as LightGBM's text
// files. Its trainer works on histograms and grows trees leaf by leaf, as LightGBM does (Ke et al., NeurIPS 2017); a
// model of either may be used in the other.
package gbm

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Model is a trained model. It is safe for concurrent use.
type Model struct {
	names     []string
	objective objective
	average   bool // of the trees instead of their sum: a random forest
	trees     []tree
	infos     []string // per feature what LightGBM says of its values: [lowest:highest], or none; nil: not known
	notes     []note
	evaluator evaluator
}

// note is a remark in the file that evaluation does not use.
type note struct{ key, value string }

// AddNote adds a remark about the model, on one line, which is written into its file.
func (m *Model) AddNote(key, value string) { m.notes = append(m.notes, note{key, value}) }

// Names returns the names of the features, in the order of a row.
func (m *Model) Names() []string { return slices.Clone(m.names) }
func (m *Model) Trees() int      { return len(m.trees) }

// Predict returns the prediction for a row. NaN is a missing value. It panics if the row has another number of features
// than the model.
func (m *Model) Predict(row []float64) float64 {
	return m.objective.transform(m.score(row))
}

// score returns the sum or average of the trees.
func (m *Model) score(row []float64) float64 {
	if len(row) != len(m.names) {
		panic(fmt.Sprintf("gbm: row of %d features given to a model of %d", len(row), len(m.names)))
	}
	return m.overTrees(m.evaluator.sum(row))
}

func (m *Model) overTrees(sum float64) float64 {
	if m.average {
		return sum / float64(len(m.trees))
	}
	return sum
}

// Importance returns per feature how many nodes split on it, and by how much they lower the squared error together.
func (m *Model) Importance() (splits []int, gain []float64) {
	splits, gain = make([]int, len(m.names)), make([]float64, len(m.names))
	for _, t := range m.trees {
		for _, n := range t.nodes {
			splits[n.feature]++
			gain[n.feature] += n.gain
		}
	}
	return splits, gain
}

// Match returns an error if the model cannot evaluate rows of the named features. It must have been trained on as many
// and, if its file has names, on those.
func (m *Model) Match(features []string) error {
	if len(m.names) != len(features) {
		return fmt.Errorf("the model was trained on %d features (%s), but a row here has %d (%s); give the predictor the "+
			"same features, or train again",
			len(m.names), shorten(m.names), len(features), shorten(features))
	}
	for f, name := range m.names {
		if name != features[f] && name != fmt.Sprintf("Column_%d", f) {
			return fmt.Errorf("feature %d of the model is %s, but here it is %s: it was trained on other features, or in "+
				"another order; train it again", f+1, name, features[f])
		}
	}
	return nil
}

// shorten lists the first of many names.
func shorten(names []string) string {
	if shown := 5; len(names) > shown {
		return strings.Join(names[:shown], " ") + " ..."
	}
	return strings.Join(names, " ")
}

// shift adds a constant to the model's score. A LightGBM file has no place for one, so the leaves of the first tree
// take it.
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
	value       float64  // it would have as a leaf
	categories  []uint32 // a bit per category that goes left; nil: the feature is a number
}

type treeLeaf struct {
	value float64
	rows  int
}

// missing says which values count as missing at a node. The numbers are LightGBM's.
type missing uint8

const (
	missingNone missing = iota // NaN counts as 0
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

// zero is the magnitude up to which a value counts as 0 in LightGBM.
const zero = float64(float32(1e-35))

func isZero(value float64) bool { return value > -zero && value <= zero }

func (n *treeNode) goesLeft(value float64) bool {
	if n.categories != nil {
		return n.has(value)
	}
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

// has reports whether a category goes left. It is a non-negative whole number; decimals are cut off, and all other
// values go right.
func (n *treeNode) has(value float64) bool {
	if !(value > -1 && value < float64(32*len(n.categories))) {
		return false
	}
	category := int(value)
	return n.categories[category/32]>>(category%32)&1 == 1
}
