package gbm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func options(change func(*Options)) Options {
	o := Defaults()
	o.MinLeafRows = 1
	change(&o)
	return o
}

func dataOf(tb testing.TB, rows [][]float64, labels []float64) *Data {
	tb.Helper()
	d := must.Get(NewData(names(len(rows[0])), len(rows)))(tb)
	for i, row := range rows {
		must.Do(tb, d.Add(row, labels[i]))
	}
	return d
}

func fileOf(tb testing.TB, m *Model) string {
	tb.Helper()
	var file bytes.Buffer
	must.Get(m.WriteTo(&file))(tb)
	return file.String()
}

// One tree of two leaves by hand: labels 0 0 9 9 9 split between 2 and 3, and a leaf moves by rate times (sum of what
// is left) / (rows + lambda).
func TestStumpByHand(t *testing.T) {
	rows := [][]float64{{1}, {2}, {3}, {4}, {5}}
	d := dataOf(t, rows, []float64{0, 0, 9, 9, 9})
	m := train(t, d, options(func(o *Options) { o.Trees, o.Leaves, o.LearningRate, o.Lambda = 1, 2, 0.5, 1 }))
	mean := 27.0 / 5
	low, high := mean+0.5*(-2*mean)/(2+1), mean+0.5*3*(9-mean)/(3+1)
	for x, want := range map[float64]float64{1: low, 2: low, 2.5: low, 2.51: high, 5: high, 100: high, -100: low} {
		if got := m.Predict([]float64{x}); math.Abs(got-want) > 1e-6 {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
	if n := m.trees[0].nodes[0]; n.threshold != 2.5 || n.rows != 5 {
		t.Errorf("threshold %v of %d rows, want 2.5 of 5", n.threshold, n.rows)
	}
}

// lossOf returns the squared error after the best single split of the rows into two leaves, by trying all splits.
func lossOf(rows [][]float64, labels []float64, minimum int) float64 {
	loss := func(in func(i int) bool) (sum float64, n int) {
		mean := 0.0
		for i, l := range labels {
			if in(i) {
				n++
				mean += (l - mean) / float64(n)
			}
		}
		for i, l := range labels {
			if in(i) {
				sum += (l - mean) * (l - mean)
			}
		}
		return sum, n
	}
	best, _ := loss(func(int) bool { return true })
	for f := range rows[0] {
		for _, at := range rows {
			for _, missingLeft := range []bool{false, true} {
				left := func(i int) bool {
					return math.IsNaN(rows[i][f]) && missingLeft || rows[i][f] <= at[f]
				}
				a, n := loss(left)
				b, rest := loss(func(i int) bool { return !left(i) })
				if n >= minimum && rest >= minimum {
					best = min(best, a+b)
				}
			}
		}
	}
	return best
}

func TestStumpAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, features := rapid.IntRange(2, 12).Draw(t, "rows"), rapid.IntRange(1, 3).Draw(t, "features")
		minimum := rapid.IntRange(1, 3).Draw(t, "minimum")
		rows, labels := make([][]float64, n), make([]float64, n)
		d := must.Get(NewData(names(features), n))(t)
		for i := range rows {
			for range features {
				rows[i] = append(rows[i], rapid.SampledFrom([]float64{math.NaN(), -1, 0, 1, 2, 1e9, math.Inf(1),
					math.Inf(-1)}).Draw(t, "x"))
			}
			labels[i] = float64(rapid.IntRange(-5, 5).Draw(t, "label"))
			must.Do(t, d.Add(rows[i], labels[i]))
		}
		trainer := must.Get(NewTrainer(options(func(o *Options) {
			o.Trees, o.Leaves, o.LearningRate, o.MinLeafRows = 1, 2, 1,
				minimum
		})))(t)
		m := must.Get(trainer.Train(d))(t)
		loss := 0.0
		for i, row := range rows {
			e := m.Predict(row) - labels[i]
			loss += e * e
		}
		if want := lossOf(rows, labels, minimum); math.Abs(loss-want) > 1e-4 {
			t.Fatalf("squared error %v, the best split leaves %v; rows %v, labels %v", loss, want, rows, labels)
		}
	})
}

