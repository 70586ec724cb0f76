package laru

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
)

// background is the worker of mode=async. When a batch of requests has ended and the worker is idle, it predicts the objects of the batch as of
// then, each once; their predictions are known latency requests later, and stay until the worker gets to the object again. An object of which
// none is known yet is taken to be requested never, so that it leaves first.
//
// Memory: 12 bytes per object, and 16 to 20 per object of a batch.
type background struct {
	next      []float64 // per object: the prediction that is known
	requested []policies.Object
	pending   []policies.Object // what is being predicted
	coming    []float64         // its predictions
	batchOf   []uint32          // per object: 1 + the last batch in which it was predicted
	batches   uint32
	busy      bool

	size     int   // requests per batch; 0: groups
	groups   []int // positions at which the batches begin that have not begun
	latency  int
	ends     int // where the present batch ends
	finishes int // where pending is known
	due      int // where there is something to do
}

func newBackground(c policies.Config) *background {
	w := &background{
		next: slices.Repeat([]float64{predict.Never}, c.Objects), batchOf: make([]uint32, c.Objects),
		size: c.Params.Int("batch"), groups: c.Groups, latency: c.Params.Int("latency"), finishes: math.MaxInt,
	}
	if w.size == 0 && w.groups == nil {
		w.size = 1
	}
	return w
}

// work does what is due before the request at pos.
func (w *background) work(p *laru, pos int) {
	for pos >= w.due {
		if w.busy && pos >= w.finishes {
			w.publish(&p.recency)
		}
		if pos >= w.ends {
			w.endBatch(p.predictor, pos)
		}
		w.due = w.ends
		if w.busy {
			w.due = min(w.due, w.finishes)
		}
	}
}

// endBatch predicts the objects of the batch that has ended, if there is a worker for them.
func (w *background) endBatch(predictor predict.Predictor, pos int) {
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
		predictor.Predict(w.pending, pos, w.coming)
		w.busy, w.finishes = true, w.ends+w.latency
	}
	w.requested = w.requested[:0]
	w.ends = w.nextEnd(pos)
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

// publish makes the pending predictions known.
func (w *background) publish(r *recency) {
	for i, o := range w.pending {
		w.next[o] = w.coming[i]
		if r.has(o) {
			r.relearn(o, w.coming[i])
		}
	}
	w.busy = false
}
