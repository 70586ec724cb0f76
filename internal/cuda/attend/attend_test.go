package attend

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// magnitudes are kinds of finite numbers: those of attention, and those whose products and sums are rounded in other
// ways, overflow or underflow.
var magnitudes = []func(*rand.Rand) float32{
	func(r *rand.Rand) float32 { return float32(r.NormFloat64()) },
	func(r *rand.Rand) float32 { return float32(50 * r.NormFloat64()) }, // most probabilities are 0
	func(r *rand.Rand) float32 { return float32(math.Ldexp(r.NormFloat64(), r.IntN(140)-140)) },
	func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32() & 0x807fffff) },              // subnormal
	func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32()&0x80ffffff | 0x7e000000) },   // nearly infinite
	func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32() & 0x9fffffff) },              // underflow
	func(r *rand.Rand) float32 { return float32(math.Copysign(0, r.Float64()-0.5)) },                 // 0 and -0
	func(r *rand.Rand) float32 { return float32(r.IntN(3)-1) * math.Float32frombits(r.Uint32()>>2) }, // many zeros
}

// head is a run with all that it needs.
type head struct {
	Shape
	visible               int
	keys, values, queries []float32
}

// randomHead draws a head whose numbers are of a kind, or of all kinds.
func randomHead(random *rand.Rand, s Shape, visible, kind int) head {
	draw := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			of := kind
			if of == len(magnitudes) {
				of = random.IntN(len(magnitudes))
			}
			x[i] = magnitudes[of](random)
		}
		return x
	}
	return head{s, visible, draw(s.Tokens * s.Dim), draw(s.Tokens * s.Dim), draw(s.Steps * s.Group * s.Dim)}
}

// room returns slices for the results of some steps.
func (h head) room(visible, steps int) (probabilities, outputs []float32) {
	return make([]float32, h.Group*(steps*visible+steps*(steps-1)/2)), make([]float32, steps*h.Group*h.Dim)
}

// onCPU computes all steps with package softmax.
func (h head) onCPU() (probabilities, outputs []float32) {
	probabilities, outputs = h.room(h.visible, h.Steps)
	p, out := probabilities, outputs
	for step := range h.Steps {
		tokens := h.visible + step
		queries := h.queries[step*h.Group*h.Dim:][:h.Group*h.Dim]
		softmax.Probabilities(p[:h.Group*tokens], queries, h.keys[:tokens*h.Dim], h.Dim, h.Scale)
		for range h.Group {
			softmax.Weighted(out[:h.Dim], p[:tokens], h.values[:tokens*h.Dim], h.Dim)
			p, out = p[tokens:], out[h.Dim:]
		}
	}
	return probabilities, outputs
}

// attend computes all steps with a worker, in runs that are as long as it computes.
func (h head) attend(w *Worker) (probabilities, outputs []float32, err error) {
	if err := w.Begin(h.keys, h.values); err != nil {
		return nil, nil, err
	}
	size := h.Group * h.Dim
	for step := 0; step < h.Steps; step += w.Longest() {
		steps := min(w.Longest(), h.Steps-step)
		p, out := h.room(h.visible+step, steps)
		if err := w.Attend(h.queries[step*size:][:steps*size], h.visible+step, p, out); err != nil {
			return nil, nil, err
		}
		probabilities, outputs = append(probabilities, p...), append(outputs, out...)
	}
	return probabilities, outputs, nil
}

// sameBits reports where two slices differ, apart from which NaN it is.
func sameBits(got, want []float32) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d numbers, want %d", len(got), len(want))
	}
	for i, x := range want {
		if math.Float32bits(got[i]) != math.Float32bits(x) && (x == x || got[i] == got[i]) {
			return fmt.Errorf("number %d is %v (%#x), want %v (%#x)", i, got[i], math.Float32bits(got[i]), x,
				math.Float32bits(x))
		}
	}
	return nil
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// check compares what a worker of a device computes with the CPU's.
func (h head) check(t fataler, d cuda.Device) {
	t.Helper()
	workers, err := Open(d, h.Shape, 1)
	if err != nil {
		t.Fatalf("%+v: %v", h.Shape, err)
	}
	probabilities, outputs, err := h.attend(workers.All[0])
	if err == nil {
		err = workers.Close()
	}
	if err != nil {
		t.Fatalf("%+v: %v", h.Shape, err)
	}
	wantProbabilities, wantOutputs := h.onCPU()
	if err := sameBits(probabilities, wantProbabilities); err != nil {
		t.Fatalf("%+v, %d visible tokens: probabilities: %v", h.Shape, h.visible, err)
	}
	if err := sameBits(outputs, wantOutputs); err != nil {
		t.Fatalf("%+v, %d visible tokens: outputs: %v", h.Shape, h.visible, err)
	}
}

// shapeOf returns the shape of a head whose last step sees all tokens.
func shapeOf(visible, steps, group, dim int) Shape {
	return Shape{Tokens: visible + steps - 1, Steps: steps, Group: group, Dim: dim, Scale: 0.088388346}
}

