package gbm

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dmitryikh/leaves"
	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func loadLeaves(tb testing.TB, m *Model) *leaves.Ensemble {
	tb.Helper()
	var file bytes.Buffer
	must.Get(m.WriteTo(&file))(tb)
	return must.Get(leaves.LGEnsembleFromReader(bufio.NewReader(&file), true))(tb)
}

func TestTrainedModelInLeaves(t *testing.T) {
	for _, features := range []int{4, 21} {
		m := train(t, synthetic(t, 3000, features, 1), Defaults())
		other := loadLeaves(t, m)
		d := synthetic(t, 1000, features, 2)
		for i := range d.Len() {
			row, _ := d.Row(i)
			if got, want := m.Predict(row), other.PredictSingle(row, 0); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%d features: %v, leaves predicts %v for %v", features, got, want, row)
			}
		}
	}
}

// Files are read as leaves reads them: of all versions of LightGBM, with categories, random forests, the trees built
// into the program, and models of random trees.
func TestReadsAsLeavesDoes(t *testing.T) {
	embedded := must.Get(os.ReadFile(filepath.Join("..", "..", "serving", "hlem", "controllers", "trees.txt.zst")))(t)
	for name, text := range map[string]string{
		"version 4":  small,
		"version 2":  strings.Replace(small, "version=v4", "version=v2", 1),
		"forest":     strings.Replace(small, "objective=", "average_output\nobjective=", 1),
		"categories": withCategories,
		"line ends":  strings.ReplaceAll(small, "\n", "\r\n"),
		"embedded":   string(packed.Unpack(embedded)),
	} {
		if err := agreesWithLeaves(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		must.Get(randomModel(t).WriteTo(&file))(t)
		if err := agreesWithLeaves(file.String()); err != nil {
			t.Fatalf("%v\n%s", err, file.Bytes())
		}
	})
}

func agreesWithLeaves(text string) error {
	m, err := read(text)
	if err != nil {
		return err
	}
	other, err := inLeaves(text)
	if err != nil {
		return err
	}
	return crossCheck(m, other)
}

// A leaf that was read wrongly does not go unnoticed.
func TestCrossCheckFindsADifference(t *testing.T) {
	m := must.Get(read(small))(t)
	other := must.Get(inLeaves(strings.Replace(small, "leaf_value=1 2 4", "leaf_value=1 2 4.001", 1)))(t)
	if crossCheck(m, other) == nil {
		t.Error("a changed leaf went unnoticed")
	}
}

// checkedRows is how many rows a model is compared with leaves on.
const checkedRows = 64

// inLeaves loads the text of a model with the library leaves. Version 4 of the format differs from version 3, the last
// that leaves supports, only in linear trees, which Read refuses.
func inLeaves(text string) (*leaves.Ensemble, error) {
	text = strings.Replace(text, "\nversion=v4", "\nversion=v3", 1)
	return leaves.LGEnsembleFromReader(bufio.NewReader(strings.NewReader(text)), false)
}

// crossCheck compares a model's scores with the scores of leaves, which loaded the same text.
func crossCheck(m *Model, other *leaves.Ensemble) error {
	random := rand.New(rand.NewPCG(1, 2))
	candidates := m.candidates()
	row := make([]float64, len(m.names))
	for range checkedRows {
		for f := range row {
			row[f] = candidates[f][random.IntN(len(candidates[f]))]
		}
		ours, theirs := m.score(row), []float64{0}
		if err := other.Predict(row, 0, theirs); err != nil {
			return err
		}
		if math.Abs(ours-theirs[0]) > 1e-9*max(1, math.Abs(ours)) {
			return fmt.Errorf("%v, leaves predicts %v for %v", ours, theirs[0], row)
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
