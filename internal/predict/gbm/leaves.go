package gbm

import (
	"bufio"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"

	"github.com/dmitryikh/leaves"
)

// checkedRows is how many rows a model is cross-checked on.
const checkedRows = 64

// crossCheck compares the scores of the model that was read from text with those of the library leaves. Version 4 of
// the format differs from version 3, the last that leaves supports, only in linear trees, which have been rejected.
func crossCheck(m *Model, text string) error {
	text = strings.Replace(text, "\nversion=v4", "\nversion=v3", 1)
	other, err := leaves.LGEnsembleFromReader(bufio.NewReader(strings.NewReader(text)), false)
	if err != nil {
		return fmt.Errorf("the library leaves, against which models are checked, cannot load it: %w", err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	candidates := m.candidates()
	row := make([]float64, len(m.names))
	for range checkedRows {
		for f := range row {
			row[f] = candidates[f][random.IntN(len(candidates[f]))]
		}
		ours, theirs := m.score(row), []float64{0}
		if err := other.Predict(row, 0, theirs); err != nil {
			return fmt.Errorf("the library leaves, against which models are checked, cannot evaluate it: %w", err)
		}
		if math.Abs(ours-theirs[0]) > 1e-9*max(1, math.Abs(ours)) {
			return fmt.Errorf("the library leaves predicts %v where cachesim predicts %v, for the row %v; please report the "+
				"model", theirs[0], ours, row)
		}
	}
	return nil
}

// candidates returns for each feature values for which its nodes decide in different ways: thresholds and their
// neighbours, categories, missing values. A missing category is left out: LightGBM sends it right, leaves treats it as
// category 0.
func (m *Model) candidates() [][]float64 {
	values := make([][]float64, len(m.names))
	for f := range values {
		values[f] = []float64{0, -1, 1}
	}
	isCategory := make([]bool, len(m.names))
	for _, t := range m.trees {
		for _, n := range t.nodes {
			if n.categories != nil {
				isCategory[n.feature] = true
				values[n.feature] = append(values[n.feature], n.listed()...)
				continue
			}
			// Whether such tiny numbers are 0 differs: LightGBM rounds its limit of 1e-35 to float32.
			if t := n.threshold; t == 0 || math.Abs(t) > 2*zero {
				values[n.feature] = append(values[n.feature], t, math.Nextafter(t, math.Inf(1)), math.Nextafter(t, math.Inf(-1)))
			}
		}
	}
	for f := range values {
		if !isCategory[f] {
			values[f] = append(values[f], math.NaN())
		}
	}
	return values
}

// listed returns the first category of each word of a set.
func (n *treeNode) listed() (categories []float64) {
	for i, word := range n.categories {
		categories = append(categories, float64(32*i+bits.TrailingZeros32(word)))
	}
	return categories
}
