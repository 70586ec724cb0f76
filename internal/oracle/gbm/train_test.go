package gbm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// synthetic returns rows whose label depends on features in ways that trees must find, with missing values that matter.
func synthetic(tb testing.TB, rows, features int, seed uint64) *Data {
	tb.Helper()
	d := must.Get(NewData(names(features), rows))(tb)
	bits := rand.New(rand.NewPCG(seed, 1))
	row := make([]float64, features)
	for range rows {
		for f := range row {
			row[f] = bits.NormFloat64() * float64(f+1)
			if f%3 == 1 && bits.Float64() < 0.1 {
				row[f] = math.NaN()
			}
		}
		must.Do(tb, d.Add(row, signal(row)+0.1*bits.NormFloat64()))
	}
	return d
}

// signal has no kink at 0, where LightGBM always has an edge between bins.
func signal(row []float64) float64 {
	label := 3*math.Sin(row[0]) + math.Abs(row[2]-1)
	if math.IsNaN(row[1]) {
		return label + 5
	}
	if row[1] > 0.5 {
		label += row[3]
	}
	return label
}

func names(features int) (names []string) {
	for f := range features {
		names = append(names, fmt.Sprintf("f%d", f))
	}
	return names
}

func rmse(m *Model, d *Data) float64 {
	sum := 0.0
	for i := range d.Len() {
		row, label := d.Row(i)
		e := m.Predict(row) - label
		sum += e * e
	}
	return math.Sqrt(sum / float64(d.Len()))
}

func train(tb testing.TB, d *Data, o Options) *Model {
	tb.Helper()
	t := must.Get(NewTrainer(o))(tb)
	return must.Get(t.Train(d))(tb)
}

func TestTrainingLearnsTheSignal(t *testing.T) {
	m := train(t, synthetic(t, 10000, 6, 1), Defaults())
	if e := rmse(m, synthetic(t, 5000, 6, 2)); e > 0.6 {
		t.Errorf("RMSE on new rows %.3f, want below 0.6: labels have a standard deviation of about 3", e)
	}
}

func BenchmarkTrain(b *testing.B) {
	d := synthetic(b, 30000, 21, 1)
	t := must.Get(NewTrainer(Defaults()))(b)
	for b.Loop() {
		must.Get(t.Train(d))(b)
	}
}
