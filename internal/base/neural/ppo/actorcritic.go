package ppo

import (
	"io"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/neural"
	"github.com/cachesim/cachesim/internal/base/random"
)

// ActorCritic is a policy over a number of actions, and the value of states under it: one network with a logit for each
// action and, as its last output, the value. A state has as many numbers as the network has inputs. Several goroutines
// may use an ActorCritic, each with a Work of its own.
type ActorCritic struct {
	net     *neural.Network
	actions int
}

// New returns an untrained ActorCritic, which draws all actions with nearly the same probability. States have the given
// number of features; hidden are the widths of the hidden layers.
func New(seed uint64, features, actions int, hidden ...int) *ActorCritic {
	net := neural.New(widths(features, actions, hidden)...)
	gains := make([]float64, actions+1)
	for i := range actions {
		gains[i] = 0.01
	}
	gains[actions] = 1
	net.Initialise(random.Stream(seed, initialising), gains...)
	return &ActorCritic{net, actions}
}

func widths(features, actions int, hidden []int) []int {
	return append(append([]int{features}, hidden...), actions+1)
}

// Read reads an ActorCritic of the given shape, and returns the command that made it. Any other file is an error.
func Read(r io.Reader, features, actions int, hidden ...int) (a *ActorCritic, made string, err error) {
	net, made, err := neural.Read(r, widths(features, actions, hidden)...)
	if err != nil {
		return nil, "", err
	}
	return &ActorCritic{net, actions}, made, nil
}

// Write writes a with the command and the seed that made it. It fails if a parameter is not a finite number.
func (a *ActorCritic) Write(w io.Writer, made string, seed uint64) error {
	return a.net.Write(w, made, seed)
}

// clone returns a copy with parameters of its own.
func (a *ActorCritic) clone() *ActorCritic { return &ActorCritic{a.net.Clone(), a.actions} }

// Features returns the length of a state.
func (a *ActorCritic) Features() int { return a.net.Inputs() }

// Round rounds the parameters to float32, as Write stores them.
func (a *ActorCritic) Round()      { a.net.Round() }
func (a *ActorCritic) Params() int { return a.net.Params() }

// NewWork returns what a goroutine needs for decisions.
func (a *ActorCritic) NewWork() *neural.Work { return a.net.NewWork(1) }

// Greedy returns the action with the highest probability; on a tie, the lowest one. It allocates nothing.
func (a *ActorCritic) Greedy(state []float64, w *neural.Work) int {
	best := 0
	logits := a.net.Forward(state, w)[:a.actions]
	for i, l := range logits {
		if l > logits[best] {
			best = i
		}
	}
	return best
}

// sharpen multiplies all logits by a factor, so that the probabilities come closer to the greedy action. 0 leaves them.
func (a *ActorCritic) sharpen(factor float64) {
	if factor == 0 {
		return
	}
	outputs, widths, weights := a.actions+1, a.net.Widths(), a.net.Weights()
	last := weights[len(weights)-(widths[len(widths)-2]+1)*outputs:]
	for i := range last {
		if i%outputs < a.actions {
			last[i] *= factor
		}
	}
}

// Sample draws an action by its probability.
func (a *ActorCritic) Sample(state []float64, bits *rand.PCG, w *neural.Work) int {
	outputs := a.net.Forward(state, w)
	logits := outputs[:a.actions]
	softmax(logits)
	u := random.Unit(bits)
	for i, p := range logits {
		if u -= p; u < 0 {
			return i
		}
	}
	return a.actions - 1
}

func (a *ActorCritic) Value(state []float64, w *neural.Work) float64 {
	return a.net.Forward(state, w)[a.actions]
}

// softmax turns logits into probabilities, and returns the logarithm of the sum that it divides by.
func softmax(logits []float64) (logSum float64) {
	most := logits[0]
	for _, l := range logits {
		most = max(most, l)
	}
	sum := 0.0
	for i, l := range logits {
		logits[i] = random.Exp(max(l-most, -600))
		sum += logits[i]
	}
	for i := range logits {
		logits[i] /= sum
	}
	return most + random.Log(sum)
}
