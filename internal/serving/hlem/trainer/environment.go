package trainer

import (
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
	"github.com/cachesim/cachesim/internal/serving/hlem/fluid"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// Workload is what a node serves in an episode.
type Workload struct {
	Own    float64 // share of a user's draws that are of its own shards
	Hot    float64 // share of requests of hot users at the beginning
	Regime recommender.Regime
	Seed   uint64 // of the spikes

	// The node and its model: 0 stands for the paper's.
	Tables, Layers, Users int
	Shorter               bool    // sequences of 2 000 to 8 000 tokens instead of 5 000 to 15 000
	Faster                float64 // computation and transfers, as a multiple
}

// The node that controllers are trained on: the paper's, with the users of one node of four, if nothing else is drawn.
const (
	gpus        = 8
	gpuMemory   = 80_000_000_000
	utilisation = 0.85 // at the ratio normal
	normal      = hlem.StartRatio
	weight      = 1 // of the P99 in the reward
)

// Ranges from which episodes draw what they serve. The shares of hot users are figure 16's, and include the datasets of
// Table II.
const leastHot, mostHot = 0.05, 0.60

var ownShares = [...]float64{0, 0.6, 0.96}

// What nodes may differ in: half of them are the paper's, so that a policy knows these best.
var (
	tables = [...]int{5, 10, 25, 50, 100}
	layers = [...]int{3, 6}
	people = [...]int{8000, 30600} // users of a node
	faster = [...]float64{1, 3}    // an H100 against an A100
)

func draw(bits *rand.PCG) Workload {
	own, _ := random.Below(bits, len(ownShares))
	regimes := recommender.Regimes()
	regime, _ := random.Below(bits, len(regimes))
	hot := leastHot + float64((mostHot-leastHot)*random.Unit(bits))
	w := Workload{Own: ownShares[own], Hot: hot, Regime: regimes[regime], Seed: bits.Uint64()}
	if random.Unit(bits) < 0.5 {
		return w
	}
	w.Tables, w.Layers, w.Users = choose(bits, tables[:]), choose(bits, layers[:]), choose(bits, people[:])
	w.Shorter, w.Faster = random.Unit(bits) < 0.25, choose(bits, faster[:])
	return w
}

func choose[T any](bits *rand.PCG, from []T) T {
	i, _ := random.Below(bits, len(from))
	return from[i]
}

func (w Workload) model() *fluid.Model {
	p, c := w.node()
	return fluid.NewCached(p, c, gpus, gpuMemory)
}

// node returns the users of a node, and what requests cost there.
func (w Workload) node() (recommender.Population, hlem.Costs) {
	p, c := recommender.DefaultPopulation(), hlem.DefaultCosts()
	p.OwnShare = w.Own
	if w.Tables > 0 {
		p.Tables, p.Users, c.Layers = w.Tables, w.Users, w.Layers
		c.FLOPS *= w.Faster
		c.PCIe *= w.Faster
	}
	if w.Shorter {
		p.MinTokens, p.MaxTokens = 2000, 8000
	}
	return p, c
}

// onPapersNode returns the workload on the node of the paper.
func (w Workload) onPapersNode() Workload {
	return Workload{Own: w.Own, Hot: w.Hot, Regime: w.Regime, Seed: w.Seed}
}

// calm returns the workload without spikes.
func (w Workload) calm() Workload {
	if w.Regime == recommender.Burst {
		w.Regime = recommender.Steady
	}
	return w
}

func (w Workload) loads(epochs int) []hlem.Load {
	return w.model().Loads(w.Regime.HotShares(w.Hot, epochs, w.Seed, recommender.BurstExtra), utilisation, normal)
}

// episode is a node of the fluid model that serves a workload under a policy.
type episode struct {
	epochs int
	node   *fluid.Node
	loads  []hlem.Load
	at     int // epoch
	ratio  float64
	window hlem.Window

	reference *fluid.Node
	best      []float64 // the ratios of the reference
}

// Begin starts an episode of a random workload at a random ratio.
func (e *episode) Begin(bits *rand.PCG, state []float64) {
	w := draw(bits)
	e.begin(w, hlem.LeastRatio+float64((hlem.MostRatio-hlem.LeastRatio)*random.Unit(bits)))
	e.show(state)
	e.best = bests(w, w.calm().loads(len(e.loads)))
	e.reference = w.model().NewNode()
	e.reference.Step(e.loads[0], e.best[0])
}

func (e *episode) begin(w Workload, ratio float64) {
	e.node, e.loads = w.model().NewNode(), w.loads(e.epochs+1)
	e.at, e.ratio = 0, ratio
	e.serve()
}

// serve serves the next epoch.
func (e *episode) serve() {
	e.window = e.node.Step(e.loads[e.at], e.ratio)
	e.at++
}

// show writes the state that the last window shows.
func (e *episode) show(state []float64) {
	s := e.window.State()
	copy(state, s[:])
}

// Step changes the ratio. The reward is that of the window after the change, less that of another node under the same
// load, at the best ratio for the load without spikes. The subtrahend does not depend on the actions, so the same
// policies are the best. It removes most differences between workloads and in spikes, which are far larger than the
// effect of an action.
func (e *episode) Step(action int, state []float64) (reward float64, ended bool) {
	e.ratio = bounded(e.ratio + controllers.Actions[action])
	reference := e.reference.Step(e.loads[e.at], e.best[e.at])
	e.serve()
	e.show(state)
	return e.window.Reward(weight) - reference.Reward(weight), false
}

// bounded returns the closest ratio that a node may have.
func bounded(ratio float64) float64 {
	return min(hlem.MostRatio, max(hlem.LeastRatio, ratio))
}
