package gbm

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// small is a file as LightGBM 4 writes it, cut down to what a reader needs.
const small = `tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=regression
feature_names=age count
feature_infos=[0:9] [0:1]
tree_sizes=300 200

Tree=0
num_leaves=3
num_cat=0
split_feature=0 1
threshold=2.5 0.5
decision_type=10 0
left_child=1 -1
right_child=-2 -3
leaf_value=1 2 4
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
leaf_value=0.25
shrinkage=1


end of trees

parameters:
[label: log]
[data: C:\x]

end of parameters
`

func read(text string) (*Model, error) { return Read(strings.NewReader(text), "m.txt") }

func TestReadWorkedExample(t *testing.T) {
	m := must.Get(read(small))(t)
	nan := math.NaN()
	for _, c := range []struct{ age, count, want float64 }{
		{2.5, 0.5, 1.25}, {2.5, 0.6, 4.25}, {2.6, 0, 2.25}, {nan, 1, 4.25}, {nan, nan, 1.25}, {9, nan, 2.25},
	} {
		if got := m.Predict([]float64{c.age, c.count}); got != c.want {
			t.Errorf("age %v, count %v: %v, want %v", c.age, c.count, got, c.want)
		}
	}
	if want := []note{{"label", "log"}, {"data", `C:\x`}}; !slices.Equal(m.notes, want) || m.Trees() != 2 {
		t.Errorf("notes %q and %d trees, want %q and 2", m.notes, m.Trees(), want)
	}
}

