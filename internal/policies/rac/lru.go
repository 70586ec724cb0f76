package rac

import "github.com/cachesim/cachesim/internal/policies"

// lru is a directory that evicts the label used longest ago.
type lru struct {
	shelf
	tail uint32
}

func newLRU(h *history) *lru {
	d := &lru{shelf: newShelf(h)}
	h.follow(&d.tail)
	return d
}

func (d *lru) Serve(r policies.Request, capacity int64) (hit bool) {
	d.gone = d.gone[:0]
	if d.Has(r.Object) {
		return true
	}
	d.shrink(capacity - 1)
	d.hold(r.Object, 0)
	return false
}

// shrink evicts all labels above a number.
func (d *lru) shrink(to int64) {
	for d.n > to {
		v, _ := d.oldest(&d.tail, d.held, d.held)
		d.leave(v, 0)
	}
}

func (d *lru) Drop(o policies.Object) {
	if d.gone = d.gone[:0]; d.Has(o) {
		d.leave(o, 0)
	}
}

func (d *lru) Resize(capacity int64) {
	d.gone = d.gone[:0]
	d.shrink(capacity)
}
