package controllers

import (
	"sync"

	"github.com/cachesim/cachesim/internal/allocate"
	"github.com/cachesim/cachesim/internal/fluid"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/predict/gbm"
	"github.com/cachesim/cachesim/internal/random"
	"github.com/cachesim/cachesim/internal/serving"
)

var treesEntry = entry(allocate.Entry{
	Name: "trees",
	Summary: "by supervised learning: boosted trees, trained on the fluid model before the first request, predict the " +
		"best ratio from what the node measured",
	Source: "Chen and Guestrin, XGBoost, KDD 2016; XGBoost, OFT and RC in HLEM, arXiv 2605.04450, section V-D",
	Params: withRecovery(false,
		stepParam(actionStep, "most that the ratio moves in an epoch towards the prediction"),
		params.Param{Name: "oft", Default: false, Doc: "online fine-tuning: after each epoch a linear correction of the " +
			"prediction makes a step towards the best of the last ratio and those 0.04 below and above, by the fluid model"},
		oftRateParam,
	),
	Check: checkTrees,
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	model, err := trainedTrees()
	v := c.Params
	t := &trees{model: model, step: v.Float("step"), recovery: newRecovery(v)}
	if v.Bool("oft") {
		t.tuning = &tuning{rate: v.Float("oft_rate")}
	}
	return t, allocate.Needs{Forecast: v.Bool("oft")}, err
})

var oftRateParam = params.Param{Name: "oft_rate", Default: 0.1, Min: 0, Max: 1,
	Doc: "share of the error that such a step corrects"}

// checkTrees rejects parameters of parts that are off.
func checkTrees(v params.Values) error {
	if !v.Bool("oft") {
		if err := params.NoEffect([]params.Param{oftRateParam}, v, "oft=off", "oft=on"); err != nil {
			return err
		}
	}
	return checkRecovery(v)
}

// trees moves towards the ratio that boosted trees predict.
type trees struct {
	model    *gbm.Model
	step     float64
	tuning   *tuning // nil: none
	recovery *recovery
}

func (t *trees) next(s *allocate.State) float64 {
	w := s.Serving
	state, ok := stateOf(w)
	if !ok {
		return w.Ratio
	}
	t.tuning.learn(w)
	if ratio, ok := t.recovery.override(w); ok {
		t.tuning.forget()
		return ratio
	}
	return towards(t.tuning.correct(state, t.model.Predict(state[:])), w.Ratio, t.step)
}

// tuning is a linear correction of predictions that learns online, by normalised least mean squares.
type tuning struct {
	rate    float64
	weights [serving.Features + 1]float64 // of the state, and a constant

	state     serving.State // of the last prediction
	predicted float64
	pending   bool
}

// correct returns a corrected prediction from a state.
func (t *tuning) correct(state serving.State, prediction float64) float64 {
	if t == nil {
		return prediction
	}
	prediction += t.weights[serving.Features]
	for i, x := range state {
		prediction += float64(t.weights[i] * x)
	}
	t.state, t.predicted, t.pending = state, prediction, true
	return prediction
}

// learn moves the last prediction towards what turned out to be the best near the ratio of the epoch.
func (t *tuning) learn(w *serving.Window) {
	if t == nil || !t.pending || w.Forecast == nil {
		return
	}
	t.pending = false
	least, most := w.Bounds()
	best := w.Forecast.Best(max(least, w.Ratio-actionStep), min(most, w.Ratio+actionStep), actionStep)
	square := 1.0
	for _, x := range t.state {
		square += float64(x * x)
	}
	change := t.rate * (best - t.predicted) / square
	for i, x := range t.state {
		t.weights[i] += float64(change * x)
	}
	t.weights[serving.Features] += change
}

// forget leaves out the last prediction, which was not followed.
func (t *tuning) forget() {
	if t != nil {
		t.pending = false
	}
}

// The loads that trees are trained on. HLEM trains its supervised controllers on recorded traces; here the fluid model
// serves random loads at random ratios, so that all states are seen.
const (
	treeEpisodes  = 12 // of each share of own shards, a third of each regime
	treeEpochs    = 64 // of an episode
	treeGPUs      = 8
	treeMemory    = 80e9
	utilisation   = 0.85 // at StartRatio, as in the workloads
	leastBase     = 0.05 // share of hot users
	mostBase      = 0.60
	treeSeed      = 1
	exploredJumps = 16 // epochs from one jump of the ratio to another one, on average
)

var ownShares = [...]float64{0, 0.6, 0.96}

// features are the names of the values of a state.
var features = []string{"hot_share", "kv_hit", "emb_hit", "tokens", "violations", "ratio", "p99"}

// trainedTrees trains the trees once, in less than a second.
var trainedTrees = sync.OnceValues(func() (*gbm.Model, error) {
	data, err := gbm.NewData(features, len(ownShares)*treeEpisodes*treeEpochs)
	if err != nil {
		return nil, err
	}
	for i, own := range ownShares {
		p := serving.DefaultPopulation()
		p.OwnShare = own
		model := fluid.NewCached(p, serving.DefaultCosts(), treeGPUs, treeMemory)
		for k := range treeEpisodes {
			if err := explore(data, model, serving.Regimes()[k%3], uint64(i*treeEpisodes+k)); err != nil {
				return nil, err
			}
		}
	}
	o := gbm.Defaults()
	o.Seed = treeSeed
	trainer, err := gbm.NewTrainer(o)
	if err != nil {
		return nil, err
	}
	return trainer.Train(data)
})

// explore adds the states of an episode in which the ratio wanders, each with the best ratio for the next epoch.
func explore(data *gbm.Data, model *fluid.Model, regime serving.Regime, number uint64) error {
	bits := random.Stream(treeSeed, number)
	base := leastBase + float64((mostBase-leastBase)*random.Unit(bits))
	loads := model.Loads(regime, base, treeEpochs+1, number, utilisation, serving.StartRatio)
	node, ratio := model.NewNode(), 0.0
	best, of := 0.0, serving.Load{}
	for k, load := range loads[:treeEpochs] {
		if jump, _ := random.Below(bits, exploredJumps); k == 0 || jump == 0 {
			ratio = serving.LeastRatio + float64((serving.MostRatio-serving.LeastRatio)*random.Unit(bits))
		}
		action, _ := random.Below(bits, len(Actions))
		ratio = min(serving.MostRatio, max(serving.LeastRatio, ratio+Actions[action]))
		w := node.Step(load, ratio)
		if loads[k+1] != of {
			of = loads[k+1]
			best = model.Search(of, serving.LeastRatio, serving.MostRatio, 0.01)
		}
		state := w.State()
		if err := data.Add(state[:], best); err != nil {
			return err
		}
	}
	return nil
}
