package gbm

import (
	"bufio"
	"bytes"
	"math"
	"testing"

	"github.com/dmitryikh/leaves"
)

func loadLeaves(tb testing.TB, m *Model) *leaves.Ensemble {
	tb.Helper()
	var file bytes.Buffer
	if _, err := m.WriteTo(&file); err != nil {
		tb.Fatal(err)
	}
	other, err := leaves.LGEnsembleFromReader(bufio.NewReader(&file), true)
	if err != nil {
		tb.Fatal(err)
	}
	return other
}

func TestTrainedModelInLeaves(t *testing.T) {
	for _, features := range []int{4, 21} {
		m := train(t, synthetic(t, 3000, features, 1), Defaults())
		other := loadLeaves(t, m)
		d := synthetic(t, 1000, features, 2)
		for i := range d.Len() {
			row, _ := d.row(i)
			if got, want := m.Predict(row), other.PredictSingle(row, 0); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%d features: %v, leaves predicts %v for %v", features, got, want, row)
			}
		}
	}
}

// A file whose trees were read otherwise than leaves reads them is refused, not used.
func TestCrossCheckFindsADifference(t *testing.T) {
	m := train(t, synthetic(t, 1000, 4, 1), Defaults())
	var file bytes.Buffer
	if _, err := m.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	if err := crossCheck(m, file.String()); err != nil {
		t.Fatal(err)
	}
	m.trees[0].leaves[0].value++
	m.trees[0].leaves[1].value++
	m.evaluator = newEvaluator(m.trees)
	if err := crossCheck(m, file.String()); err == nil {
		t.Error("two changed leaves went unnoticed")
	}
}
