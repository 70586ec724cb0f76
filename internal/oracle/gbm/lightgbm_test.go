package gbm

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// python returns the Python that CACHESIM_PYTHON names, or python3, if it has LightGBM, and "" elsewhere.
var python = sync.OnceValue(func() string {
	name := cmp.Or(os.Getenv("CACHESIM_PYTHON"), "python3")
	if exec.Command(name, "-c", "import lightgbm").Run() != nil {
		return ""
	}
	return name
})

// needsLightGBM skips a test that compares with LightGBM itself where it is not installed.
func needsLightGBM(t *testing.T) {
	t.Helper()
	if python() == "" {
		t.Skip("compares with LightGBM itself: set CACHESIM_PYTHON to a Python that has it (pip install lightgbm)")
	}
}

// lightgbm runs testdata/reference.py and returns the predictions that it prints.
func lightgbm(t *testing.T, arguments ...string) (predictions []float64) {
	t.Helper()
	out, err := exec.Command(python(), append([]string{"testdata/reference.py"}, arguments...)...).Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", arguments, err, err.(*exec.ExitError).Stderr)
	}
	for text := range strings.FieldsSeq(string(out)) {
		x := must.Get(strconv.ParseFloat(text, 64))(t)
		predictions = append(predictions, x)
	}
	return predictions
}

// rowsFile writes data as reference.py reads it.
func rowsFile(t *testing.T, d *Data) string {
	t.Helper()
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	for i := range d.Len() {
		row, label := d.Row(i)
		var cells []string
		for _, x := range row {
			cells = append(cells, number(x))
		}
		must.Do(t, w.Write(append(cells, number(label))))
	}
	w.Flush()
	path := filepath.Join(t.TempDir(), "rows.csv")
	must.Do(t, os.WriteFile(path, file.Bytes(), 0o644))
	return path
}

func compare(t *testing.T, m *Model, d *Data, want []float64) {
	t.Helper()
	if len(want) != d.Len() {
		t.Fatalf("LightGBM predicts %d of %d rows", len(want), d.Len())
	}
	for i := range d.Len() {
		row, _ := d.Row(i)
		if got := m.Predict(row); math.Abs(got-want[i]) > 1e-12*max(1, math.Abs(want[i])) {
			t.Fatalf("row %d: %v, LightGBM predicts %v for %v", i, got, want[i], row)
		}
	}
}

func TestLightGBMLoadsWhatIsWritten(t *testing.T) {
	needsLightGBM(t)
	m := train(t, synthetic(t, 3000, 21, 1), Defaults())
	path := filepath.Join(t.TempDir(), "model.txt")
	var file bytes.Buffer
	must.Get(m.WriteTo(&file))(t)
	must.Do(t, os.WriteFile(path, file.Bytes(), 0o644))
	d := synthetic(t, 1000, 21, 2)
	compare(t, m, d, lightgbm(t, "predict", path, rowsFile(t, d)))
}

func TestModelsOfLightGBM(t *testing.T) {
	needsLightGBM(t)
	for _, parameters := range []string{
		"objective=regression",
		"objective=regression num_leaves=200",
		"objective=huber",
		"objective=quantile alpha=0.9",
		"objective=regression zero_as_missing=true",
		"objective=regression use_missing=false",
		"objective=regression boosting=dart",
		"objective=regression boosting=rf bagging_freq=1 bagging_fraction=0.5",
		"objective=regression categorical=3 min_data_per_group=10 cat_smooth=1",
		"objective=tweedie",
		"objective=poisson",
	} {
		t.Run(parameters, func(t *testing.T) {
			d := synthetic(t, 1500, 4, 3)
			for i := range d.Len() {
				row, _ := d.Row(i)
				row[2] = max(row[2], 0)
				row[3] = math.Abs(math.Trunc(10 * row[3]))
				if i%20 == 0 {
					row[3] = math.NaN()
				}
				d.labels[i] = math.Abs(d.labels[i])
			}
			path := filepath.Join(t.TempDir(), "model.txt")
			want := lightgbm(t, append([]string{"train", rowsFile(t, d), path}, strings.Fields(parameters)...)...)
			m := must.Get(ReadFile(path))(t)
			compare(t, m, d, want)
		})
	}
}

func TestModelsOfLightGBMThatAreRefused(t *testing.T) {
	needsLightGBM(t)
	for parameters, want := range map[string]string{
		"objective=regression linear_tree=true": "is linear",
		"objective=regression reg_sqrt=true":    "square roots",
		"objective=multiclass num_class=3":      "one number",
		"objective=cross_entropy":               "cross_entropy",
	} {
		d := synthetic(t, 1500, 4, 3)
		for i := range d.labels {
			d.labels[i] = float64(i % 2)
		}
		path := filepath.Join(t.TempDir(), "model.txt")
		lightgbm(t, append([]string{"train", rowsFile(t, d), path}, strings.Fields(parameters)...)...)
		must.NotGet(ReadFile(path))(t, want, parameters)
	}
}

// Errors on new rows are within a few percent of LightGBM's with the same parameters, on average: for one draw of the
// rows it matters more where the edges between bins happen to lie.
func TestAsGoodAsLightGBM(t *testing.T) {
	needsLightGBM(t)
	for _, features := range []int{4, 21} {
		ours, theirs := 0.0, 0.0
		const draws = 6
		for seed := range uint64(draws) {
			d, fresh := synthetic(t, 10000, features, 2*seed), synthetic(t, 5000, features, 2*seed+1)
			ours += rmse(train(t, d, Defaults()), fresh) / draws
			path := filepath.Join(t.TempDir(), "model.txt")
			lightgbm(t, "train", rowsFile(t, d), path, "objective=regression")
			other := must.Get(ReadFile(path))(t)
			theirs += rmse(other, fresh) / draws
		}
		t.Logf("%d features: RMSE %.4f, LightGBM %.4f", features, ours, theirs)
		if ours > 1.03*theirs {
			t.Errorf("%d features: RMSE %.4f, LightGBM %.4f, want at most 3%% more", features, ours, theirs)
		}
	}
}
