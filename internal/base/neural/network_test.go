package neural

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
)

// TestParameterCounts checks the sizes that the specification derives: the actor-critic with 5 logits and a value, and
// the adapter.
func TestParameterCounts(t *testing.T) {
	if got := New(7, 64, 128, 6).Params(); got != 9606 {
		t.Errorf("the actor-critic has %d parameters, want 9 606", got)
	}
	if got := New(8, 32, 16, 1).Params(); got != 833 {
		t.Errorf("the adapter has %d parameters, want 833", got)
	}
}

// TestForwardByHand computes a network of two inputs, two hidden neurons and one output by hand.
func TestForwardByHand(t *testing.T) {
	n := New(2, 2, 1)
	copy(n.Weights(), []float64{
		0.5, -1, // from input 0
		0.25, 2, // from input 1
		0.1, -0.2, // biases
		3, -4, // to the output
		0.7,
	})
	want := func(a, b float64) float64 {
		return 3*math.Tanh(0.5*a+0.25*b+0.1) - 4*math.Tanh(-a+2*b-0.2) + 0.7
	}
	inputs := []float64{0, 0, 1, 2, -3, 0.5}
	got := n.Forward(inputs, n.NewWork(3))
	for r, y := range got {
		if w := want(inputs[2*r], inputs[2*r+1]); math.Abs(y-w) > 1e-14 {
			t.Errorf("row %d: %v, want %v", r, y, w)
		}
	}
}

// loss is a smooth function of all outputs, and its gradient.
func loss(outputs, gradient []float64) (sum float64) {
	for i, y := range outputs {
		factor := 1 + float64(i%3)
		sum += factor * y * y / 2
		gradient[i] = factor * y
	}
	return sum
}

// checkGradients compares the gradients of every step-th parameter with finite differences.
func checkGradients(t *testing.T, n *Network, rows, step int) {
	t.Helper()
	bits := random.Stream(1, 2)
	n.Initialise(bits)
	inputs := make([]float64, rows*n.Inputs())
	for i := range inputs {
		inputs[i] = random.Normal(bits)
	}
	w := n.NewWork(rows)
	outputs := make([]float64, rows*n.Outputs())
	at := func() float64 { return loss(n.Forward(inputs, w), outputs) }
	at()
	gradient := make([]float64, n.Params())
	n.Backward(outputs, w, gradient)
	const h = 1e-5
	for i := 0; i < n.Params(); i += step {
		p := &n.Weights()[i]
		kept := *p
		*p = kept + h
		above := at()
		*p = kept - h
		below := at()
		*p = kept
		want := (above - below) / (2 * h)
		if math.Abs(gradient[i]-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("widths %v, parameter %d: gradient %v, want %v", n.Widths(), i, gradient[i], want)
		}
	}
}

func TestGradients(t *testing.T) {
	checkGradients(t, New(3, 5, 4, 2), 6, 1)
	checkGradients(t, New(2, 3), 5, 1)
	checkGradients(t, New(7, 64, 128, 6), 9, 37)
}

// TestGradientsOfRowsAdd checks that the gradient of a batch is the sum of its rows' gradients.
func TestGradientsOfRowsAdd(t *testing.T) {
	n := New(7, 16, 9, 3)
	bits := random.Stream(3, 4)
	n.Initialise(bits)
	const rows = 7
	inputs, outputs := make([]float64, rows*7), make([]float64, rows*3)
	for i := range inputs {
		inputs[i] = random.Normal(bits)
	}
	for i := range outputs {
		outputs[i] = random.Normal(bits)
	}
	whole, single := make([]float64, n.Params()), make([]float64, n.Params())
	w := n.NewWork(rows)
	n.Forward(inputs, w)
	n.Backward(outputs, w, whole)
	one := n.NewWork(1)
	for r := range rows {
		n.Forward(inputs[r*7:r*7+7], one)
		n.Backward(outputs[r*3:r*3+3], one, single)
	}
	for i, want := range single {
		if math.Abs(whole[i]-want) > 1e-12 {
			t.Errorf("parameter %d: %v, want %v", i, whole[i], want)
		}
	}
}

