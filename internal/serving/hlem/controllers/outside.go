package controllers

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// Values of the parameter outside.
const (
	outsideModel  = "model"
	outsidePolicy = "policy"
)

// outsideParam chooses what decides on nodes that a policy was not trained on, because it would overload them.
var outsideParam = params.Param{Name: "outside", Default: outsideModel, Choices: []string{outsideModel, outsidePolicy},
	Doc: "what decides on a node unlike those of the training: model: hlem2; policy: what was trained, all the same"}

// Trait is what nodes may differ in, as a node sees it of itself, and its values in the training of the built-in policy
// and trees. Whatever `cachesim train` trains draws the same nodes.
type Trait struct {
	Name        string
	Of          func(w *hlem.Window) float64
	Least, Most float64
}

// Traits are those of the nodes that package trainer draws. Memory and the number of users are not among them: a node
// with a tenth of both has the same hits, and so the same states.
var Traits = [...]Trait{
	{"GPUs", func(w *hlem.Window) float64 { return float64(w.Node.Servers) }, 8, 8},
	{"tokens of a request", func(w *hlem.Window) float64 { return w.MeanTokens }, 5000, 10000},
	{"milliseconds to transfer all rows of a request", func(w *hlem.Window) float64 { return 1e3 * w.SavedEMB },
		0.628, 75.4},
	{"milliseconds that a KV hit saves", func(w *hlem.Window) float64 { return 1e3 * w.SavedKV }, 0.407, 8.93},
	{"per cent of the requests from hot users", func(w *hlem.Window) float64 { return 100 * w.HotShare }, 5, 85},
}

// margin is how much further a node may be from those of the training, as a multiple.
const margin = 1.25

// guarded lets a model decide where what was trained knows nothing.
type guarded struct {
	trained decider
	model   *hlem2 // nil: what was trained decides everywhere

	means   [len(Traits)]average // so that a node does not change sides with every window
	outside int64                // decisions of the model
	why     string               // the first one of them
}

// guard adds the parameter's choice to a trained policy and its needs.
func guard(c allocate.Config, trained decider, needs allocate.Needs) (decider, allocate.Needs) {
	g := &guarded{trained: trained}
	for i := range g.means {
		g.means[i].kept = averageKept
	}
	if c.Params.Text(outsideParam.Name) == outsideModel {
		var needed allocate.Needs
		g.model, needed = newHLEM2(params.Defaults(hlem2Params))
		needs.Curves, needs.Forecast = needed.Curves, true
	}
	return g, needs
}

func (g *guarded) next(s *allocate.State, w *hlem.Window) float64 {
	if g.model == nil || w.Node.Servers == 0 { // a node that does not say what it is has no model
		return g.trained.next(s, w)
	}
	g.model.count(s)
	differs := g.unlike(w)
	if differs < 0 {
		return g.trained.next(s, w)
	}
	g.outside++
	if g.why == "" {
		t := &Traits[differs]
		g.why = fmt.Sprintf("%.4g %s, trained with %v to %v", g.means[differs].value(), t.Name, t.Least, t.Most)
	}
	return g.model.decide(s, w)
}

// unlike returns the number of a trait in which a node differs from those of the training; -1 if there is none.
func (g *guarded) unlike(w *hlem.Window) int {
	differs := -1
	for i := range Traits {
		t, mean := &Traits[i], &g.means[i]
		mean.add(t.Of(w))
		if x := mean.value(); !(x >= t.Least/margin && x <= t.Most*margin) {
			differs = i
		}
	}
	return differs
}

// Outside implements hlem.Trained.
func (n *node) Outside() (decisions int64, why string, guards bool) {
	g, ok := n.decider.(*guarded)
	if !ok || g.model == nil {
		return 0, "", false
	}
	return g.outside, g.why, true
}