func TestTreesKeepTheirLimits(t *testing.T) {
	d := synthetic(t, 5000, 9, 1)
	o := Defaults()
	o.Trees, o.Leaves, o.MaxDepth, o.MinLeafRows, o.Features, o.Bagging = 20, 17, 5, 150, 0.3, 0.5
	m := train(t, d, o)
	for _, tree := range m.trees {
		if len(tree.leaves) > o.Leaves {
			t.Errorf("%d leaves, want at most %d", len(tree.leaves), o.Leaves)
		}
		used := map[int32]bool{}
		for _, n := range tree.nodes {
			used[n.feature] = true
		}
		if len(used) > 3 {
			t.Errorf("%d features, want at most 30%% of 9", len(used))
		}
		rows := 0
		for _, l := range tree.leaves {
			rows += l.rows
			if l.rows < o.MinLeafRows {
				t.Errorf("%d rows in a leaf, want at least %d", l.rows, o.MinLeafRows)
			}
		}
		if share := float64(rows) / 5000; math.Abs(share-o.Bagging) > 0.05 {
			t.Errorf("trained on a share of %.3f of the rows, want about %v", share, o.Bagging)
		}
		var depth func(at int32) int
		depth = func(at int32) int {
			if at < 0 {
				return 0
			}
			return 1 + max(depth(tree.nodes[at].left), depth(tree.nodes[at].right))
		}
		if d := depth(0); d > o.MaxDepth {
			t.Errorf("depth %d, want at most %d", d, o.MaxDepth)
		}
	}
}

// Scores that the trainer keeps while it grows trees on bins equal the scores of the model that it returns, also for
// rows that trees have not seen.
func TestTrainerAgreesWithItsModel(t *testing.T) {
	d := synthetic(t, 3000, 9, 1)
	o := Defaults()
	o.Trees, o.Bagging, o.Features = 30, 0.5, 0.5
	trainer := must.Get(NewTrainer(o))(t)
	m := must.Get(trainer.Train(d))(t)
	for i := range d.Len() {
		row, _ := d.Row(i)
		if got := m.Predict(row); math.Abs(got-trainer.scores[i]) > 1e-9 {
			t.Fatalf("row %d: the model predicts %v, the trainer %v", i, got, trainer.scores[i])
		}
	}
}

// The trees up to the smallest error on the rows held back are kept; with patience, that is found without growing all.
func TestEarlyStopping(t *testing.T) {
	d := synthetic(t, 600, 9, 1)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range d.labels {
		d.labels[i] += 3 * random.NormFloat64()
	}
	held := func(patience int) (rmse float64, kept, grown int) {
		trainer := must.Get(NewTrainer(options(func(o *Options) {
			o.Trees, o.LearningRate, o.Validation, o.Patience = 300, 0.3,
				0.3, patience
		})))(t)
		trainer.Progress = func(trees int) { grown = trees }
		m := must.Get(trainer.Train(d))(t)
		_, fit := trainer.Fit(d, m)
		return fit.RMSE, m.Trees(), grown
	}
	best, kept, grown := held(0)
	if kept >= 200 || grown != 300 {
		t.Errorf("%d of %d trees kept on noisy labels, want fewer than 200 of 300", kept, grown)
	}
	rmse, kept, grown := held(20)
	if grown != kept+20 || rmse > 1.05*best {
		t.Errorf("RMSE %.3f with %d of %d trees, want the end 20 after the last that is kept, and about %.3f", rmse,
			kept, grown, best)
	}
}

// A trainer that is used again gives what a new one gives; a window that moves on gives what its rows alone give, as
// far as the edges of the bins are the same.
func TestTrainingAgain(t *testing.T) {
	o := options(func(o *Options) { o.Trees, o.Bagging, o.Validation, o.Patience = 15, 0.7, 0.2, 3 })
	trainer := must.Get(NewTrainer(o))(t)
	window := must.Get(NewData(names(4), 1000))(t)
	source := synthetic(t, 3000, 4, 1)
	for i := range source.Len() {
		row, label := source.Row(i)
		must.Do(t, window.Add(row, label))
		if i%700 != 699 {
			continue
		}
		m := must.Get(trainer.Train(window))(t)
		alone := must.Get(NewData(names(4), 1000))(t)
		for k := range window.Len() {
			row, label := window.Row(k)
			must.Do(t, alone.Add(row, label))
		}
		if got, want := fileOf(t, m), fileOf(t, train(t, alone, o)); got != want {
			t.Fatalf("after %d rows the model of the window differs from a model of its rows", i+1)
		}
	}
}