func TestForwardDoesNotAllocate(t *testing.T) {
	n := New(7, 64, 128, 6)
	w, row := n.NewWork(1), make([]float64, 7)
	if got := testing.AllocsPerRun(10, func() { n.Forward(row, w) }); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

func TestTanh(t *testing.T) {
	for x := -25.0; x <= 25; x += 0.01 {
		if got, want := tanh(x), math.Tanh(x); math.Abs(got-want) > 1e-15 {
			t.Fatalf("tanh(%v) = %v, want %v", x, got, want)
		}
	}
	if !math.IsNaN(tanh(math.NaN())) || tanh(math.Inf(1)) != 1 || tanh(math.Inf(-1)) != -1 {
		t.Error("tanh of infinities and NaN is wrong")
	}
}

// TestAdamByHand follows two steps of Adam. In the first one each parameter moves by the learning rate.
func TestAdamByHand(t *testing.T) {
	a := NewAdam(2, 0.1)
	params := []float64{1, -1}
	a.Step(params, []float64{0.5, -2})
	if math.Abs(params[0]-0.9) > 1e-7 || math.Abs(params[1]+0.9) > 1e-7 {
		t.Fatalf("after a step: %v, want 0.9 and -0.9", params)
	}
	a.Step(params, []float64{-0.5, -2})
	// Means of the gradients without bias: (0.9*0.05-0.05)/0.19 and -2; roots of the second moments: 0.5 and 2.
	if want := 0.9 - 0.1*(0.9*0.05-0.05)/0.19/0.5; math.Abs(params[0]-want) > 1e-7 {
		t.Errorf("after two steps: %v, want %v", params[0], want)
	}
	if math.Abs(params[1]+0.8) > 1e-7 {
		t.Errorf("after two steps: %v, want -0.8", params[1])
	}
}

// TestAdamFits checks that a small network learns the exclusive or.
func TestAdamFits(t *testing.T) {
	n := New(2, 8, 1)
	n.Initialise(random.Stream(1, 1))
	inputs, want := []float64{0, 0, 0, 1, 1, 0, 1, 1}, []float64{0, 1, 1, 0}
	w, a := n.NewWork(4), NewAdam(n.Params(), 0.02)
	gradient, outputs := make([]float64, n.Params()), make([]float64, 4)
	worst := 0.0
	for range 1000 {
		worst = 0
		for i, y := range n.Forward(inputs, w) {
			outputs[i] = y - want[i]
			worst = max(worst, math.Abs(outputs[i]))
		}
		clear(gradient)
		n.Backward(outputs, w, gradient)
		a.Step(n.Weights(), gradient)
	}
	if worst > 0.02 {
		t.Errorf("largest error %v, want at most 0.02", worst)
	}
}

func TestClipNorm(t *testing.T) {
	g := []float64{3, 4}
	if got := ClipNorm(g, 10); got != 5 || g[0] != 3 {
		t.Errorf("norm %v, gradient %v; want 5 and no change", got, g)
	}
	if ClipNorm(g, 0.5); math.Abs(g[0]-0.3) > 1e-15 || math.Abs(g[1]-0.4) > 1e-15 {
		t.Errorf("clipped to %v, want 0.3 and 0.4", g)
	}
}

// TestInitialise checks the variances and the gains of outputs.
func TestInitialise(t *testing.T) {
	n := New(50, 40, 2)
	n.Initialise(random.Stream(1, 1), 0, 1)
	sum := 0.0
	for _, w := range n.layers[0].weights {
		sum += w * w
	}
	if got, want := sum/2000, 2.0/90; math.Abs(got-want) > 0.1*want {
		t.Errorf("variance %v of the first weights, want %v", got, want)
	}
	for i, w := range n.layers[1].weights {
		if (w == 0) != (i%2 == 0) {
			t.Errorf("weight %d to output %d is %v; want 0 to the first output only", i, i%2, w)
		}
	}
}

// BenchmarkDecision measures one decision of the actor-critic.
func BenchmarkDecision(b *testing.B) {
	n := New(7, 64, 128, 6)
	n.Initialise(random.Stream(1, 1))
	w, row := n.NewWork(1), make([]float64, 7)
	for b.Loop() {
		n.Forward(row, w)
	}
}

// BenchmarkMinibatch measures a step of learning from 64 rows.
func BenchmarkMinibatch(b *testing.B) {
	n := New(7, 64, 128, 6)
	n.Initialise(random.Stream(1, 1))
	w, inputs, outputs := n.NewWork(64), make([]float64, 64*7), make([]float64, 64*6)
	gradient, a := make([]float64, n.Params()), NewAdam(n.Params(), 1e-4)
	for b.Loop() {
		n.Forward(inputs, w)
		n.Backward(outputs, w, gradient)
		a.Step(n.Weights(), gradient)
	}
}
