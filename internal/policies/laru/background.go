package laru

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/predict"
)

// worker makes the predictions of mode=async. When a batch of requests ends and the worker is idle, it predicts the
// objects of the batch, each once, as of that time. Their predictions are known latency requests later, and stay until
// the worker predicts the object again. An object without a prediction counts as never requested again, so that it
// leaves first.
//
// Memory: 12 bytes per object, and 16 to 20 per object of a batch.
type worker struct {
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

// newWorker returns an idle worker for so many objects.
func newWorker(objects, latency int) *worker {
	return &worker{known: slices.Repeat([]float64{predict.Never}, objects), batchOf: make([]uint32, objects),
		latency: latency}
}

// grow makes room for objects up to objects-1.
func (w *worker) grow(objects int) {
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

// request adds requests to the current batch.
func (w *worker) request(objects ...policies.Object) { w.requested = append(w.requested, objects...) }

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
func (w *worker) endBatch(predictor predict.Predictor, end int) {
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
		predictor.Predict(w.pending, end, w.coming)
		w.busy, w.finishes = true, end+w.latency
		if w.clock != nil {
			w.clock.Start(len(w.pending))
		}
	}
	w.requested = w.requested[:0]
}

// background is a worker that also finds where batches end.
type background struct {
	*worker
	size   int   // requests per batch; 0: groups
	groups []int // positions at which the batches that have not begun yet begin
	ends   int   // where the current batch ends
	due    int   // where the next work is due
}

func newBackground(c policies.Config) *background {
	w := &background{worker: newWorker(c.Objects, c.Params.Int("latency")), size: c.Params.Int("batch"), groups: c.Groups}
	if w.size == 0 && w.groups == nil {
		w.size = 1
	}
	return w
}

// work does what is due before the request at pos.
func (w *background) work(p *laru, pos int) {
	for pos >= w.due {
		w.publish(pos, p.learn)
		if pos >= w.ends {
			w.endBatch(p.predictor, w.ends)
			w.ends = w.nextEnd(pos)
		}
		w.due = w.ends
		if w.busy {
			w.due = min(w.due, w.finishes)
		}
	}
}

// nextEnd returns where the batch of the request at pos ends.
func (w *background) nextEnd(pos int) int {
	if w.size > 0 {
		return (pos/w.size + 1) * w.size
	}
	for len(w.groups) > 0 && w.groups[0] <= pos {
		w.groups = w.groups[1:]
	}
	if len(w.groups) == 0 {
		return math.MaxInt
	}
	return w.groups[0]
}
