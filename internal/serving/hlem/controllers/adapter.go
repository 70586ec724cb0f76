package controllers

import (
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/neural"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// adapterParams are the parameters of the online adapter (section IV-A). The text says that it is a residual model of
// three layers, that the last one begins with 0, that the learning rate follows the P99, and that it replays 1 000
// windows. The rest is lost.
var adapterParams = []params.Param{
	{Name: "adapter", Default: true, Doc: "a small network that learns while it serves corrects the policy"},
	{Name: "range", Default: 0.02, Min: 0, Max: 1, Doc: "largest correction of the adapter, in either direction"},
	{Name: "noise", Default: 0.004, Min: 0, Max: 1,
		Doc: "standard deviation of what is added to its corrections, to explore"},
	{Name: "rate", Default: 1e-3, Min: 0, Max: 1,
		Doc: "learning rate, which the last P99 as a multiple of its average scales by 0.5 to 2"},
	{Name: "replay", Default: 1000, Min: 1, Max: 1 << 20, Doc: "epochs that it remembers (the paper: 1000)"},
	{Name: "batch", Default: 32, Min: 1, Max: 4096, Doc: "epochs in a minibatch, drawn with replacement"},
	{Name: "batches", Default: 4, Min: 0, Max: 1000, Doc: "minibatches per epoch"},
	{Name: "temperature", Default: 0.1, Min: 1e-3, Max: 1000,
		Doc: "reward above its average that multiplies the weight of an epoch by e"},
	{Name: "weight_most", Default: 20.0, Min: 1, Max: 1e6, Doc: "largest weight of an epoch"},
	{Name: "reward_weight", Default: 1.0, Min: 0, Max: 1000,
		Doc: "weight of a P99 above the objective in the reward, beside the requests within it"},
}

// The layers of the adapter: 833 parameters.
const (
	adapterInputs = hlem.PaperFeatures + 1 // the state, and the policy's action in units of its largest one
	adapterFirst  = 32
	adapterSecond = 16
)

// The learning rate is scaled by the P99 relative to its average, within these limits: faster when latency is above its
// trend.
const leastHaste, mostHaste = 0.5, 2

// experience is an epoch: what the adapter saw and did, and the reward that followed.
type experience struct {
	inputs [adapterInputs]float64
	target float64 // the correction as a share of the range
	// advantage is how much better the following reward was than its average until then. Compared with today's average, a
	// drift of the load would make old epochs look good or bad.
	advantage float64
}

// adapter corrects the actions of a frozen policy. It learns by advantage-weighted regression (Peng et al., arXiv
// 1910.00177): towards the corrections that were made, the more the better the reward was.
type adapter struct {
	limit, noise          float64
	rate                  float64
	replay                int
	batch, batches        int
	temperature, heaviest float64
	rewardWeight          float64

	net       *neural.Network
	one, many *neural.Work
	optimiser *neural.Adam
	draws     *rand.PCG

	memory  []experience // the last ones, a ring once it is full
	added   int
	last    experience // the current decision, without its reward
	pending bool       // last was carried out
	reward  average
	p99     average

	rows, slopes, gradient []float64 // reused
	chosen                 []int
}

// newAdapter returns nil if the parameters say that there is none. Its weights, noise and minibatches follow from the
// seed of the replay and the number of the node.
func newAdapter(v params.Values, seed uint64, number int) *adapter {
	if !v.Bool("adapter") {
		return nil
	}
	net := neural.New(adapterInputs, adapterFirst, adapterSecond, 1)
	a := &adapter{limit: v.Float("range"), noise: v.Float("noise"), rate: v.Float("rate"), replay: v.Int("replay"),
		batch: v.Int("batch"), batches: v.Int("batches"), temperature: v.Float("temperature"),
		heaviest: v.Float("weight_most"), rewardWeight: v.Float("reward_weight"), net: net,
		optimiser: neural.NewAdam(net.Params(), 0), draws: random.Stream(seed, uint64(number)),
		reward: average{kept: averageKept}, p99: average{kept: averageKept}}
	net.Initialise(a.draws, 0) // the output is 0 until the first update
	a.one, a.many = net.NewWork(1), net.NewWork(a.batch)
	a.rows, a.slopes = make([]float64, a.batch*adapterInputs), make([]float64, a.batch)
	a.gradient, a.chosen = make([]float64, net.Params()), make([]int, a.batch)
	return a
}

// correct returns the correction of a policy's action in a state.
func (a *adapter) correct(state hlem.State, action float64) float64 {
	if a == nil {
		return 0
	}
	copy(a.last.inputs[:], state[:hlem.PaperFeatures])
	a.last.inputs[hlem.PaperFeatures] = action / actionStep
	share := tanh(a.net.Forward(a.last.inputs[:], a.one)[0])
	if a.noise > 0 && a.limit > 0 {
		share = min(1, max(-1, share+float64(a.noise/a.limit*random.Normal(a.draws))))
	}
	a.last.target, a.pending = share, true
	return share * a.limit
}

// learn takes what followed the last decision, and trains.
func (a *adapter) learn(w *hlem.Window) {
	p99, ok := latency(w)
	if a == nil || !ok {
		return
	}
	reward := w.Reward(a.rewardWeight)
	if a.pending {
		a.last.advantage = reward - a.reward.value()
		a.remember(a.last)
	}
	a.pending = false
	a.reward.add(reward)
	a.p99.add(p99)
	a.optimiser.Rate = a.rate * min(mostHaste, max(leastHaste, p99/a.p99.value()))
	if len(a.memory) >= a.batch {
		for range a.batches {
			a.update()
		}
	}
}

func (a *adapter) remember(e experience) {
	if len(a.memory) < a.replay {
		a.memory = append(a.memory, e)
	} else {
		a.memory[a.added%a.replay] = e
	}
	a.added++
}

// update makes one step of gradient descent, on the mean of weight * (share - target)^2 over a minibatch.
func (a *adapter) update() {
	for i := range a.chosen {
		a.chosen[i], _ = random.Below(a.draws, len(a.memory))
		copy(a.rows[i*adapterInputs:], a.memory[a.chosen[i]].inputs[:])
	}
	outputs := a.net.Forward(a.rows, a.many)
	for i, k := range a.chosen {
		e := &a.memory[k]
		weight := min(a.heaviest, random.Exp(min(600, e.advantage/a.temperature))) // Exp(600) is still finite
		share := tanh(outputs[i])
		a.slopes[i] = 2 * weight * (share - e.target) * (1 - float64(share*share)) / float64(a.batch)
	}
	clear(a.gradient)
	a.net.Backward(a.slopes, a.many, a.gradient)
	a.optimiser.Step(a.net.Weights(), a.gradient)
}

// tanh has the same bits on every machine. The one of package neural has others, and records depend on these.
func tanh(x float64) float64 { return 1 - 2/(random.Exp(2*min(300, max(-300, x)))+1) }
