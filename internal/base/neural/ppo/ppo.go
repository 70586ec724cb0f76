// Package ppo trains policies that choose among a few actions. New returns an untrained ActorCritic; Train improves it
// with episodes in which it acted; Episodes runs them in Environments.
//
// The algorithm is proximal policy optimisation (Schulman, Wolski, Dhariwal, Radford and Klimov, Proximal policy
// optimization algorithms, arXiv 1707.06347) with generalised advantage estimation (Schulman, Moritz, Levine, Jordan
// and Abbeel, High-dimensional continuous control using generalized advantage estimation, ICLR 2016).
package ppo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/neural"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/random"
)

// Trajectory is what happened in one episode.
type Trajectory struct {
	// States has the features of each decision's state, state by state, and one more state if the episode was cut off
	// rather than ended: the value of that state stands for the rewards that would have followed.
	States  []float64
	Actions []int
	Rewards []float64 // that followed each action
}

// Rollouts returns episodes in which a policy drew its actions. The same policy and seed give the same episodes.
type Rollouts func(policy *ActorCritic, seed uint64) []Trajectory

// Options are the constants of PPO.
type Options struct {
	Iterations  int     // rollouts, each followed by passes over its decisions
	Gamma       float64 // discount of a reward per step
	Lambda      float64 // of the advantage estimation
	Clip        float64 // largest change of an action's probability, as a share of it, that is rewarded
	Rate        float64 // of learning
	Anneal      bool    // the rate falls linearly to 0
	Passes      int     // over each rollout
	Minibatch   int     // decisions per step of learning
	Entropy     float64 // weight of the entropy of the policy, which lowers the loss
	Value       float64 // weight of the squared error of values
	Norm        float64 // largest norm of a gradient
	Sharpen     float64 // factor of the logits after each iteration, so that sampling gets closer to greed; 0: none
	RewardScale float64 // factor for rewards, chosen such that values are of the order of 1
	Seed        uint64
	Jobs        int // goroutines; 0: one per core. The result does not depend on it.
}

// Defaults returns the constants of section 3.3 of the specification of HLEM, which are from the paper on PPO.
func Defaults() Options {
	return Options{Iterations: 100, Gamma: 0.99, Lambda: 0.95, Clip: 0.2, Rate: 3e-4, Passes: 10, Minibatch: 64,
		Entropy: 0.01, Value: 0.5, Norm: 0.5, RewardScale: 1, Seed: 1}
}

func (o Options) check() error {
	switch {
	case o.Iterations < 1 || o.Passes < 1 || o.Minibatch < 1:
		return errors.New("iterations, passes and minibatch must be at least 1")
	case !(o.Gamma >= 0 && o.Gamma <= 1) || !(o.Lambda >= 0 && o.Lambda <= 1):
		return errors.New("gamma and lambda must be from 0 to 1")
	case !(o.Clip > 0 && o.Clip < 1):
		return errors.New("clip must be above 0 and below 1")
	case !(o.Rate > 0) || !(o.Norm > 0) || !(o.RewardScale > 0):
		return errors.New("rate, norm and reward scale must be above 0")
	case !(o.Sharpen == 0 || o.Sharpen >= 0.1 && o.Sharpen <= 10):
		return errors.New("sharpen must be 0, or from 0.1 to 10")
	case !(o.Entropy >= 0) || !(o.Value >= 0):
		return errors.New("the weights of entropy and value must not be negative")
	}
	return nil
}

// Progress reports an iteration.
type Progress struct {
	Iteration int // from 0
	Episodes  int
	Steps     int
	Return    float64 // mean sum of the rewards of an episode
	Reward    float64 // mean reward of a step
	Policy    float64 // mean loss of the policy over the passes
	Value     float64 // mean squared error of the values, in the scale of the rewards
	Entropy   float64 // mean entropy of the policy, in nats
	Clipped   float64 // share of the decisions whose change of probability was clipped
}

// What seeds are used for.
const (
	initialising = iota + 1
	rolling
	shuffling
)

// Train improves a copy of a policy over a number of iterations. After each of them it reports its progress. It fails
// if ctx ends, an option is out of range, or a reward is not a finite number.
func Train(ctx context.Context, o Options, policy *ActorCritic, rollouts Rollouts, report func(Progress)) (*ActorCritic,
	error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	t := newTrainer(o, policy.clone())
	seeds, order := random.Stream(o.Seed, rolling), random.Stream(o.Seed, shuffling)
	for i := range o.Iterations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p := Progress{Iteration: i}
		if err := t.collect(rollouts(t.policy, seeds.Uint64()), &p); err != nil {
			return nil, err
		}
		if o.Anneal {
			t.adam.Rate = o.Rate * (1 - float64(i)/float64(o.Iterations))
		}
		if err := t.learn(ctx, order, &p); err != nil {
			return nil, err
		}
		if err := t.policy.net.Check(); err != nil {
			return nil, fmt.Errorf("iteration %d: %w; a lower learning rate may help", i+1, err)
		}
		t.policy.sharpen(o.Sharpen)
		report(p)
	}
	return t.policy, nil
}

