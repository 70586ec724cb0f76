package background

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/policies"
)

// Predictor is a predict.Predictor that returns what a worker has predicted in the background. It receives every
// request of a cache that serves one at a time, and finds out where batches end.
//
// It is not steady: Learned says which prediction changes.
type Predictor struct {
	worker
	// Learned receives each object whose prediction has changed, resident or not. It is set before the first request.
	Learned func(o policies.Object, next float64)

	size   int   // requests per batch; 0: groups
	groups []int // positions at which the batches that have not begun yet begin
	ends   int   // where the current batch ends
	due    int   // where the next work is due
}

// New returns the predictor of a policy in mode=async; nil in mode=sync. An error says why the cache has none.
func New(c policies.Config) (*Predictor, error) {
	if !In(c.Params) {
		return nil, nil
	}
	if c.Holds {
		return nil, fmt.Errorf("mode=%s predicts every requested object, not only those that may be evicted; in this "+
			"cache write mode=%s", modeAsync, modeSync)
	}
	p := &Predictor{worker: newWorker(c.Predictor, c.Objects, c.Params.Int("latency")), size: c.Params.Int("batch"),
		groups: c.Groups, Learned: func(policies.Object, float64) {}}
	if p.size == 0 && p.groups == nil {
		p.size = 1
	}
	return p, nil
}

// CatchUp lets the worker do what is due before the request at pos. Nothing happens where p is nil.
func (p *Predictor) CatchUp(pos int) {
	if p != nil && pos >= p.due {
		p.work(pos)
	}
}

func (p *Predictor) work(pos int) {
	for pos >= p.due {
		p.publish(pos, p.Learned) // first: a worker that finishes now can take the batch that ends now
		if pos >= p.ends {
			p.endBatch(p.ends)
			p.ends = p.nextEnd(pos)
		}
		p.due = p.ends
		if p.busy {
			p.due = min(p.due, p.finishes)
		}
	}
}

// nextEnd returns where the batch of the request at pos ends.
func (p *Predictor) nextEnd(pos int) int {
	if p.size > 0 {
		return (pos/p.size + 1) * p.size
	}
	for len(p.groups) > 0 && p.groups[0] <= pos {
		p.groups = p.groups[1:]
	}
	if len(p.groups) == 0 {
		return math.MaxInt
	}
	return p.groups[0]
}

func (p *Predictor) Observe(o policies.Object, pos int) {
	p.CatchUp(pos)
	p.predictor.Observe(o, pos)
	p.requested = append(p.requested, o)
}

// Known returns the latest prediction for o; predict.Never if it has none.
func (p *Predictor) Known(o policies.Object) float64 { return p.known[o] }

func (p *Predictor) Predict(objects []policies.Object, pos int, next []float64) {
	p.CatchUp(pos)
	for i, o := range objects {
		next[i] = p.known[o]
	}
}

func (p *Predictor) Steady() bool { return false }
