package kv

import (
	"slices"

	"github.com/cachesim/cachesim/internal/similarity/softmax"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// Attention computes full attention over heads, one after another, with the bits of package softmax. A step has a query
// per query head of the group.
type Attention interface {
	// Begin starts a head. Its keys and values, a row per token, stay as they are until the next call.
	Begin(keys, values []float32) error
	// Longest returns how many steps Attend computes at most, 1 or more.
	Longest() int
	// Attend computes consecutive steps. The first sees that many tokens of the head, each further one a token more.
	// Probabilities have a row of the step's tokens for each query, and outputs, if they are not nil, one of the
	// dimension.
	Attend(queries []float32, visible int, probabilities, outputs []float32) error
}

// onCPU is Attention without a device.
type onCPU struct {
	shape        *attention.Shape
	keys, values []float32
}

func (c *onCPU) Begin(keys, values []float32) error {
	c.keys, c.values = keys, values
	return nil
}

func (c *onCPU) Longest() int { return stepsAtOnce(c.shape) }

// queriesAtOnce is how many queries the CPU computes at once: all keys and values come from memory once for them.
const queriesAtOnce = 32

func stepsAtOnce(shape *attention.Shape) int {
	return max(1, min(queriesAtOnce/shape.Group(), shape.Steps))
}

func (c *onCPU) Attend(queries []float32, visible int, probabilities, outputs []float32) error {
	dim := c.shape.Dim
	steps := len(queries) / dim / c.shape.Group()
	seen := (visible + steps - 1) * dim
	softmax.StepProbabilities(probabilities, queries, c.keys[:seen], dim, float32(c.shape.Scale), steps)
	if outputs != nil {
		softmax.StepWeighted(outputs, probabilities, c.values[:seen], dim, steps)
	}
	return nil
}

// run is attention in consecutive steps of a head, for its true or for its predicted queries.
type run struct {
	first, steps  int
	probabilities []float32 // per step, a row of the visible tokens per query head
	outputs       []float32 // a row per step and query head; empty if they were not computed
}

func (r *run) has(step int) bool { return r.first <= step && step < r.first+r.steps }

// attended makes sure that a run has a step, by computing the next steps if it does not.
func (w *worker) attended(r *run, queries []float32, step int, outputs bool) error {
	if r.has(step) && (len(r.outputs) > 0 || !outputs) {
		return nil
	}
	group, dim := w.shape.Group(), w.shape.Dim
	r.first, r.steps = step, w.stepsAlike(step)
	r.probabilities = resized(r.probabilities, rowsBefore(w.shape, step, step+r.steps))
	r.outputs = r.outputs[:0]
	var to []float32
	if outputs {
		r.outputs = resized(r.outputs, r.steps*group*dim)
		to = r.outputs
	}
	queries = queries[step*group*dim:][:r.steps*group*dim]
	return w.attention.Attend(queries, w.shape.Visible(step), r.probabilities, to)
}

// stepsAlike returns how many steps from one on are computed at once: errors are measured in all of them or in none.
func (w *worker) stepsAlike(step int) int {
	n, most := 1, min(w.attention.Longest(), w.shape.Steps-step)
	for n < most && w.measuresErrors(step+n) == w.measuresErrors(step) {
		n++
	}
	return n
}

func (r *replay) measuresErrors(step int) bool {
	return slices.ContainsFunc(r.plans, func(p *plan) bool { return p.measuresErrors(step, r.shape.Steps) })
}

func (r *run) probabilitiesOf(shape *attention.Shape, step int) []float32 {
	return r.probabilities[rowsBefore(shape, r.first, step):][:shape.Group()*shape.Visible(step)]
}

func (r *run) outputsOf(shape *attention.Shape, step int) []float32 {
	size := shape.Group() * shape.Dim
	return r.outputs[(step-r.first)*size:][:size]
}

// rowsBefore returns the number of probabilities of the steps [first, step).
func rowsBefore(shape *attention.Shape, first, step int) int {
	n := step - first
	return shape.Group() * (n*shape.Visible(first) + n*(n-1)/2)
}
