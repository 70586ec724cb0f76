package ppo

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func train(t testing.TB, o Options, a *ActorCritic, r Rollouts, report func(Progress)) *ActorCritic {
	t.Helper()
	if report == nil {
		report = func(Progress) {}
	}
	a = must.Get(Train(t.Context(), o, a, r, report))(t)
	return a
}

// TestAdvantagesByHand works through three steps with gamma 0.5 and lambda 0.5.
func TestAdvantagesByHand(t *testing.T) {
	rewards := []float64{1, 2, 3}
	// Deltas: 1+0.5*4-2 = 1, 2+0.5*6-4 = 1, 3+0.5*8-6 = 1 with the value 8 at the cut, -3 without one.
	for _, c := range []struct{ last, a0, a1, a2 float64 }{
		{8, 1 + 0.25*1.25, 1.25, 1},
		{0, 1 + 0.25*0.25, 1 - 0.25*3, -3},
	} {
		got := advantages(rewards, []float64{2, 4, 6, c.last}, 0.5, 0.5)
		if want := []float64{c.a0, c.a1, c.a2}; !slices.Equal(got, want) {
			t.Errorf("last value %v: %v, want %v", c.last, got, want)
		}
	}
	// Lambda 1 gives the discounted rewards less the value, lambda 0 the error of one step.
	if got := advantages(rewards, []float64{2, 4, 6, 8}, 0.5, 1)[0]; got != 1+0.5*2+0.25*3+0.125*8-2 {
		t.Errorf("lambda 1: %v", got)
	}
	if got := advantages(rewards, []float64{2, 4, 6, 8}, 0.5, 0)[0]; got != 1 {
		t.Errorf("lambda 0: %v, want 1", got)
	}
}

// TestGradientsOfTheLosses compares the gradients with finite differences: of the loss of the policy on both sides of
// the clip, of the entropy and of the value.
func TestGradientsOfTheLosses(t *testing.T) {
	o := Defaults()
	for _, o.Entropy = range []float64{0, 0.3} {
		for _, o.Value = range []float64{0, 0.7} {
			for _, logP := range []float64{-0.3, -1.2, -3} {
				for _, advantage := range []float64{1.5, -0.8} {
					checkLoss(t, o, sample{action: 1, logP: logP, advantage: advantage, target: 0.4})
				}
			}
		}
	}
}

func checkLoss(t *testing.T, o Options, s sample) {
	t.Helper()
	at := []float64{0.3, -0.2, 0.9, 1.7} // three logits and a value
	total := func(outputs []float64) float64 {
		l := o.loss(slices.Clone(outputs), s, make([]float64, 4))
		return l.policy - o.Entropy*l.entropy + o.Value*l.value
	}
	gradient := make([]float64, 4)
	o.loss(slices.Clone(at), s, gradient)
	const h = 1e-6
	for i := range at {
		above, below := slices.Clone(at), slices.Clone(at)
		above[i] += h
		below[i] -= h
		if want := (total(above) - total(below)) / (2 * h); math.Abs(gradient[i]-want) > 1e-7 {
			t.Errorf("%+v with entropy %v and value %v: gradient %v of output %d, want %v", s, o.Entropy, o.Value,
				gradient[i], i, want)
		}
	}
}

// TestClipEndsTheReward checks by hand what is clipped: at the probability 1/2 that was 1/4, a good action gains no
// more, and a bad one is punished in full.
func TestClipEndsTheReward(t *testing.T) {
	o := Defaults()
	o.Entropy = 0
	for _, c := range []struct{ advantage, policy, slope, clipped float64 }{{3, -1.2 * 3, 0, 1}, {-3, 2 * 3, 3, 0}} {
		gradient := make([]float64, 3)
		l := o.loss([]float64{1, 1, 0}, sample{action: 0, logP: math.Log(0.25), advantage: c.advantage}, gradient)
		if math.Abs(l.policy-c.policy) > 1e-12 || math.Abs(gradient[0]-c.slope) > 1e-12 || l.clipped != c.clipped {
			t.Errorf("advantage %v: loss %v, gradient %v, clipped %v; want %v, %v, %v", c.advantage, l.policy, gradient[0],
				l.clipped, c.policy, c.slope, c.clipped)
		}
		if math.Abs(l.entropy-math.Ln2) > 1e-12 {
			t.Errorf("entropy %v, want ln 2", l.entropy)
		}
	}
}

