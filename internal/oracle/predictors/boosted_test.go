package predictors

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// mixed returns requests of which half go to objects requested every few hundred requests and half to objects requested
// once.
func mixed(requests int, seed uint64) predict.Config {
	bits := rand.New(rand.NewPCG(seed, 0))
	c := predict.Config{Count: requests + 100, Seed: seed}
	for pos := range requests {
		if bits.Float64() < 0.5 {
			c.Objects = append(c.Objects, predict.Object(bits.IntN(100)))
		} else {
			c.Objects = append(c.Objects, predict.Object(100+pos))
		}
	}
	return c
}

const quick = "gbm(window=500,horizon=500,retrain=100,trees=5,leaves=8)"

func TestGBMTellsWhatComesBackFromWhatDoesNot(t *testing.T) {
	const n = 6000
	c := mixed(n, 1)
	p := mustNew(t, "gbm(window=2000,horizon=2000,retrain=500,trees=20)", c)
	asked, later := 0, 0
	for pos, o := range c.Objects {
		p.Observe(o, pos)
		once := c.Objects[pos/2]
		if pos < n/2 || once < 100 {
			continue
		}
		var next [2]float64
		p.Predict([]predict.Object{once, 0}, pos+1, next[:])
		asked++
		if next[0] > next[1] {
			later++
		}
	}
	if later < asked*95/100 {
		t.Errorf("an object that came once is predicted later than one that comes often in %d of %d cases, want most",
			later, asked)
	}
}

func TestPredictionsDoNotDependOnTheFuture(t *testing.T) {
	for _, text := range []string{quick, "gbm(window=500,horizon=500,retrain=100,trees=5,features=4)",
		"gbm(window=500,horizon=500,retrain=100,weak=true)", "ewma", "popu", "pleco", "none", "auto"} {
		t.Run(text, func(t *testing.T) {
			for seed := range uint64(6) {
				a := mixed(1200, seed)
				cut := 600 + 100*int(seed)
				b := a
				b.Objects = slices.Clone(a.Objects)
				for pos := cut; pos < len(b.Objects); pos++ {
					b.Objects[pos] = predict.Object(pos % 100)
				}
				first, second := predictions(mustNew(t, text, a), a.Objects), predictions(mustNew(t, text, b), b.Objects)
				if !slices.Equal(first[:cut], second[:cut]) {
					t.Fatalf("seed %d: predictions before request %d differ where only later requests do", seed, cut)
				}
				if text != "none" && text != "auto" && slices.Equal(first[cut:], second[cut:]) {
					t.Fatalf("seed %d: predictions after request %d are the same for other requests", seed, cut)
				}
			}
		})
	}
}

func TestTrainingIsDeterministic(t *testing.T) {
	c := mixed(3000, 3)
	if a, b := predictions(mustNew(t, quick, c), c.Objects), predictions(mustNew(t, quick, c), c.Objects); !slices.Equal(a,
		b) {
		t.Error("the same requests and seed give other predictions")
	}
}

func TestTiesBeforeTheFirstModel(t *testing.T) {
	c := mixed(50, 1)
	p := mustNew(t, "gbm", c)
	for o := range predict.Object(3) {
		p.Observe(o, int(o))
	}
	next := make([]float64, 3)
	p.Predict([]predict.Object{0, 1, 2}, 10, next)
	if !slices.Equal(next, []float64{predict.Never, predict.Never, predict.Never}) {
		t.Errorf("predictions are %v, want never for all", next)
	}
}

func TestBudgetPutsTrainingOff(t *testing.T) {
	c := mixed(4000, 1)
	const settings = "gbm(window=500,horizon=500,retrain=10,trees=10,leaves=4,budget="
	trainings := func(budget string) int64 {
		p := mustNew(t, settings+budget+")", c)
		predictions(p, c.Objects)
		training := p.(predict.Learner).Training()
		allowed, _ := parseBudget(budget)
		if most := (allowed*float64(len(c.Objects)) + credit(allowed)) / trainingCost; float64(training.Work) > most {
			t.Errorf("budget %s: %d trainings cost %d, more than %.0f", budget, training.Models, training.Work, most)
		}
		return training.Models
	}
	few, plenty := trainings("1ns"), trainings("1us")
	if few < 2 || plenty < 2*few {
		t.Errorf("%d trainings with 1 ns a request, %d with 1 us: want some, and many more", few, plenty)
	}
}

func TestBudgetIsATime(t *testing.T) {
	for _, budget := range []string{"30000", "0s", "-1us", "2h", "quick"} {
		text := "gbm(budget=" + budget + ")"
		must.NotGet(predict.Registry.Parse(text))(t, "time per request", text)
	}
}