// The results have the bits of package softmax: around the sizes of tiles, of chunks and of lanes.
func TestSizes(t *testing.T) {
	for i, s := range []struct{ visible, steps, group, dim int }{
		{1, 1, 1, 1}, {1, 1, 1, 128}, {1, 40, 1, 7}, {2, 3, 5, 8}, {63, 3, 1, 9}, {64, 1, 16, 32}, {64, 2, 17, 33},
		{65, 5, 3, 31}, {200, 4, 4, 64}, {127, 2, 8, 65}, {1023, 3, 1, 5}, {1025, 1, 2, 3}, {2048, 2, 1, 16},
		{300, 1, 40, 72},
	} {
		random := rand.New(rand.NewPCG(uint64(i), 3))
		d := cudatest.Device(t, ptxrun.Options{Seed: uint64(i)})
		for kind := range brief.Of(2, 1) { // numbers of attention, and larger ones
			randomHead(random, shapeOf(s.visible, s.steps, s.group, s.dim), s.visible, kind).check(t, d)
		}
	}
}

// The results have the bits of package softmax, whatever the numbers.
func TestBitsOfSoftmax(t *testing.T) {
	brief.Long(t, "interprets kernels")
	d := cudatest.Device(t, ptxrun.Options{Seed: 5})
	rapid.Check(t, func(t *rapid.T) {
		visible, steps := rapid.IntRange(1, 140).Draw(t, "visible"), rapid.IntRange(1, 6).Draw(t, "steps")
		s := shapeOf(visible, steps, rapid.IntRange(1, 9).Draw(t, "group"), rapid.IntRange(1, 70).Draw(t, "dim"))
		s.Scale = rapid.SampledFrom([]float32{1, 0.088388346, 1e-30, 3e5}).Draw(t, "scale")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		randomHead(random, s, visible, rapid.IntRange(0, len(magnitudes)).Draw(t, "kind")).check(t, d)
	})
}

// Products that are far apart, equal, or infinite before they are made finite.
func TestExtremes(t *testing.T) {
	d := cudatest.Device(t, ptxrun.Options{Seed: 2})
	for _, products := range [][]float32{
		{0, 0, 0}, {math.MaxFloat32, -math.MaxFloat32, 0}, {math.MaxFloat32, math.MaxFloat32}, {-math.MaxFloat32},
		{0, -87.33654, -87.33655, -87.4, -88, -1e-30, -1e-45}, {1, 1, 1, 0.99999994}, {-87.33654, 0},
		{100, 12.5, 99.99999},
	} {
		h := head{Shape: shapeOf(len(products), 1, 2, 1), visible: len(products), keys: products, values: products,
			queries: []float32{1, -3}}
		h.Scale = 1
		h.check(t, d)
	}
}

// With little memory runs are shorter and workers fewer, and the results are the same. Less than what a step of one
// head needs is an error.
func TestLittleMemory(t *testing.T) {
	h := randomHead(rand.New(rand.NewPCG(1, 1)), shapeOf(150, 12, 3, 20), 150, 0)
	wantProbabilities, _ := h.onCPU()
	one := h.bytes(1)*16/15 + 1
	shortest := math.MaxInt
	for _, test := range []struct {
		memory, granule int64
		workers, steps  int
	}{
		{64 << 20, 1, 4, 12}, {2*h.bytes(12)*16/15 + 1, 1, 2, 12}, {h.bytes(6)*16/15 + 1, 1, 1, 6}, {one, 1, 1, 1},
		{h.bytes(12) * 2, 16 << 10, 1, 12},
	} {
		d := cudatest.Device(t, ptxrun.Options{Memory: test.memory, Granule: test.granule})
		workers := must.Get(Open(d, h.Shape, 4))(t)
		w := workers.All[0]
		if len(workers.All) > test.workers || len(workers.All) == 0 || w.Longest() > test.steps {
			t.Errorf("%d bytes: %d workers with %d steps, want %d and %d", test.memory, len(workers.All), w.Longest(),
				test.workers, test.steps)
		}
		shortest = min(shortest, w.Longest())
		probabilities, _, err := h.attend(w)
		must.Do(t, err)
		must.Do(t, sameBits(probabilities, wantProbabilities))
		must.Do(t, workers.Close())
	}
	if shortest != 1 {
		t.Errorf("runs have %d steps or more", shortest)
	}
	for _, memory := range []int64{one - 100, 1000} {
		_, err := Open(cudatest.Device(t, ptxrun.Options{Memory: memory}), h.Shape, 1)
		if !errors.Is(err, cuda.ErrOutOfMemory) || !strings.Contains(err.Error(), "attention to 161 tokens needs at least") {
			t.Errorf("%d bytes: error %v", memory, err)
		}
	}
}

