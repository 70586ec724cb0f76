package controllers

import (
	"bytes"
	_ "embed"
	"sync"

	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

var treesEntry = entry(allocate.Entry{
	Name: "trees",
	Summary: "by supervised learning: boosted trees, trained on the fluid model, predict the best ratio from what the " +
		"node measured",
	Source: "Chen and Guestrin, XGBoost, KDD 2016; XGBoost, OFT and RC in HLEM, arXiv 2605.04450, section V-D",
	Params: withRecovery(recoveryOff,
		stepParam(actionStep, "most that the ratio moves in an epoch towards the prediction"),
		params.Param{Name: "oft", Default: false, Doc: "online fine-tuning: after each epoch a linear correction of the " +
			"prediction makes a step towards the best of three ratios by the fluid model: the last one, and 0.04 below and " +
			"above it"},
		oftRateParam, outsideParam,
	),
	Check: checkTrees,
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	model, err := builtInTrees()
	v := c.Params
	t := &trees{model: model, step: v.Float("step"), recovery: newRecovery(v)}
	if v.Bool("oft") {
		t.tuning = &tuning{rate: v.Float("oft_rate")}
	}
	d, needs := guard(c, t, allocate.Needs{Forecast: v.Bool("oft")})
	return d, needs, err
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
	recovery overrider
}

func (t *trees) next(s *allocate.State, w *hlem.Window) float64 {
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
	weights [hlem.Features + 1]float64 // of the state, and a constant

	state     hlem.State // of the last prediction
	predicted float64
	pending   bool
}

func (t *tuning) correct(state hlem.State, prediction float64) float64 {
	if t == nil {
		return prediction
	}
	prediction += t.weights[hlem.Features]
	for i, x := range state {
		prediction += float64(t.weights[i] * x)
	}
	t.state, t.predicted, t.pending = state, prediction, true
	return prediction
}

// learn moves the last prediction towards what turned out to be the best near the ratio of the epoch.
func (t *tuning) learn(w *hlem.Window) {
	if t == nil || !t.pending || w.Forecast == nil {
		return
	}
	t.pending = false
	least, most := w.Bounds()
	best := w.Forecast.Best(max(least, w.Ratio-actionStep), min(most, w.Ratio+actionStep), actionStep)
	square := 1.0 // of the constant
	for _, x := range t.state {
		square += float64(x * x)
	}
	change := t.rate * (best - t.predicted) / square
	for i, x := range t.state {
		t.weights[i] += float64(change * x)
	}
	t.weights[hlem.Features] += change
}

// forget leaves out the last prediction, which was not followed.
func (t *tuning) forget() {
	if t != nil {
		t.pending = false
	}
}

//go:embed trees.txt.zst
var trainedTrees []byte

// builtInTrees reads the trees that the program was built with, once: they may be shared. They were trained in as many
// episodes of the fluid model as the policy of ppo, which package trainer draws.
var builtInTrees = sync.OnceValues(func() (*gbm.Model, error) {
	return gbm.Read(bytes.NewReader(packed.Unpack(trainedTrees)), "trees.txt")
})
