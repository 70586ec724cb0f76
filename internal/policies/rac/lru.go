package rac

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// lru is a directory that evicts the label used longest ago. As spent, for traces in which most labels are requested
// just twice, one that was requested again counts as used longer ago than it was.
type lru struct {
	shelf
	served      uint32 // spent: the mark of labels that were requested again; otherwise no mark
	tail, again uint32 // of labels that were not, and of those that were
	age         int64  // requests that are added to the age of those
}

// spentAge is how much longer ago a label that was requested again counts as used, as a multiple of the capacity.
const spentAge = 2

func newLRU(h *history) *lru {
	d := &lru{shelf: newShelf(h)}
	h.follow(&d.tail)
	return d
}

func newSpent(h *history, capacity int64) *lru {
	d := newLRU(h)
	d.served, d.age = h.mark(), dense.Multiple(capacity, spentAge)
	h.follow(&d.again)
	return d
}

func (d *lru) Serve(r policies.Request, capacity int64) (hit bool) {
	d.gone = d.gone[:0]
	if d.Has(r.Object) {
		if r.Reason == policies.Demand {
			d.labels[r.Object].marks |= d.served
		}
		return true
	}
	d.shrink(capacity - 1)
	d.hold(r.Object, 0)
	return false
}

// shrink evicts all labels above a number.
func (d *lru) shrink(to int64) {
	for d.n > to {
		d.leave(d.victim(), d.served)
	}
}

func (d *lru) victim() policies.Object {
	v, ok := d.oldest(&d.tail, d.held|d.served, d.held)
	if d.served == 0 {
		return v
	}
	s, any := d.oldest(&d.again, d.held|d.served, d.held|d.served)
	if any && (!ok || int64(d.labels[s].used)-d.age < int64(d.labels[v].used)) {
		return s
	}
	return v
}

func (d *lru) Drop(o policies.Object) {
	if d.gone = d.gone[:0]; d.Has(o) {
		d.leave(o, d.served)
	}
}

func (d *lru) Resize(capacity int64) {
	d.gone = d.gone[:0]
	d.age = dense.Multiple(capacity, spentAge)
	d.shrink(capacity)
}