// Between new edges only new rows are binned, with the edges that there are.
func TestRowsAreBinnedOnce(t *testing.T) {
	d := must.Get(NewData(names(9), 100))(t)
	add := func(from, to int) {
		for i := from; i < to; i++ {
			must.Do(t, d.Add(slices.Repeat([]float64{float64(i * 7919 % 1000)}, 9), 0))
		}
	}
	check := func(added int) {
		t.Helper()
		d.bin(17)
		for f := range 9 {
			for i := range d.Len() {
				row, _ := d.Row(i)
				if got, want := uint8(d.bins[f/groupSize][i]>>(8*(f%groupSize))), binOf(d.edges[f], row[f]); got != want {
					t.Fatalf("after %d rows, row %d, feature %d: bin %d, want %d", added, i, f, got, want)
				}
			}
		}
	}
	added := 0
	for _, n := range []int{60, 1, 5, 40, 10, 30, 99, 250, 1} {
		add(added, added+n)
		added += n
		check(added)
	}
}

func TestEdges(t *testing.T) {
	for _, c := range []struct {
		values []float64
		bins   int
		want   []float64
	}{
		{[]float64{1, 1, 1}, 4, nil},
		{[]float64{1, 2, 4}, 4, []float64{1.5, 3}},
		{[]float64{1, 2, 3, 4, 5, 6}, 3, []float64{2.5, 4.5}},
		{[]float64{1, 1, 1, 1, 5, 6}, 3, []float64{3, 5.5}},
		{[]float64{1, 2, 3, 3, 3, 3, 3, 3}, 2, []float64{}},
		{[]float64{math.Inf(-1), 0, math.Inf(1)}, 4, []float64{math.Inf(-1), 0}},
	} {
		if got := edgesOf(c.values, c.bins, nil); !slices.Equal(got, c.want) {
			t.Errorf("%v in %d bins: edges %v, want %v", c.values, c.bins, got, c.want)
		}
	}
}

func TestNothingToSplit(t *testing.T) {
	d := dataOf(t, [][]float64{{1}, {2}, {3}}, []float64{4, 4, 4})
	m := train(t, d, options(func(*Options) {}))
	if got := m.Predict([]float64{9}); got != 4 || m.Trees() != 1 {
		t.Errorf("%v from %d trees, want 4 from one leaf", got, m.Trees())
	}
	if again, err := read(fileOf(t, m)); err != nil || again.Predict([]float64{1}) != 4 {
		t.Errorf("written and read: %v", err)
	}
}

func TestBadTrainingInput(t *testing.T) {
	for _, c := range []struct {
		names    []string
		capacity int
	}{{nil, 1}, {[]string{"a"}, 0}, {[]string{"a"}, MaxRows +
		1}, {[]string{"a b"}, 1}, {[]string{""}, 1}, {[]string{"a=1"}, 1}} {
		if _, err := NewData(c.names, c.capacity); err == nil {
			t.Errorf("a table of %q with %d rows was made", c.names, c.capacity)
		}
	}
	d := must.Get(NewData([]string{"a"}, 10))(t)
	for _, label := range []float64{math.NaN(), math.Inf(1), 1e200} {
		must.Fail(t, d.Add([]float64{1}, label), fmt.Sprint(label), label)
	}
	trainer := must.Get(NewTrainer(Defaults()))(t)
	if _, err := trainer.Train(d); err == nil {
		t.Error("a model of no rows was trained")
	}
}

func TestFit(t *testing.T) {
	d := synthetic(t, 2000, 4, 1)
	trainer := must.Get(NewTrainer(options(func(o *Options) { o.Trees, o.Validation = 50, 0.25 })))(t)
	m := must.Get(trainer.Train(d))(t)
	trained, held := trainer.Fit(d, m)
	if trained.Rows+held.Rows != 2000 || held.Rows < 400 || held.Rows > 600 {
		t.Errorf("%d rows trained on, %d held back of 2000", trained.Rows, held.Rows)
	}
	if !(trained.RMSE < held.RMSE && held.RMSE < held.MeanRMSE) {
		t.Errorf("RMSE %v on rows trained on, %v held back, %v of the mean: want them to grow", trained.RMSE, held.RMSE,
			held.MeanRMSE)
	}
}
