package controllers

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

const hlemSource = "HLEM, arXiv 2605.04450, section IV-A"

var ppoEntry = entry(allocate.Entry{
	Name:    "ppo",
	Summary: "by reinforcement learning: a network that was trained on the fluid model moves the ratio by up to 0.04",
	Source:  hlemSource + `: "PPO-only"; Schulman et al., Proximal Policy Optimization Algorithms, arXiv 1707.06347`,
	Params:  []params.Param{weightsParam, outsideParam},
	Check:   checkWeights,
}, func(c allocate.Config) (decider, allocate.Needs, error) {
	g, err := newGreedy(c.Params)
	d, needs := guard(c, &smart{policy: g, recovery: never{}}, allocate.Needs{})
	return d, needs, err
})

var hlemEntry = entry(allocate.Entry{
	Name: "hlem",
	Summary: "by reinforcement learning as ppo, corrected by a network that learns while it serves; in bursts memory " +
		"moves to the users",
	Source: hlemSource,
	Params: withRecovery(recoveryOn, append([]params.Param{
		{Name: "ppo", Default: true, Doc: "the trained policy moves the ratio; otherwise only the adapter does"},
		weightsParam, outsideParam}, adapterParams...)...),
	Check:  checkHLEM,
	Random: true,
}, newHLEM)

// checkHLEM rejects parameters of parts that are off.
func checkHLEM(v params.Values) error {
	if file := v.Text(weightsParam.Name); file != "" && !v.Bool("ppo") {
		return fmt.Errorf("weights=%s with ppo=false: the policy is switched off; remove one of them", file)
	}
	if !v.Bool("ppo") {
		if err := params.NoEffect([]params.Param{outsideParam}, v, "ppo=off", "ppo=on"); err != nil {
			return err
		}
	}
	if !v.Bool("adapter") { // the first parameter switches it on
		if err := params.NoEffect(adapterParams[1:], v, "adapter=off", "adapter=on"); err != nil {
			return err
		}
	}
	if err := checkRecovery(v); err != nil {
		return err
	}
	return checkWeights(v)
}

// smart is the SmartAllocator: a frozen policy, an online adapter and a recovery controller. Each may be absent.
type smart struct {
	policy   *greedy
	adapter  *adapter
	recovery overrider
}

func newHLEM(c allocate.Config) (decider, allocate.Needs, error) {
	h := &smart{adapter: newAdapter(c.Params, c.Seed, c.Number), recovery: newRecovery(c.Params)}
	if !c.Params.Bool("ppo") {
		return h, allocate.Needs{}, nil
	}
	var err error
	h.policy, err = newGreedy(c.Params)
	d, needs := guard(c, h, allocate.Needs{})
	return d, needs, err
}

func (h *smart) next(s *allocate.State, w *hlem.Window) float64 {
	state, ok := stateOf(w)
	if !ok {
		return w.Ratio
	}
	h.adapter.learn(w) // also from the last decision before a burst, in which it makes none
	if ratio, ok := h.recovery.override(w); ok {
		return ratio
	}
	action := h.policy.action(&state)
	return w.Ratio + action + h.adapter.correct(state, action)
}