// sample is a decision with what the update needs: its advantage and its return.
type sample struct {
	action    int
	logP      float64 // of the action when it was taken
	advantage float64
	target    float64 // of the value
}

type trainer struct {
	Options
	policy  *ActorCritic
	adam    *neural.Adam
	states  []float64
	samples []sample
	order   []int // of the samples in a pass

	parts    []part
	gradient []float64
}

// part computes the gradient of some rows of a minibatch. Parts have a fixed size and are summed in their order, so
// that the result does not depend on the number of goroutines.
type part struct {
	work     *neural.Work
	states   []float64
	outputs  []float64
	gradient []float64
	losses   losses
}

const partRows = 16

func newTrainer(o Options, policy *ActorCritic) *trainer {
	net := policy.net
	t := &trainer{Options: o, policy: policy, adam: neural.NewAdam(net.Params(), o.Rate),
		gradient: make([]float64, net.Params()), parts: make([]part, (o.Minibatch+partRows-1)/partRows)}
	t.adam.Epsilon = 1e-5
	for i := range t.parts {
		t.parts[i] = part{work: net.NewWork(partRows), states: make([]float64, partRows*net.Inputs()),
			outputs: make([]float64, partRows*net.Outputs()), gradient: make([]float64, net.Params())}
	}
	return t
}

// collect turns episodes into samples.
func (t *trainer) collect(episodes []Trajectory, p *Progress) error {
	t.states, t.samples = t.states[:0], t.samples[:0]
	features, actions := t.policy.net.Inputs(), t.policy.actions
	for _, e := range episodes {
		steps := len(e.Actions)
		if rows := len(e.States) / features; len(e.States)%features != 0 || len(e.Rewards) != steps ||
			(rows != steps && rows != steps+1) {
			return fmt.Errorf("an episode has %d actions, %d rewards and states of %d numbers, want %d per state", steps,
				len(e.Rewards), len(e.States), features)
		}
		total := 0.0
		for i, r := range e.Rewards {
			if total += r; math.IsNaN(total) || math.IsInf(total, 0) {
				return fmt.Errorf("reward %d of an episode is %v, want a finite number", i, r)
			}
		}
		p.Return += total
		p.Steps += steps
		t.states = append(t.states, e.States[:steps*features]...)
		// The state after the last step, if there is one, only serves to estimate what follows; nothing is learned in
		// it.
		t.samples = append(t.samples, t.judge(e, features, actions)...)
	}
	if p.Steps == 0 {
		return errors.New("the rollouts have no steps")
	}
	p.Episodes = len(episodes)
	p.Reward = p.Return / float64(p.Steps)
	p.Return /= float64(p.Episodes)
	return nil
}

// judge computes advantages and targets of an episode from the values of its states.
func (t *trainer) judge(e Trajectory, features, actions int) []sample {
	rows := len(e.States) / features
	outputs := t.policy.net.Forward(e.States, t.policy.net.NewWork(rows))
	values := make([]float64, len(e.Actions)+1)
	samples := make([]sample, len(e.Actions))
	rewards := make([]float64, len(e.Actions))
	for i := range rows {
		row := outputs[i*(actions+1) : (i+1)*(actions+1)]
		values[i] = row[actions]
		if i == len(e.Actions) {
			break
		}
		action := e.Actions[i]
		logit := row[action]
		samples[i] = sample{action: action, logP: logit - softmax(row[:actions])}
		rewards[i] = t.RewardScale * e.Rewards[i]
	}
	for i, a := range advantages(rewards, values, t.Gamma, t.Lambda) {
		samples[i].advantage, samples[i].target = a, a+values[i]
	}
	return samples
}

// advantages estimates how much better each action was than the policy's mean, from the values of the states. There is
// one more value than rewards: of the state after the last step, 0 if the episode ended there.
func advantages(rewards, values []float64, gamma, lambda float64) []float64 {
	a := make([]float64, len(rewards))
	next := 0.0
	// Generalised advantage estimation as a recurrence from the end: a[i] = delta[i] + gamma lambda a[i+1].
	for i := len(rewards) - 1; i >= 0; i-- {
		delta := rewards[i] + float64(gamma*values[i+1]) - values[i]
		next = delta + float64(gamma*lambda*next)
		a[i] = next
	}
	return a
}