// TestGradientOfAMinibatch compares the gradient of a minibatch, over parts and all parameters, with differences.
func TestGradientOfAMinibatch(t *testing.T) {
	o := Defaults()
	o.Minibatch, o.Norm, o.Rate = 40, 1e9, 1e-12
	tr := newTrainer(o, New(1, 3, 4, 5))
	bits := random.Stream(1, 1)
	var e Trajectory
	for range 40 {
		e.Actions = append(e.Actions, below(bits, 4))
		e.Rewards = append(e.Rewards, random.Normal(bits))
		e.States = append(e.States, random.Normal(bits), random.Normal(bits), random.Normal(bits))
	}
	must.Do(t, tr.collect([]Trajectory{e}, &Progress{}))
	for i := range tr.samples {
		tr.samples[i].logP += 0.3 * random.Normal(bits)
	}
	rows := make([]int, 40)
	for i := range rows {
		rows[i] = i
	}
	total := func() float64 {
		l := must.Get(tr.step(t.Context(), rows))(t)
		return (l.policy - o.Entropy*l.entropy + o.Value*l.value) / 40
	}
	total()
	gradient := slices.Clone(tr.gradient)
	weights := tr.policy.net.Weights()
	const h = 1e-5
	for i := range weights {
		kept := slices.Clone(weights)
		weights[i] = kept[i] + h
		above := total()
		copy(weights, kept)
		weights[i] = kept[i] - h
		below := total()
		copy(weights, kept)
		if want := (above - below) / (2 * h); math.Abs(gradient[i]-want) > 1e-6 {
			t.Errorf("parameter %d: gradient %v, want %v", i, gradient[i], want)
		}
	}
}

func below(bits *rand.PCG, n int) int { i, _ := random.Below(bits, n); return i }

func TestActorCriticOfThePaperHas9606Parameters(t *testing.T) {
	if got := New(1, 7, 5, 64, 128).Params(); got != 9606 {
		t.Errorf("%d parameters, want 9 606", got)
	}
}

func TestGreedyDoesNotAllocate(t *testing.T) {
	a := New(1, 7, 5, 64, 128)
	w, state := a.NewWork(), make([]float64, 7)
	if got := testing.AllocsPerRun(10, func() { a.Greedy(state, w) }); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// TestSampleFollowsTheProbabilities draws from logits 0 and ln 3.
func TestSampleFollowsTheProbabilities(t *testing.T) {
	a := New(1, 1, 2)
	weights := a.net.Weights()
	clear(weights)
	weights[4] = math.Log(3)
	bits, w, drawn := random.Stream(1, 1), a.NewWork(), 0
	for range 10000 {
		drawn += a.Sample([]float64{0}, bits, w)
	}
	if math.Abs(float64(drawn)-7500) > 150 {
		t.Errorf("action 1 was drawn %d times of 10 000, want 7 500", drawn)
	}
	if got := a.Greedy([]float64{0}, w); got != 1 {
		t.Errorf("greedy takes %d, want 1", got)
	}
	clear(weights)
	if got := a.Greedy([]float64{0}, w); got != 0 {
		t.Errorf("on a tie greedy takes %d, want 0", got)
	}
}

func TestActorCriticIsReadAsItWasWritten(t *testing.T) {
	a := New(1, 3, 4, 5)
	a.Round()
	var b bytes.Buffer
	must.Do(t, a.Write(&b, "command", 1))
	text := b.Bytes()
	got, made, err := Read(bytes.NewReader(text), 3, 4, 5)
	if err != nil || made != "command" || !slices.Equal(got.net.Weights(), a.net.Weights()) {
		t.Errorf("read %v, made by %q, error %v", got, made, err)
	}
	const want = "3-5-5 neurons, want 3-5-6"
	if _, _, err := Read(bytes.NewReader(text), 3, 5, 5); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another shape gives error %v, want %q", err, want)
	}
}

// TestSharpen checks that logits grow by the factor, and that the value stays.
func TestSharpen(t *testing.T) {
	a := New(1, 3, 4, 5)
	w, state := a.NewWork(), []float64{1, -1, 0.5}
	before := slices.Clone(a.net.Forward(state, w))
	a.sharpen(0)
	if !slices.Equal(a.net.Forward(state, w), before) {
		t.Error("no sharpening changes the outputs")
	}
	a.sharpen(1.5)
	for i, y := range a.net.Forward(state, w) {
		want := before[i]
		if i < 4 {
			want *= 1.5
		}
		if math.Abs(y-want) > 1e-12 {
			t.Errorf("output %d is %v, want %v", i, y, want)
		}
	}
}

