// Package attend computes full attention over the keys and values of a head on a GPU, with the bits of package softmax:
// the products of queries and keys, their probabilities, and the sums of values.
package attend

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// Sizes that the kernels are written for.
const (
	threads    = 256
	queryRows  = 16 // of a block of attend_scores
	keyRows    = 64
	outRows    = 16 // of a block of attend_outputs
	outColumns = 32
)

// Shape is what all heads of a trace have in common.
type Shape struct {
	Tokens, Steps int
	Group         int     // queries of a step
	Dim           int     // numbers of a query, a key and a value
	Scale         float32 // of the products
}

// runBytes bounds the probabilities of a run, unless a single step has more. They are copied to the host in a
// millisecond or two, in which neither a kernel nor a launch takes long.
const runBytes = 16 << 20

// Longest returns how many steps are computed at once, if the memory of the device allows it.
func (s Shape) Longest() int {
	return max(1, min(s.Steps, runBytes/(4*s.Group*s.Tokens)))
}

// bytes returns the memory for a head and the queries, probabilities and outputs of so many steps.
func (s Shape) bytes(steps int) int64 {
	head := 8 * int64(s.Tokens) * int64(s.Dim)
	return head + 4*int64(steps)*int64(s.Group)*(int64(s.Tokens)+2*int64(s.Dim)) + margin
}

// margin is for the alignment of allocations.
const margin = 4 << 10

// Workers compute attention on a device, each over a head of its own.
type Workers struct {
	All   []*Worker
	scope *cuda.Scope
	steps int // of a run
}

// Worker computes attention over one head after another. Several workers of a device can be used at the same time, each
// by one goroutine.
type Worker struct {
	shape  Shape
	device cuda.Device
	module cuda.Module
	steps  int
	random *rand.Rand // draws what the CPU computes, too

	keys, values []float32 // of the head
	// memory of the device
	atKeys, atValues, atQueries, atProbabilities, atOutputs cuda.Pointer
}

// Open allocates workers: so many, or as many as the free memory has room for. It is an error if there is none for one
// worker and runs of a single step.
func Open(d cuda.Device, s Shape, most int) (*Workers, error) {
	return cuda.Fit(func(tooLarge *Workers) (*Workers, error) {
		usable, err := cuda.Usable(d)
		if err != nil {
			return nil, err
		}
		if tooLarge != nil {
			usable = min(usable, int64(len(tooLarge.All))*s.bytes(tooLarge.steps)*7/8)
		}
		return plan(d, s, most, usable)
	}, (*Workers).allocate, (*Workers).Close)
}

// plan returns workers for so much memory, without any yet.
func plan(d cuda.Device, s Shape, most int, usable int64) (*Workers, error) {
	w := &Workers{scope: cuda.NewScope(d), steps: s.Longest()}
	for w.steps > 1 && s.bytes(w.steps) > usable {
		w.steps /= 2
	}
	if need := s.bytes(w.steps); need > usable {
		return nil, cuda.TooLarge("attention to %d tokens needs at least %d MiB on the GPU, of which %d MiB are free; end "+
			"other programs on the GPU, or use --device cpu", s.Tokens, need>>20+1, max(usable, 0)>>20)
	}
	for n := range min(int64(most), usable/s.bytes(w.steps)) {
		w.All = append(w.All, &Worker{shape: s, device: d, steps: w.steps, random: rand.New(rand.NewPCG(1, uint64(n)))})
	}
	return w, nil
}

