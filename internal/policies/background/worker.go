// Package background makes the predictions of policies in mode=async: a worker predicts the objects of a batch of
// requests while the next ones are served, so that no request waits. In LCR (arXiv 2509.20979, section 4.1) all
// policies with a predictor work in this way. The package has the parameters that these policies share, a Predictor for
// policies of an exact cache, and sets of slots that track which predictions are known.
package background

import (
	"slices"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// worker makes the predictions. When a batch of requests ends and the worker is idle, it predicts the objects of the
// batch, each once, as of that time. Their predictions are known latency requests later, and stay until the worker
// predicts the object again. An object without a prediction counts as never requested again, so that it is evicted
// first.
//
// Memory: 12 bytes per object, and 16 to 20 per object of a batch.
type worker struct {
	predictor predict.Predictor
	known     []float64 // per object
	requested []policies.Object
	pending   []policies.Object // what is being predicted
	coming    []float64         // its predictions
	batchOf   []uint32          // per object: 1 + the last batch in which it was predicted
	batches   uint32
	busy      bool
	latency   int
	finishes  int            // position at which pending is known
	clock     predict.Worker // decides when pending is known; nil: latency does, in requests after the end of a batch
}

func newWorker(predictor predict.Predictor, objects, latency int) worker {
	return worker{predictor: predictor, known: slices.Repeat([]float64{predict.Never}, objects),
		batchOf: make([]uint32, objects), latency: latency}
}

// Grow makes room for objects up to objects-1.
func (w *worker) Grow(objects int) {
	w.known = dense.GrownWith(w.known, objects, predict.Never)
	w.batchOf = dense.Grown(w.batchOf, objects)
}

// late reports whether the objects being predicted are still unknown at the request at pos.
func (w *worker) late(pos int) bool {
	if w.clock != nil {
		return w.clock.Busy()
	}
	return pos < w.finishes
}

// publish makes the pending predictions known, and passes them on, if they are finished before the request at pos.
func (w *worker) publish(pos int, learn func(o policies.Object, next float64)) {
	if !w.busy || w.late(pos) {
		return
	}
	for i, o := range w.pending {
		w.known[o] = w.coming[i]
		learn(o, w.coming[i])
	}
	w.busy = false
}

// endBatch ends the batch before the request at end, and predicts its objects if the worker is idle.
func (w *worker) endBatch(end int) {
	if !w.busy && len(w.requested) > 0 {
		w.batches++
		w.pending = w.pending[:0]
		for _, o := range w.requested {
			if w.batchOf[o] != w.batches {
				w.batchOf[o] = w.batches
				w.pending = append(w.pending, o)
			}
		}
		w.coming = slices.Grow(w.coming[:0], len(w.pending))[:len(w.pending)]
		w.predictor.Predict(w.pending, end, w.coming)
		w.busy, w.finishes = true, end+w.latency
		if w.clock != nil {
			w.clock.Start(len(w.pending))
		}
	}
	w.requested = w.requested[:0]
}
