package kv

import (
	"math"

	"github.com/cachesim/cachesim/internal/similarity/softmax"
)

// Losses in outputs are computed for a run of steps: a set that serves several goes over its values once.

// outputs are what is still to be computed for the run of w.step. Buffers are reused.
type outputs struct {
	sets []heldSet
	kept []kept
	due  []due
	sums []float32 // a row per step and query head of a set
	of   []softmax.Output
}

// heldSet is a set that cells have in some steps of the run: the one that a search found for the queries of a step.
type heldSet struct {
	search, label int
	tokens        []int32
	losses        []int // in worker.losses, in order of steps
}

// kept is what the tokens give in a step that are visible whatever the set: the first ones, and those from tail on.
type kept struct {
	step, sink, tail int
	outputs          []float32 // a row per query head; not set where errors are not measured
	totals           []float64 // of the probabilities, per query head
	mass             float64   // mean of the totals
}

// due is a loss whose errors a cell has still to count.
type due struct{ cell, loss int }

// keptOf returns the place in w.kept of the tokens that are visible beside a set of the step label.
func (w *worker) keptOf(v view, step, label int) int {
	tail, m, group, dim := v.tail(w.shape, step, label), &w.step, w.shape.Group(), w.shape.Dim
	for i := len(w.kept) - 1; i >= 0 && w.kept[i].step == step; i-- {
		if k := &w.kept[i]; k.sink == v.sink && k.tail == tail {
			return i
		}
	}
	w.kept = grown(w.kept)
	k := &w.kept[len(w.kept)-1]
	k.step, k.sink, k.tail, k.mass = step, v.sink, tail, 0
	w.order = w.order[:0]
	for token := range v.sink {
		w.order = append(w.order, int32(token))
	}
	for token := tail; token < m.visible; token++ {
		w.order = append(w.order, int32(token))
	}
	if w.measuresErrors(step) {
		k.outputs, k.totals = resized(k.outputs, group*dim), resized(k.totals, group)
		softmax.WeightedRows(k.outputs, m.probabilities, w.order, w.head.Values[:m.visible*dim], dim)
		for j := range k.totals {
			k.totals[j] = softmax.SumRows(m.probabilities[j*m.visible:], w.order)
		}
	}
	k.mass = softmax.SumRows(m.summed, w.order) / float64(group)
	return len(w.kept) - 1
}

// hold notes that a set serves the step of a loss.
func (w *worker) hold(c *holding, number int) {
	for i := range w.sets {
		if s := &w.sets[i]; s.search == c.search && s.label == c.label {
			s.losses = append(s.losses, number)
			return
		}
	}
	w.sets = grown(w.sets)
	s := &w.sets[len(w.sets)-1]
	*s = heldSet{c.search, c.label, append(s.tokens[:0], c.set...), append(s.losses[:0], number)}
}

// settle computes the errors of all losses of the run, and lets cells count them.
func (w *worker) settle() {
	for i := range w.sets {
		w.computeErrors(&w.sets[i])
	}
	for _, d := range w.due {
		c, l := &w.cells[d.cell], &w.losses[d.loss]
		sum := 0.0
		for _, x := range l.errors {
			c.errors += float64(x)
			sum += float64(x)
			c.outputs++
			w.errors[d.cell].add(float64(x))
		}
		w.addQuality(c, l.step, StepQuality{OutputError: qualityOf(sum / float64(len(l.errors))), Measured: 1})
	}
	w.losses, w.sets, w.kept, w.due = w.losses[:0], w.sets[:0], w.kept[:0], w.due[:0]
}

// computeErrors computes, for the losses of a set, the distances of the query heads' outputs with the set from the full
// ones, over the norms of those.
func (w *worker) computeErrors(s *heldSet) {
	run, group, dim := &w.step.run, w.shape.Group(), w.shape.Dim
	size := group * dim
	w.sums, w.of = resized(w.sums, len(s.losses)*size), w.of[:0]
	clear(w.sums)
	for i, number := range s.losses {
		step := w.losses[number].step
		visible, p := w.shape.Visible(step), run.probabilitiesOf(w.shape, step)
		for j := range group {
			w.of = append(w.of, softmax.Output{Dst: w.sums[i*size+j*dim:][:dim], Weights: p[j*visible:][:visible]})
		}
	}
	softmax.AddRows(w.of, s.tokens, w.head.Values)
	for i, number := range s.losses {
		l := &w.losses[number]
		k, full := &w.kept[l.kept], run.outputsOf(w.shape, l.step)
		for j, of := range w.of[i*group:][:group] {
			row := k.outputs[j*dim:][:dim]
			for d, x := range row {
				of.Dst[d] += x
			}
			total := softmax.SumRows(of.Weights, s.tokens) + k.totals[j]
			l.errors = append(l.errors, errorOf(of.Dst, float32(1/total), full[j*dim:][:dim]))
		}
	}
	clear(w.of) // which would keep the probabilities of this run in memory
}

// errorOf returns the distance of an output, scaled, from the full one, over the norm of that.
func errorOf(output []float32, scale float32, full []float32) float32 {
	distance, norm := 0.0, 0.0
	for i, x := range full {
		d := float64(output[i]*scale) - float64(x)
		distance += float64(d * d)
		norm += float64(float64(x) * float64(x))
	}
	if norm == 0 {
		return 0
	}
	return float32(math.Sqrt(distance) / math.Sqrt(norm))
}

// grown returns a list with one element more, which has what was there before, for its slices to be used again.
func grown[T any](list []T) []T {
	if len(list) < cap(list) {
		return list[:len(list)+1]
	}
	var one T
	return append(list, one)
}