// TestSamplesThinOut if the error no longer falls, and increase again if it rises.
func TestSamplesThinOut(t *testing.T) {
	th := thinner{window: 100}
	look := func(e float64) (halvings int) {
		for range th.window {
			th.measure(e)
			halvings = th.judge()
		}
		return halvings
	}
	for _, e := range []float64{4, 2, 1} {
		if n := look(e); n != 0 {
			t.Fatalf("%d halvings while the error falls", n)
		}
	}
	for range 20 {
		look(1)
	}
	if n := look(1); n != thinnest {
		t.Fatalf("%d halvings while the error stays, want %d", n, thinnest)
	}
	if n := look(2); n != thinnest-1 {
		t.Fatalf("%d halvings after the error has risen, want %d", n, thinnest-1)
	}
}

// TestSamplesThinOutOncePerWindow at most, however many trainings fall into it.
func TestSamplesThinOutOncePerWindow(t *testing.T) {
	th := thinner{window: 100}
	for i := range 2*th.window - 1 {
		th.measure(1)
		if n := th.judge(); n != 0 {
			t.Fatalf("%d halvings after %d samples", n, i+1)
		}
	}
}

// TestNewModelsEndAnswers unless predictions have taken more than their part of the budget.
func TestNewModelsEndAnswers(t *testing.T) {
	c := mixed(4000, 1)
	for _, late := range []bool{false, true} {
		p := mustNew(t, "gbm(window=500,horizon=500,retrain=100,trees=5)", c).(*boosted)
		models := map[*gbm.Model]bool{}
		for pos, o := range c.Objects {
			if p.model != nil && late {
				p.learner.predictions = credit(p.learner.budget)
			}
			p.Observe(o, pos)
			models[p.model] = true
		}
		if len(models) < 3 || late != (p.Generation() == 1) {
			t.Errorf("late %v: generation %d after %d models", late, p.Generation(), len(models)-1)
		}
	}
}

func TestAnswersAreKeptUntilTheAgeHasDoubled(t *testing.T) {
	c := mixed(2000, 1)
	p := mustNew(t, "gbm(window=500,horizon=500,retrain=1000,trees=20)", c)
	predictions(p, c.Objects) // the one model is trained on the way
	last := len(c.Objects)
	p.Observe(7, last)
	ask := func(age int) float64 {
		var next [1]float64
		p.Predict([]predict.Object{7}, last+age, next[:])
		return next[0]
	}
	first := ask(100)
	for _, age := range []int{101, 150, 199} {
		if got := ask(age); got != first {
			t.Errorf("at age %d the answer is %v, want the answer at age 100: %v", age, got, first)
		}
	}
	if again := ask(200); again == first {
		t.Errorf("at age 200 the answer is still the one at age 100: %v", again)
	}
}

func TestAModelFromAFilePredictsAsThatModel(t *testing.T) {
	c := mixed(3000, 1)
	samples := NewSamples(DLRMFeatures, 500, c)
	data := must.Get(gbm.NewData(DLRMFeatures.Names(), 3000))(t)
	for pos, o := range c.Objects {
		samples.Observe(o, pos, func(row []float64, label float64) {
			must.Do(t, data.Add(row, label))
		})
	}
	trainer := must.Get(gbm.NewTrainer(gbm.Defaults()))(t)
	model := must.Get(trainer.Train(data))(t)
	path := filepath.Join(t.TempDir(), "model.txt")
	f := must.Get(os.Create(path))(t)
	must.Get(model.WriteTo(f))(t)
	must.Do(t, f.Close())
	features := NewFeatures(DLRMFeatures, c)
	row := make([]float64, DLRMFeatures)
	got := predictions(mustNew(t, "gbm(model="+path+")", c), c.Objects)
	for pos, o := range c.Objects {
		features.Observe(o, pos)
		features.Row(o, pos+1, row)
		if want := float64(pos) + math.Expm1(model.Predict(row)); math.Abs(got[pos]-want) > 1e-9*math.Abs(want) {
			t.Fatalf("request %d: %v, want %v", pos, got[pos], want)
		}
	}
	for text, want := range map[string]string{
		"gbm(features=21,model=" + path + ")": "4 features",
		"gbm(retrain=10,model=" + path + ")":  "only applies to training",
		"gbm(model=" + path + ".missing)":     "no such file",
		"gbm(weak=true,trees=3)":              "one tree",
		"gbm(features=5)":                     "features=5",
		"gbm(window=1)":                       "window=1",
		"gbm(weak=true,model=" + path + ")":   "weak",
		"gbm(budget=1ms,model=" + path + ")":  "budget",
	} {
		must.NotGet(predict.Registry.Parse(text))(t, want, text)
	}
}

func TestCostHasTheTraining(t *testing.T) {
	c := mixed(1000, 1)
	counted := &predict.Counted{Predictor: mustNew(t, quick, c)}
	predictions(counted, c.Objects)
	cost := counted.Cost()
	if cost.Training.Models == 0 || cost.Elapsed < cost.Training.Elapsed || cost.Predictions != 1000 {
		t.Errorf("cost is %+v, want trainings within the time of 1000 predictions", cost)
	}
	if twice := cost.Plus(cost); twice.Training.Models != 2*cost.Training.Models ||
		twice.Training.Work != 2*cost.Training.Work {
		t.Errorf("twice %+v is %+v", cost, twice)
	}
}
