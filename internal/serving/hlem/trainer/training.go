// Package trainer trains the learned controller of a node that serves recommendations: the policy of the allocators
// ppo and hlem. Episodes run on the fluid model, and for fine-tuning on the event model, with random workloads and from
// random ratios.
package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/neural/ppo"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
)

// Options say how a policy is trained.
type Options struct {
	Seed     uint64
	Episodes int // in each environment
	FineTune int // further episodes in each of as many environments of the event model
	// PaperState trains a policy that sees the paper's seven values only, not what rows and KV hits save.
	PaperState bool
	Jobs       int // goroutines; 0: one per core. The result does not depend on it.
}

// Environments is the number of episodes that each rollout has, and epochs their length.
const (
	Environments = 16
	epochs       = 128
)

// DefaultEpisodes is how many episodes the policy is trained for, in each environment.
const DefaultEpisodes = 240

// Check rejects options that nothing can be trained with.
func (o Options) Check() error {
	if o.Episodes < 1 || o.Episodes > 1_000_000 {
		return fmt.Errorf("--episodes %d: want a number from 1 to 1000000", o.Episodes)
	}
	if o.FineTune < 0 || o.FineTune > 1_000_000 {
		return fmt.Errorf("--finetune %d: want a number from 0 to 1000000", o.FineTune)
	}
	return nil
}

// features returns how many values of a state the policy sees.
func (o Options) features() int {
	if o.PaperState {
		return hlem.PaperFeatures
	}
	return hlem.Features
}

// fineTuning returns the constants with which a trained policy is trained further: slowly, and as sharp as it is.
func (o Options) fineTuning() ppo.Options {
	p := o.ppo()
	p.Iterations, p.Rate, p.Sharpen = o.FineTune, 3e-4, 0
	return p
}

// sharpened is by how much logits grow in all over a training.
const sharpened = 10

// ppo returns the constants of PPO: the specification's (section 3.3), unless the next lines set others. The effects of
// a move last for few epochs, so that a shorter horizon has less noise. Policies run greedily: without sharpening,
// training improves one that owes much to its less probable actions, and that stops short of the best ratio without
// them.
func (o Options) ppo() ppo.Options {
	p := ppo.Defaults()
	p.Iterations, p.Seed, p.Jobs = o.Episodes, o.Seed, o.Jobs
	p.Gamma, p.Rate, p.Anneal, p.RewardScale = 0.95, 1e-3, true, 0.1
	p.Entropy, p.Sharpen = 0.005, math.Pow(sharpened, 1/float64(o.Episodes))
	return p
}

// Summary says what a training achieved.
type Summary struct {
	Parameters   int `json:"parameters"`
	Episodes     int `json:"episodes"` // in each environment
	Environments int `json:"environments"`
	// Curve has the mean reward of an epoch in each episode, less the reward of a node at the best ratio of each epoch;
	// the episodes of the event model come last.
	Curve []float64 `json:"curve"`
	// Converged is after how many episodes the curve, Smoothed, stays within convergedWithin of its end.
	Converged int      `json:"converged"`
	Results   []Result `json:"results"`
}

// Train trains a policy, rounded to what a file keeps of it, and compares it with other controllers. After each
// episode, in all environments, it reports their number.
func Train(ctx context.Context, o Options, progress func(episodes int)) (*ppo.ActorCritic, *Summary, error) {
	if err := o.Check(); err != nil {
		return nil, nil, err
	}
	policy, curve, err := o.learn(ctx, progress)
	if err != nil {
		return nil, nil, err
	}
	s := &Summary{Parameters: policy.Params(), Episodes: o.Episodes, Environments: Environments, Curve: curve,
		Converged: converged(curve[:o.Episodes])}
	s.Results, err = evaluate(ctx, o.Jobs, []string{"before training", "after training"},
		[]*ppo.ActorCritic{controllers.NewPolicy(o.Seed, o.features()), policy})
	return policy, s, err
}

func (o Options) learn(ctx context.Context, progress func(int)) (p *ppo.ActorCritic, curve []float64, err error) {
	environments := make([]ppo.Environment, Environments)
	for i := range environments {
		environments[i] = &episode{epochs: epochs}
	}
	rollouts := ppo.Episodes(environments, epochs, o.Jobs)
	p, err = ppo.Train(ctx, o.ppo(), controllers.NewPolicy(o.Seed, o.features()), rollouts, func(p ppo.Progress) {
		curve = append(curve, p.Reward)
		progress(p.Iteration + 1)
	})
	if err != nil {
		return nil, nil, err
	}
	if o.FineTune > 0 {
		v := &events{ctx: ctx, jobs: o.Jobs}
		p, err = ppo.Train(ctx, o.fineTuning(), p, v.rollouts, func(p ppo.Progress) {
			curve = append(curve, p.Reward)
			progress(o.Episodes + p.Iteration + 1)
		})
		if err = cmp.Or(v.err, err); err != nil {
			return nil, nil, err
		}
	}
	p.Round()
	return p, curve, nil
}

// The curve is Smoothed over a number of episodes, and has converged when it stays within a distance of its end.
const (
	Smoothed        = 10
	convergedWithin = 0.01
)

// converged returns after how many episodes a curve stays near its end.
func converged(curve []float64) int {
	means := Smooth(curve)
	end := means[len(means)-1]
	for i := len(means) - 1; i >= 0; i-- {
		if math.Abs(means[i]-end) > convergedWithin {
			return i + 2
		}
	}
	return 1
}

// Smooth returns the mean of each value and those before it, up to Smoothed of them.
func Smooth(curve []float64) []float64 {
	means := make([]float64, len(curve))
	for i := range curve {
		from := max(0, i+1-Smoothed)
		for _, v := range curve[from : i+1] {
			means[i] += v / float64(i+1-from)
		}
	}
	return means
}