func (w *Workers) allocate() error {
	module, err := w.scope.Load(kernels.Attend())
	if err != nil {
		return err
	}
	for _, each := range w.All {
		s := each.shape
		rows := int64(w.steps) * int64(s.Group)
		each.module = module
		if err := w.scope.AllocAll(cuda.Undefined(&each.atKeys, 4*int64(s.Tokens)*int64(s.Dim)),
			cuda.Undefined(&each.atValues, 4*int64(s.Tokens)*int64(s.Dim)),
			cuda.Undefined(&each.atQueries, 4*rows*int64(s.Dim)),
			cuda.Undefined(&each.atProbabilities, 4*rows*int64(s.Tokens)),
			cuda.Undefined(&each.atOutputs, 4*rows*int64(s.Dim))); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the memory of all workers.
func (w *Workers) Close() error { return w.scope.Close() }

// Begin starts a head with the keys and values of its tokens, rows of finite numbers, which must not change until the
// next call.
func (w *Worker) Begin(keys, values []float32) error {
	w.keys, w.values = keys, values
	if err := cuda.Put(w.device, w.atKeys, keys); err != nil {
		return err
	}
	return cuda.Put(w.device, w.atValues, values)
}

// Longest returns how many steps Attend computes at most.
func (w *Worker) Longest() int { return w.steps }

// Attend computes consecutive steps: softmax.Probabilities of each step's queries and visible tokens and, if outputs is
// not nil, softmax.Weighted of the values for each row of these. The first step sees visible tokens, each further one a
// token more. A random query is compared with the CPU; a difference is an error.
func (w *Worker) Attend(queries []float32, visible int, probabilities, outputs []float32) error {
	s := w.shape
	rows := len(queries) / s.Dim
	tokens := visible + (rows-1)/s.Group // of the last step
	if err := cuda.Put(w.device, w.atQueries, queries); err != nil {
		return err
	}
	if err := w.launch("attend_scores", blocks(rows, queryRows)*blocks(tokens, keyRows), w.atQueries, w.atKeys,
		uint32(rows), uint32(s.Group), uint32(visible), uint32(s.Dim), s.Scale, w.atProbabilities); err != nil {
		return err
	}
	if err := w.launch("attend_soften", rows, w.atProbabilities, uint32(s.Group), uint32(visible)); err != nil {
		return err
	}
	if outputs != nil {
		if err := w.launch("attend_outputs", blocks(rows, outRows)*blocks(s.Dim, outColumns), w.atProbabilities, w.atValues,
			uint32(rows), uint32(s.Group), uint32(visible), uint32(s.Dim), w.atOutputs); err != nil {
			return err
		}
		if err := cuda.Download(w.device, outputs, w.atOutputs); err != nil {
			return err
		}
	}
	if err := cuda.Download(w.device, probabilities, w.atProbabilities); err != nil {
		return err
	}
	return w.check(w.random.IntN(rows), queries, visible, probabilities, outputs)
}

// blocks returns how many blocks of a size n elements need.
func blocks(n, size int) int { return (n + size - 1) / size }

func (w *Worker) launch(kernel string, blocks int, arguments ...any) error {
	return w.module.Launch(kernel, cuda.Grid{Blocks: blocks, Threads: threads}, arguments...)
}

// check computes a row of a run on the CPU.
func (w *Worker) check(row int, queries []float32, visible int, probabilities, outputs []float32) error {
	dim, step := w.shape.Dim, row/w.shape.Group
	tokens := visible + step
	p := make([]float32, tokens)
	softmax.Probabilities(p, queries[row*dim:][:dim], w.keys[:tokens*dim], dim, w.shape.Scale)
	place := w.shape.Group*(step*visible+step*(step-1)/2) + row%w.shape.Group*tokens
	if err := compare("probability", probabilities[place:][:tokens], p); err != nil || outputs == nil {
		return err
	}
	out := make([]float32, dim)
	softmax.Weighted(out, p, w.values[:tokens*dim], dim)
	return compare("output", outputs[row*dim:][:dim], out)
}

// compare returns an error unless the device's numbers have the bits of the CPU's. Which NaN it is does not matter.
func compare(name string, got, want []float32) error {
	for i, x := range want {
		if math.Float32bits(got[i]) != math.Float32bits(x) && (x == x || got[i] == got[i]) {
			return cuda.Wrong("%s %d of a query is %v, where the CPU computes %v", name, i, got[i], x)
		}
	}
	return nil
}