// learn makes the passes over the samples.
func (t *trainer) learn(ctx context.Context, bits *rand.PCG, p *Progress) error {
	t.order = t.order[:0]
	for i := range t.samples {
		t.order = append(t.order, i)
	}
	var sum losses
	for range t.Passes {
		random.Shuffle(bits, t.order)
		for from := 0; from < len(t.order); from += t.Minibatch {
			l, err := t.step(ctx, t.order[from:min(from+t.Minibatch, len(t.order))])
			if err != nil {
				return err
			}
			sum.add(l)
		}
	}
	n := float64(t.Passes * len(t.order))
	p.Policy, p.Value, p.Entropy, p.Clipped = sum.policy/n, sum.value/n, sum.entropy/n, sum.clipped/n
	return nil
}

// step learns from a minibatch, whose advantages it normalises.
func (t *trainer) step(ctx context.Context, rows []int) (losses, error) {
	mean, sd := t.moments(rows)
	pieces := (len(rows) + partRows - 1) / partRows
	err := parallel.For(ctx, parallel.Jobs(t.Jobs), pieces, func(_ context.Context, _, piece int) error {
		t.parts[piece].compute(t, rows[piece*partRows:min((piece+1)*partRows, len(rows))], mean, sd, len(rows))
		return nil
	})
	if err != nil {
		return losses{}, err
	}
	var sum losses
	clear(t.gradient)
	for i := range t.parts[:pieces] {
		// In the order of the parts, whichever goroutine was first: sums of floating-point numbers depend on it.
		for j, g := range t.parts[i].gradient {
			t.gradient[j] += g
		}
		sum.add(t.parts[i].losses)
	}
	neural.ClipNorm(t.gradient, t.Norm)
	t.adam.Step(t.policy.net.Weights(), t.gradient)
	return sum, nil
}

// moments returns mean and standard deviation of the advantages of the samples with these indices.
func (t *trainer) moments(rows []int) (mean, sd float64) {
	n := float64(len(rows))
	for _, r := range rows {
		mean += t.samples[r].advantage
	}
	mean /= n
	for _, r := range rows {
		d := t.samples[r].advantage - mean
		sd += float64(d * d)
	}
	// Equal advantages have a deviation of 0, by which step divides.
	return mean, math.Sqrt(sd/n) + 1e-8
}

// compute sets the gradient of the rows of a part; of is the number of rows of the minibatch.
func (p *part) compute(t *trainer, rows []int, mean, sd float64, of int) {
	net := t.policy.net
	features := net.Inputs()
	for i, r := range rows {
		copy(p.states[i*features:(i+1)*features], t.states[r*features:])
	}
	outputs := net.Forward(p.states[:len(rows)*features], p.work)
	p.losses = losses{}
	for i, r := range rows {
		s := t.samples[r]
		s.advantage = (s.advantage - mean) / sd
		width := net.Outputs()
		p.losses.add(t.loss(outputs[i*width:(i+1)*width], s, p.outputs[i*width:(i+1)*width]))
	}
	for i := range p.outputs {
		p.outputs[i] /= float64(of)
	}
	clear(p.gradient)
	net.Backward(p.outputs, p.work, p.gradient)
}

// losses are sums over samples, not means.
type losses struct{ policy, value, entropy, clipped float64 }

func (l *losses) add(m losses) {
	l.policy += m.policy
	l.value += m.value
	l.entropy += m.entropy
	l.clipped += m.clipped
}

// loss returns the losses of a sample, given the outputs of the network for its state, which become probabilities. It
// sets the gradient with respect to the outputs of the policy's loss, less the weighted entropy, plus the weighted
// squared error of the value.
func (o *Options) loss(outputs []float64, s sample, gradient []float64) losses {
	last := len(outputs) - 1
	value, logit := outputs[last], outputs[s.action]
	p := outputs[:last]
	logSum := softmax(p)
	// Bounded, so that an action that has become very likely or unlikely gives a finite ratio.
	ratio := random.Exp(min(max(logit-logSum-s.logP, -30), 30))
	clipped := min(max(ratio, 1-o.Clip), 1+o.Clip)
	l := losses{policy: -min(ratio*s.advantage, clipped*s.advantage), value: (value - s.target) * (value - s.target)}
	// The loss changes with the ratio only where that is not clipped.
	slope := -ratio * s.advantage
	if clipped*s.advantage < ratio*s.advantage {
		slope = 0
		l.clipped = 1
	}
	for _, q := range p {
		if q > 0 {
			l.entropy -= float64(q * random.Log(q))
		}
	}
	for i, q := range p {
		gradient[i] = -float64(slope * q)
		if q > 0 {
			gradient[i] += float64(o.Entropy * float64(q*(random.Log(q)+l.entropy)))
		}
	}
	gradient[s.action] += slope
	gradient[last] = 2 * o.Value * (value - s.target)
	return l
}
