package controllers

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"sync"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/neural"
	"github.com/cachesim/cachesim/internal/base/neural/ppo"
	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// Actions are what a policy may change the ratio by: a small symmetric set with 0 (section IV-A). The values are ours.
var Actions = [...]float64{-actionStep, -actionStep / 2, 0, actionStep / 2, actionStep}

// hidden are the widths of the hidden layers of a policy: 9 734 parameters, including its value's, and 9 606 if it sees
// the paper's part of a state only.
var hidden = []int{64, 128}

// NewPolicy returns an untrained policy that sees the first features of a state: hlem.Features, or
// hlem.PaperFeatures.
func NewPolicy(seed uint64, features int) *ppo.ActorCritic {
	return ppo.New(seed, features, len(Actions), hidden...)
}

// mostBytes is the most that is read of a file.
const mostBytes = 1 << 24

// ReadPolicy reads a policy as `cachesim train --controller ppo` writes it, with all features of a state or the
// paper's, and returns the command that made it.
func ReadPolicy(r io.Reader) (policy *ppo.ActorCritic, made string, err error) {
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, "", err
	}
	policy, made, err = ppo.Read(bytes.NewReader(text), hlem.Features, len(Actions), hidden...)
	if err == nil {
		return policy, made, nil
	}
	if paper, made, err := ppo.Read(bytes.NewReader(text), hlem.PaperFeatures, len(Actions), hidden...); err == nil {
		return paper, made, nil
	}
	return nil, "", err
}

// trainedFile is packed.
//
//go:embed ppo.json.zst
var trainedFile []byte

// trained returns the policy that the program was built with: `make train` makes it again.
func trained() []byte { return packed.Unpack(trainedFile) }

// builtIn is read once: it may be shared.
var builtIn = sync.OnceValues(func() (*ppo.ActorCritic, error) { return embedded(trained()) })

func embedded(file []byte) (*ppo.ActorCritic, error) {
	policy, _, err := ReadPolicy(bytes.NewReader(file))
	return policy, err
}

// weightsParam is the file of a policy.
var weightsParam = params.Param{Name: "weights", Default: "", File: true,
	Doc: "file of `cachesim train --controller ppo`; empty: the policy that the program was built with"}

// policyOf returns the policy of a file, or the built-in one.
func policyOf(v params.Values) (*ppo.ActorCritic, error) {
	file := v.Text(weightsParam.Name)
	if file == "" {
		return builtIn()
	}
	f, err := filestate.Open(file)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	defer f.Close()
	policy, _, err := ReadPolicy(f)
	if err != nil {
		return nil, fmt.Errorf("weights=%s: %w; `cachesim train --controller ppo -o FILE` writes such a file", file, err)
	}
	return policy, nil
}

// checkWeights reads the file of a policy before anything runs.
func checkWeights(v params.Values) error {
	_, err := policyOf(v)
	return err
}

// greedy takes the most probable action of a frozen policy.
type greedy struct {
	policy *ppo.ActorCritic
	work   *neural.Work
}

func newGreedy(v params.Values) (*greedy, error) {
	p, err := policyOf(v)
	if err != nil {
		return nil, err
	}
	return &greedy{p, p.NewWork()}, nil
}

// action returns what to change the ratio by.
func (g *greedy) action(state *hlem.State) float64 {
	if g == nil {
		return 0
	}
	return Actions[g.policy.Greedy(state[:g.policy.Features()], g.work)]
}