// bandit pays 1 with a probability per arm, which depends on the state: the state names the best arm.
type bandit struct {
	bits *rand.PCG
	best int
}

const arms = 4

func (b *bandit) Begin(bits *rand.PCG, state []float64) {
	b.bits = bits
	b.show(state)
}

func (b *bandit) show(state []float64) {
	b.best = below(b.bits, arms)
	clear(state)
	state[b.best] = 1
}

func (b *bandit) Step(action int, state []float64) (reward float64, ended bool) {
	chance := 0.3
	if action == b.best {
		chance = 0.7
	}
	if random.Unit(b.bits) < chance {
		reward = 1
	}
	b.show(state)
	return reward, false
}

func bandits(n int) (e []Environment) {
	for range n {
		e = append(e, &bandit{})
	}
	return e
}

func TestBandit(t *testing.T) {
	o := Defaults()
	o.Iterations, o.Gamma, o.Rate = 30, 0, 1e-3
	reward := 0.0
	a := train(t, o, New(1, arms, arms, 16), Episodes(bandits(8), 64, 0), func(p Progress) { reward = p.Reward })
	w := a.NewWork()
	for arm := range arms {
		state := make([]float64, arms)
		state[arm] = 1
		if got := a.Greedy(state, w); got != arm {
			t.Errorf("in state %d the greedy arm is %d", arm, got)
		}
		// The value of a state under a policy that takes the best arm nearly always.
		if v := a.Value(state, w); math.Abs(v-0.7) > 0.1 {
			t.Errorf("state %d has the value %.2f, want 0.7", arm, v)
		}
	}
	if reward < 0.6 {
		t.Errorf("mean reward %.3f in the last iteration, want about 0.7", reward)
	}
}

// TestResultDoesNotDependOnCores trains with one and with two goroutines, and from two seeds.
func TestResultDoesNotDependOnCores(t *testing.T) {
	result := func(cores int, seed uint64) []float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		o := Defaults()
		o.Iterations, o.Seed = 3, seed
		return train(t, o, New(seed, arms, arms, 16), Episodes(bandits(4), 100, 0), nil).net.Weights()
	}
	one := result(1, 1)
	for range 3 {
		if !slices.Equal(one, result(2, 1)) {
			t.Fatal("two goroutines give other weights than one")
		}
	}
	if slices.Equal(one, result(1, 2)) {
		t.Error("two seeds give the same weights")
	}
}

func TestTrainingChecksItsInput(t *testing.T) {
	ok := func(*ActorCritic, uint64) []Trajectory {
		return []Trajectory{{States: []float64{1, 2}, Actions: []int{0}, Rewards: []float64{1}}}
	}
	for _, c := range []struct {
		want   string
		change func(*Options)
		roll   Rollouts
	}{
		{"iterations", func(o *Options) { o.Iterations = 0 }, ok},
		{"gamma", func(o *Options) { o.Gamma = math.NaN() }, ok},
		{"clip", func(o *Options) { o.Clip = 1 }, ok},
		{"rate", func(o *Options) { o.Rate = 0 }, ok},
		{"sharpen", func(o *Options) { o.Sharpen = -1 }, ok},
		{"entropy", func(o *Options) { o.Entropy = -1 }, ok},
		{"no steps", nil, func(*ActorCritic, uint64) []Trajectory { return nil }},
		{"want 2 per state", nil, func(*ActorCritic, uint64) []Trajectory {
			return []Trajectory{{States: []float64{1}, Actions: []int{0}, Rewards: []float64{1}}}
		}},
		{"is NaN, want a finite number", nil, func(*ActorCritic, uint64) []Trajectory {
			return []Trajectory{{States: []float64{1, 2}, Actions: []int{0}, Rewards: []float64{math.NaN()}}}
		}},
	} {
		o := Defaults()
		if c.change != nil {
			c.change(&o)
		}
		_, err := Train(t.Context(), o, New(1, 2, 3, 4), c.roll, func(Progress) {})
		must.Fail(t, err, c.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	iterations := 0
	_, err := Train(ctx, Defaults(), New(1, 2, 3, 4), ok, func(Progress) { iterations++; cancel() })
	if err == nil || iterations != 1 {
		t.Errorf("after the end of the context there were %d iterations, error %v", iterations, err)
	}
}
