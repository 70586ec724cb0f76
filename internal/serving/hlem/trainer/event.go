package trainer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/neural"
	"github.com/cachesim/cachesim/internal/base/neural/ppo"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
	"github.com/cachesim/cachesim/internal/serving/hlem/fluid"
	"github.com/cachesim/cachesim/internal/serving/hlem/pools"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// eventEpochs is the length of an episode of the event model: long enough to move the ratio from any place to any
// other. Each has some 150 000 requests.
const eventEpochs = 64

// events are rollouts on the event model. An error ends the training.
type events struct {
	ctx  context.Context
	jobs int
	err  error
}

// rollouts implements ppo.Rollouts: as many episodes as the fluid model has environments.
func (v *events) rollouts(policy *ppo.ActorCritic, seed uint64) []ppo.Trajectory {
	all := make([]ppo.Trajectory, Environments)
	v.err = parallel.For(v.ctx, parallel.Jobs(v.jobs), len(all), func(ctx context.Context, _, i int) (err error) {
		bits := random.Stream(seed, uint64(i))
		w := draw(bits).onPapersNode()
		start := hlem.LeastRatio + float64((hlem.MostRatio-hlem.LeastRatio)*random.Unit(bits))
		e := &explorer{policy: policy, work: policy.NewWork(), bits: bits, ratio: start, model: w.model()}
		if err := w.replay(ctx, eventEpochs, e); err != nil {
			return err
		}
		all[i], err = e.trajectory()
		return err
	})
	if v.err != nil {
		return nil
	}
	return all
}

// replay serves a workload on one node of the event model, whose ratio an allocator sets.
func (w Workload) replay(ctx context.Context, epochs int, a allocate.Allocator) error {
	t, err := w.trace(ctx, epochs)
	if err != nil {
		return err
	}
	lru, err := policies.Registry.Parse(policies.Recency())
	if err != nil {
		return err
	}
	spec := allocate.Spec{Entry: allocate.Entry{Name: "explorer", Serving: true,
		New: func(allocate.Config) (allocate.Allocator, error) { return a, nil }}}
	cache, err := pools.New(pools.Config{Nodes: 1, GPUs: gpus, Memory: gpuMemory, Start: hlem.StartRatio,
		Least: hlem.LeastRatio, Most: hlem.MostRatio, Embeddings: lru, Users: lru, Seed: w.Seed, Allocator: &spec,
		Requests: recommender.Of(t.Kind), Count: t.NumObjects})
	if err != nil {
		return err
	}
	model, err := models.Registry.Parse("recommender(optimum=off)")
	if err != nil {
		return err
	}
	_, err = model.Entry.Run(ctx, models.Config{Trace: t, Cache: cache, Params: model.Params, EndWarmup: func() {}})
	return err
}

// trace generates the requests of a workload.
func (w Workload) trace(ctx context.Context, epochs int) (*traces.Trace, error) {
	text := fmt.Sprintf("recommender(nodes=1,regime=%s,hot=%v,own=%v,epochs=%d,seed=%d)", w.Regime, w.Hot, w.Own, epochs,
		w.Seed>>12)
	g, err := workload.Generated(text, 0)
	if err != nil {
		return nil, err
	}
	return g.Load(ctx, nil, traces.LoadOptions{Needs: traces.Needs{Times: true, Kind: true}})
}

// explorer is an allocator that draws its actions from a policy, and keeps what happened.
type explorer struct {
	policy *ppo.ActorCritic
	work   *neural.Work
	bits   *rand.PCG
	ratio  float64
	model  *fluid.Model
	kept   ppo.Trajectory
}

func (e *explorer) Needs() allocate.Needs { return allocate.Needs{} }

// Allocate keeps the ratio.
func (e *explorer) Allocate(s *allocate.State, capacities []int64) {
	e.Decide(s, &hlem.Window{}, capacities)
}

// Decide implements hlem.Controller. A window gives the reward of the last action, less what the fluid model expects
// of its load at the best ratio, which does not depend on the actions.
func (e *explorer) Decide(s *allocate.State, w *hlem.Window, capacities []int64) {
	if w.Requests > 0 {
		if len(e.kept.Actions) > len(e.kept.Rewards) {
			e.kept.Rewards = append(e.kept.Rewards, w.Reward(weight)-e.reference(w))
		}
		state := w.State()
		seen := state[:e.policy.Features()]
		e.kept.States = append(e.kept.States, seen...)
		action := e.policy.Sample(seen, e.bits, e.work)
		e.kept.Actions = append(e.kept.Actions, action)
		e.ratio = bounded(w.Ratio + controllers.Actions[action])
	}
	capacities[0] = int64(e.ratio * float64(s.Capacity))
	capacities[1] = s.Capacity - capacities[0]
}

func (e *explorer) reference(w *hlem.Window) float64 {
	l := hlem.Load{Rate: w.Rate, HotShare: w.HotShare, MeanTokens: w.MeanTokens}
	best := e.model.Search(l, hlem.LeastRatio, hlem.MostRatio, gridStep)
	p := e.model.Predict(l, best)
	expected := hlem.Window{Objective: w.Objective, P99: p.P99, Violations: p.Violations}
	return expected.Reward(weight)
}

// trajectory returns the episode. Its last action has no reward: its state ends the episode, which was cut off there.
func (e *explorer) trajectory() (ppo.Trajectory, error) {
	t := e.kept
	if len(t.Rewards) == 0 {
		return t, errors.New("an episode of the event model has fewer than two epochs with requests")
	}
	steps := len(t.Rewards)
	t.Actions = t.Actions[:steps]
	t.States = t.States[:(steps+1)*hlem.Features]
	return t, nil
}
