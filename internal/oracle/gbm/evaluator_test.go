package gbm

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// randomTree draws a tree of any shape, with every kind of node.
func randomTree(t *rapid.T, features, leaves int) (out tree) {
	out.shrinkage = 1
	out.leaves = []treeLeaf{{value: rapid.Float64Range(-10, 10).Draw(t, "value")}}
	root := int32(-1)
	where := []*int32{&root} // who points to each leaf
	out.nodes = make([]treeNode, 0, leaves)
	for len(out.leaves) < leaves {
		l := rapid.IntRange(0, len(out.leaves)-1).Draw(t, "leaf")
		n := treeNode{
			feature: int32(rapid.IntRange(0, features-1).Draw(t, "feature")), threshold: float64(rapid.IntRange(-3, 3).Draw(t,
				"threshold")) / 2,
			missing: missing(rapid.IntRange(0, 2).Draw(t, "missing")), defaultLeft: rapid.Bool().Draw(t, "default left"),
			left: int32(^l), right: int32(^len(out.leaves)),
		}
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			n.categories = []uint32{rapid.Uint32Min(1).Draw(t, "low"), rapid.Uint32Min(1).Draw(t, "high")}
		}
		*where[l] = int32(len(out.nodes))
		out.nodes = append(out.nodes, n)
		added := &out.nodes[len(out.nodes)-1]
		where[l] = &added.left
		where = append(where, &added.right)
		out.leaves = append(out.leaves, treeLeaf{value: rapid.Float64Range(-10, 10).Draw(t, "value")})
	}
	return out
}

func randomModel(t *rapid.T) *Model {
	features := rapid.IntRange(2, 5).Draw(t, "features")
	m := &Model{names: names(features), infos: make([]string, features), objective: regression,
		average: rapid.Bool().Draw(t, "average")}
	for f := range m.infos {
		m.infos[f] = "none"
	}
	for range rapid.IntRange(1, 3).Draw(t, "trees") {
		m.trees = append(m.trees, randomTree(t, features, rapid.SampledFrom([]int{1, 2, 3, 5, 8, 64, 65}).Draw(t, "leaves")))
	}
	m.evaluator = newEvaluator(m.trees)
	return m
}

// The bit masks give the sum of a walk through each tree, to the last bit, for values on and beside thresholds, zeros,
// missing values and categories; and so does the model that was written and read.
func TestEvaluatorAgreesWithTraversal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomModel(t)
		var file bytes.Buffer
		must.Get(m.WriteTo(&file))(t)
		again, err := Read(bytes.NewReader(file.Bytes()), "model")
		if err != nil {
			t.Fatalf("%v\n%s", err, file.Bytes())
		}
		row := make([]float64, len(m.names))
		for range 20 {
			for f := range row {
				row[f] = rapid.SampledFrom([]float64{math.Inf(-1), -2, -1.5, -0.5, -1e-36, 0, 1e-36, 5e-324, 0.5, 1, 1.0000001, 31,
					32, 63.5, 64, math.NaN(), math.Inf(1)}).Draw(t, "x")
			}
			want := m.traverse(row)
			if got := m.score(row); got != want {
				t.Fatalf("masks %v, traversal %v for %v", got, want, row)
			}
			if got := again.score(row); got != want {
				t.Fatalf("written and read %v, before %v for %v", got, want, row)
			}
		}
	})
}

// traverse is score without the evaluator: from the root of each tree to its leaf.
func (m *Model) traverse(row []float64) (sum float64) {
	for i := range m.trees {
		sum += m.trees[i].predict(row)
	}
	return m.overTrees(sum)
}

// More trees than a block holds.
func TestEvaluatorOfManyTrees(t *testing.T) {
	o := Defaults()
	o.Trees, o.Leaves = 2*blockTrees+3, 8
	m := train(t, synthetic(t, 2000, 6, 1), o)
	d := synthetic(t, 500, 6, 2)
	for i := range d.Len() {
		row, _ := d.Row(i)
		if got, want := m.score(row), m.traverse(row); got != want {
			t.Fatalf("masks %v, traversal %v for %v", got, want, row)
		}
	}
}

// Several rows at once, and rows of which some features are evaluated first, give what each row gives by itself.
func TestRowsAgreeWithSingleRows(t *testing.T) {
	partial := 0
	rapid.Check(t, func(t *rapid.T) {
		m := randomModel(t)
		n, width := rapid.IntRange(1, 2*batchRows+1).Draw(t, "rows"), len(m.names)
		rows := make([]float64, n*width)
		for i := range rows {
			rows[i] = rapid.SampledFrom([]float64{math.Inf(-1), -1.5, -1e-36, 0, 0.5, 1, 31, 63.5, math.NaN()}).Draw(t, "x")
		}
		got := make([]float64, n)
		m.PredictRows(rows, got)
		changing := rapid.SliceOfNDistinct(rapid.IntRange(0, width-1), 1, width, rapid.ID[int]).Draw(t, "changing")
		inParts := slices.Clone(got)
		if p := m.Partial(changing, 64); p != nil {
			partial++
			effects, values := make([]uint64, n*p.Words()), []float64{}
			for i := range n {
				row := slices.Clone(rows[i*width:][:width])
				for _, f := range changing {
					values, row[f] = append(values, row[f]), -7 // the effect must not depend on it
				}
				p.Fix(row, effects[i*p.Words():])
			}
			p.PredictRows(values, effects, inParts)
		}
		for i := range n {
			if want := m.Predict(rows[i*width:][:width]); got[i] != want || inParts[i] != want {
				t.Fatalf("row %d: %v with others, %v in parts, want %v", i, got[i], inParts[i], want)
			}
		}
	})
	seeded.Covers(t, partial > 0, "no model could be evaluated in parts")
}

// A model whose effects would be too long, or with a tree that is walked, has no Partial.
func TestPartialIsLimited(t *testing.T) {
	o := Defaults()
	o.Trees, o.Leaves = 40, 8
	m := train(t, synthetic(t, 2000, 6, 1), o)
	if p := m.Partial([]int{0}, 20); p == nil || p.Words() != 20 {
		t.Errorf("40 trees of 8 leaves: %v, want effects of 20 words", p)
	}
	if m.Partial([]int{0}, 19) != nil {
		t.Error("effects of 20 words with a limit of 19")
	}
	o.Leaves, o.MinLeafRows = 80, 1
	if train(t, synthetic(t, 2000, 6, 1), o).Partial([]int{0}, 1000) != nil {
		t.Error("trees of 80 leaves are evaluated in parts")
	}
}

func BenchmarkPredict(b *testing.B) {
	for _, features := range []int{4, 21} {
		d := synthetic(b, 30000, features, 1)
		m := train(b, d, Defaults())
		other := loadLeaves(b, m)
		random := rand.New(rand.NewPCG(1, 1))
		rows := make([][]float64, 1024)
		for i := range rows {
			rows[i], _ = d.Row(random.IntN(d.Len()))
		}
		name := map[int]string{4: "4-features", 21: "21-features"}[features]
		b.Run(name+"/masks", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				m.Predict(rows[i&1023])
			}
		})
		b.Run(name+"/traversal", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				m.traverse(rows[i&1023])
			}
		})
		b.Run(name+"/leaves", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				other.PredictSingle(rows[i&1023], 0)
			}
		})
	}
}
