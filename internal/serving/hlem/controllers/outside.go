package controllers

import (
	"fmt"
	"math"

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

// Trait is what nodes may differ in, and its values in the training of the built-in policy and trees. Whatever
// `cachesim train` trains draws the same nodes.
type Trait struct {
	Name        string
	Of          func(n *Seen) float64
	Least, Most float64
}

// Seen is what a node sees of itself, and what its model expects of its load at the ratio to begin with: the state of a
// policy is made of hits and waiting, which depend on users, shards and the rate.
type Seen struct {
	*hlem.Window
	Missing, KVHits float64 // shares of rows and of requests
	Free            float64 // share of the GPUs' time

	queue tailQueue
}

// See sees a window.
func (n *Seen) See(w *hlem.Window) {
	n.Window = w
	if w.Forecast == nil || len(w.Lengths) == 0 {
		n.Missing, n.KVHits, n.Free = math.NaN(), math.NaN(), math.NaN()
		return
	}
	hits, kv := w.Forecast.Hits(hlem.StartRatio)
	n.Missing, n.KVHits = 1-hits, kv
	n.queue.fill(w, n.Missing, 1-kv, 1-kv)
	n.Free = 1 - w.Rate*n.queue.mean/float64(w.Node.Servers)
}

// Traits are those of the nodes that package trainer draws, in the mean over the last epochs. Memory is not among them:
// a node with a tenth of it and of the users has the same hits, and so the same states.
var Traits = [...]Trait{
	{"GPUs", func(n *Seen) float64 { return float64(n.Node.Servers) }, 8, 8},
	{"tokens of a request", func(n *Seen) float64 { return n.MeanTokens }, 5000, 10000},
	{"layers", func(n *Seen) float64 { return float64(n.Node.Costs.Layers) }, 3, 6},
	{"rows of a token", func(n *Seen) float64 { return n.Rows }, 5, 100},
	{"milliseconds to transfer all rows of a request", func(n *Seen) float64 { return 1e3 * n.SavedEMB },
		0.628, 75.4},
	{"milliseconds that a KV hit saves", func(n *Seen) float64 { return 1e3 * n.SavedKV }, 0.407, 8.93},
	{"per cent of the requests from hot users", func(n *Seen) float64 { return 100 * n.HotShare }, 5, 85},
	{"per cent of rows that would miss at a ratio of 0.40", func(n *Seen) float64 { return 100 * n.Missing }, 5.4, 43},
	{"per cent of KV hits at a ratio of 0.40", func(n *Seen) float64 { return 100 * n.KVHits }, 25, 100},
	{"per cent of time free at a ratio of 0.40", func(n *Seen) float64 { return 100 * n.Free }, 9, 15},
}

// margin is how much further a node may be from those of the training, as a multiple.
const margin = 1.25

// guarded lets a model decide where what was trained knows nothing.
type guarded struct {
	trained decider
	model   *hlem2 // nil: what was trained decides everywhere

	seen    Seen
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

// unlike returns the number of the first trait in which a node differs from those of the training; -1 if there is none.
func (g *guarded) unlike(w *hlem.Window) int {
	differs := -1
	g.seen.See(w)
	for i := range Traits {
		t, mean := &Traits[i], &g.means[i]
		mean.add(t.Of(&g.seen))
		if x := mean.value(); differs < 0 && !(x >= t.Least/margin && x <= t.Most*margin) {
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