// Workers compute heads at the same time. Without outputs, none are computed.
func TestWorkersAtTheSameTime(t *testing.T) {
	s := shapeOf(90, 3, 2, 17)
	workers := must.Get(Open(cudatest.Device(t, ptxrun.Options{}), s, 3))(t)
	defer workers.Close()
	if len(workers.All) != 3 {
		t.Fatalf("%d workers, want 3", len(workers.All))
	}
	must.Do(t, parallel.For(t.Context(), 3, 12, func(_ context.Context, worker, i int) error {
		h := randomHead(rand.New(rand.NewPCG(uint64(i), 9)), s, 90, 0)
		wantProbabilities, wantOutputs := h.onCPU()
		w := workers.All[worker]
		probabilities, outputs, err := h.attend(w)
		if err == nil {
			err = errors.Join(sameBits(probabilities, wantProbabilities), sameBits(outputs, wantOutputs))
		}
		if err == nil {
			clear(probabilities)
			err = errors.Join(w.Attend(h.queries, 90, probabilities, nil), sameBits(probabilities, wantProbabilities))
		}
		return err
	}))
}

// A device that goes wrong without an error is found by what the CPU computes, too.
func TestFaultyDevices(t *testing.T) {
	h := randomHead(rand.New(rand.NewPCG(4, 1)), shapeOf(100, 5, 2, 12), 100, 0)
	for _, fault := range []cudatest.Fault{cudatest.Nothing, cudatest.Garbage} {
		for right := range 3 {
			d := &cudatest.Faulty{Device: ptxrun.New(ptxrun.Options{}), Fault: fault, Right: right}
			workers := must.Get(Open(d, h.Shape, 1))(t)
			_, _, err := h.attend(workers.All[0])
			if !cuda.Failed(err) || !strings.Contains(err.Error(), "where the CPU computes") {
				t.Errorf("fault %d after %d launches: error %v", fault, right, err)
			}
		}
	}
}

// The errors of a device are returned, wherever it fails, and so is its memory.
func TestLostDevice(t *testing.T) {
	h := randomHead(rand.New(rand.NewPCG(4, 1)), shapeOf(10, 2, 1, 4), 10, 0)
	calls := 0
	for done := false; !done; calls++ {
		d := cudatest.Device(t, ptxrun.Options{Fail: calls + 1})
		workers, err := Open(d, h.Shape, 1)
		if err == nil {
			_, _, err = h.attend(workers.All[0])
			err = errors.Join(err, workers.Close())
		}
		if done = err == nil; !done && !errors.Is(err, ptxrun.ErrLost) {
			t.Fatalf("call %d fails: error %v", calls+1, err)
		}
	}
	if calls < 15 {
		t.Errorf("only %d calls can fail", calls)
	}
}

func TestLongest(t *testing.T) {
	for _, test := range []struct {
		shape Shape
		want  int
	}{
		{Shape{Tokens: 32 << 10, Steps: 1000, Group: 4, Dim: 128}, 32}, {Shape{Tokens: 10, Steps: 7, Group: 4, Dim: 128}, 7},
		{Shape{Tokens: 16 << 20, Steps: 7, Group: 8, Dim: 128}, 1},
	} {
		if got := test.shape.Longest(); got != test.want {
			t.Errorf("%+v: %d steps at once, want %d", test.shape, got, test.want)
		}
	}
}

// BenchmarkGPUAttention computes the steps of a head with dimension 128, as many as are computed at once: the products
// of its queries and keys, their probabilities, and outputs.
func BenchmarkGPUAttention(b *testing.B) {
	device := cudatest.GPU(b)
	for _, c := range []struct{ tokens, group int }{{4 << 10, 4}, {32 << 10, 4}, {128 << 10, 8}} {
		b.Run(fmt.Sprintf("tokens=%dK/group=%d", c.tokens>>10, c.group), func(b *testing.B) {
			s := Shape{Tokens: c.tokens, Steps: 256, Group: c.group, Dim: 128, Scale: 0.088388346}
			s.Steps = s.Longest()
			h := randomHead(rand.New(rand.NewPCG(1, 1)), s, c.tokens-s.Steps+1, 0)
			must.Do(b, device.Do(b.Context(), func(d cuda.Device) error {
				workers, err := Open(d, s, 1)
				if err != nil {
					return err
				}
				w := workers.All[0]
				if err := w.Begin(h.keys, h.values); err != nil {
					return err
				}
				probabilities, outputs := h.room(h.visible, w.Longest())
				queries := h.queries[:w.Longest()*s.Group*s.Dim]
				wantProbabilities, wantOutputs := h.room(h.visible, w.Longest())
				tokens := (h.visible + w.Longest() - 1) * s.Dim
				cudatest.Compare(b, float64(len(probabilities)), func() {
					must.Do(b, w.Attend(queries, h.visible, probabilities, outputs))
				}, func() {
					softmax.StepProbabilities(wantProbabilities, queries, h.keys[:tokens], s.Dim, s.Scale, w.Longest())
					softmax.StepWeighted(wantOutputs, wantProbabilities, h.values[:tokens], s.Dim, w.Longest())
				})
				must.Do(b, sameBits(probabilities, wantProbabilities))
				must.Do(b, sameBits(outputs, wantOutputs))
				return workers.Close()
			}))
		})
	}
}