func TestReadVersionsAndObjectives(t *testing.T) {
	row := []float64{1, 1} // scores 4.25
	for _, c := range []struct {
		old, new string
		want     float64
	}{
		{"version=v4", "version=v2", 4.25},
		{"version=v4", "version=v3", 4.25},
		{"objective=regression", "objective=huber", 4.25},
		{"objective=regression", "objective=quantile alpha:0.5", 4.25},
		{"objective=regression", "objective=poisson", math.Exp(4.25)},
		{"objective=regression", "objective=regression\naverage_output", 4.25 / 2},
		{"\n", "\r\n", 4.25},
		{"is_linear=0\n", "", 4.25},
	} {
		m, err := read(strings.ReplaceAll(small, c.old, c.new))
		if err != nil {
			t.Errorf("%s: %v", c.new, err)
			continue
		}
		if got := m.Predict(row); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.new, got, c.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"tree\nversion", "{\"tree", "line 1 is"},
		{"version=v4", "version=v5", "line 2: version is"},
		{"version=v4\n", "", "no version"},
		{"num_class=1", "num_class=3", "line 3: num_class is 3: a prediction is one number"},
		{"num_tree_per_iteration=1", "num_tree_per_iteration=9", "num_tree_per_iteration is 9"},
		{"objective=regression\n", "", "no objective"},
		{"objective=regression", "objective=regression sqrt", "square roots"},
		{"objective=regression", "objective=lambdarank", "line 7: objective lambdarank cannot be used"},
		{"objective=regression", "objective=multiclass num_class:1", "one number"},
		{"objective=regression", "objective=binary sigmoid:1", "objective binary cannot be used: it predicts probabilities"},
		{"objective=regression", "objective=cross_entropy", "cross_entropy"},
		{"objective=regression", "objective=myown", "is not known"},
		{"objective=regression", "objective=", "is empty"},
		{"max_feature_idx=1", "max_feature_idx=2", "has 2 names, but max_feature_idx is 2"},
		{"max_feature_idx=1", "max_feature_idx=2147483646", "has 2 names"},
		{"max_feature_idx=1", "max_feature_idx=99999999999999999999", "max_feature_idx"},
		{"tree_sizes=300 200", "tree_sizes=300 200 100", "ends after 2 of 3 trees"},
		{"tree_sizes=300 200", "tree_sizes=300", "has 1 values"},
		{"tree_sizes=300 200", "tree_sizes=", "no trees"},
		{"tree_sizes=300 200\n", "", "no tree_sizes"},
		{"Tree=1", "Tree=7", "want \"Tree=1\""},
		{"num_leaves=3", "num_leaves=2000000000", "leaf_value of tree 0 has 3 values, want 2000000000"},
		{"num_leaves=3", "num_leaves=0", "num_leaves"},
		{"num_cat=0\nsplit", "num_cat=3\nsplit", "num_cat"},
		{"split_feature=0 1", "split_feature=0 2", "value 2 of split_feature of tree 0 is \"2\""},
		{"split_feature=0 1", "split_feature=0 -1", "split_feature"},
		{"threshold=2.5 0.5", "threshold=2.5 nan", "threshold"},
		{"threshold=2.5 0.5", "threshold=2.5", "line 16: threshold of tree 0 has 1 values, want 2"},
		{"decision_type=10 0", "decision_type=10 12", "decision_type"},
		{"decision_type=10 0", "decision_type=10 1", "categories number 0.5"},
		{"left_child=1 -1", "left_child=0 -1", "left_child"},
		{"left_child=1 -1", "left_child=1 1", "is not after it"},
		{"left_child=1 -1", "left_child=1 -2", "two parents"},
		{"right_child=-2 -3", "right_child=-2 -4", "right_child"},
		{"leaf_value=1 2 4", "leaf_value=1 NaN 4", "line 20: value 2 of leaf_value of tree 0 is \"NaN\""},
		{"leaf_value=1 2 4", "leaf_value=1 1e999 4", "leaf_value"},
		{"leaf_value=1 2 4", "leaf_value=1 2 4\nleaf_value=1 2 4", "given twice"},
		{"shrinkage=1\n\n\nTree=1", "is_linear=1\nshrinkage=1\n\n\nTree=1", "is linear"},
		{"end of trees", "", "want \"end of trees\""},
	} {
		text := strings.Replace(small, c.old, c.new, 1)
		if text == small {
			t.Fatalf("%q is not in the file", c.old)
		}
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "model m.txt: ") {
			t.Errorf("%q instead of %q: error %v, want %q", c.new, c.old, err, c.want)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.txt")); err == nil ||
		!strings.Contains(err.Error(), "none.txt") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// However much of a file is missing at its end, it is refused until all trees are there.
func TestReadRefusesEveryTruncation(t *testing.T) {
	whole := strings.Index(small, "end of trees") + len("end of trees")
	for n := range whole {
		if _, err := read(small[:n]); err == nil {
			t.Fatalf("the first %d bytes of %d were taken for a model:\n%s", n, whole, small[:n])
		}
	}
}

// withCategories is small with two words of categories at its first node.
var withCategories = strings.Replace(small, "num_cat=0\nsplit_feature=0 1\nthreshold=2.5 0.5\ndecision_type=10 0",
	"num_cat=1\nsplit_feature=0 1\nthreshold=0 0.5\ndecision_type=9 0\ncat_boundaries=0 2\ncat_threshold=5 2147483648", 1)

func TestCategories(t *testing.T) {
	m := must.Get(read(withCategories))(t)
	for _, c := range []struct{ category, want float64 }{
		{0, 1.25}, {0.9, 1.25}, {1, 2.25}, {2, 1.25}, {63, 1.25}, {62, 2.25}, {64, 2.25}, {-1, 2.25}, {1e300,
			2.25}, {math.NaN(), 2.25}, {math.Inf(1), 2.25},
	} {
		if got := m.Predict([]float64{c.category, 0}); got != c.want {
			t.Errorf("category %v: %v, want %v", c.category, got, c.want)
		}
	}
	for old, new := range map[string]string{
		"cat_boundaries=0 2": "cat_boundaries=0 3", "cat_threshold=5": "cat_threshold=5 x",
		"threshold=0 0.5": "threshold=1 0.5", "boundaries=0 2": "boundaries=2 0",
	} {
		if _, err := read(strings.Replace(withCategories, old, new, 1)); err == nil {
			t.Errorf("%s was taken for categories", new)
		}
	}
}

func TestMatch(t *testing.T) {
	m := must.Get(read(small))(t)
	nameless := &Model{names: []string{"Column_0", "Column_1"}}
	for _, c := range []struct {
		m        *Model
		features []string
		want     string // "": they match
	}{
		{m, []string{"age", "count"}, ""},
		{nameless, []string{"age", "count"}, ""},
		{m, []string{"count", "age"}, "in another order"},
		{m, []string{"age", "size"}, "feature 2 of the model is count, but here it is size"},
		{m, []string{"age", "count", "size"}, "trained on 2 features (age count), but a row here has 3"},
	} {
		err := c.m.Match(c.features)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.features, err, c.want)
		}
	}
}

func TestRowOfAnotherLengthPanics(t *testing.T) {
	m := must.Get(read(small))(t)
	for _, row := range [][]float64{nil, {1}, {1, 2, 3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a row of %d features was given a prediction", len(row))
				}
			}()
			m.Predict(row)
		}()
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	m := train(f, synthetic(f, 200, 4, 1), Options{Trees: 2, Leaves: 5, LearningRate: 0.1, MinLeafRows: 5, Bagging: 1,
		Features: 1, MaxBins: 16})
	var file bytes.Buffer
	must.Get(m.WriteTo(&file))(f)
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := read(string(data))
		if err != nil {
			return
		}
		row := make([]float64, len(m.Names()))
		for _, x := range []float64{0, 1, math.NaN()} {
			for i := range row {
				row[i] = x
			}
			if got, want := m.score(row), m.traverse(row); got != want {
				t.Fatalf("masks %v, traversal %v", got, want)
			}
		}
		if other, err := inLeaves(string(data)); err == nil {
			must.Do(t, crossCheck(m, other))
		}
		var again bytes.Buffer
		must.Get(m.WriteTo(&again))(t)
		if _, err := read(again.String()); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, again.String())
		}
	})
}
