package ppo

import (
	"context"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/random"
)

// Environment is the world that a policy acts in. Only one goroutine uses it.
type Environment interface {
	// Begin starts an episode, with random choices of its own, and writes its first state.
	Begin(bits *rand.PCG, state []float64)
	// Step takes an action, writes the state that follows, and returns the reward and whether the episode ended.
	Step(action int, state []float64) (reward float64, ended bool)
}

// Episodes returns rollouts of one episode in each environment, on up to jobs goroutines (0: one per core). Episodes
// that did not end are cut off after a number of steps.
func Episodes(environments []Environment, steps, jobs int) Rollouts {
	return func(policy *ActorCritic, seed uint64) []Trajectory {
		all := make([]Trajectory, len(environments))
		// The work never fails, and nothing cancels it.
		_ = parallel.For(context.Background(), parallel.Jobs(jobs), len(all), func(_ context.Context, _, i int) error {
			all[i] = episode(environments[i], steps, policy, random.Stream(seed, uint64(i)))
			return nil
		})
		return all
	}
}

func episode(e Environment, steps int, policy *ActorCritic, bits *rand.PCG) (t Trajectory) {
	w, state := policy.NewWork(), make([]float64, policy.net.Inputs())
	e.Begin(bits, state)
	t.States = append(t.States, state...)
	for range steps {
		action := policy.Sample(state, bits, w)
		reward, ended := e.Step(action, state)
		t.Actions = append(t.Actions, action)
		t.Rewards = append(t.Rewards, reward)
		if ended {
			return t
		}
		t.States = append(t.States, state...)
	}
	return t
}
