package rac

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// frequent is RAC without relations: a directory that evicts the label with the fewest requests, except those used
// last. Requests fade as importance does. It remembers the requests of labels that have left for a while.
type frequent struct {
	shelf
	betaText string
	memory   float64 // requests over which a label is remembered, as a multiple of the capacity
	window   uint32  // the same in requests

	recent uint32 // the mark of labels used last, which stay
	tail   uint32 // of those
	latest int    // how many there are
	limit  int    // and may be

	request weight // what a request counts now
	// Labels by requests, and among them all that are not recent. A request leaves the heap as it is: the sum there is
	// then too low, and is corrected when it is the least.
	least dense.KeyedHeap
}

// mostRequests is where all sums are scaled down; 2^32 requests of this weight are within the range of a float64.
const mostRequests = 0x1p900

// frequentLimit is the share of the cache that frequent keeps because it was used last.
const frequentLimit = 0.3

func newFrequent(h *history, betaText string, memory float64, capacity int64, objects int) *frequent {
	d := &frequent{shelf: newShelf(h), betaText: betaText, memory: memory, recent: h.mark(), request: weight{now: 1},
		least: dense.NewKeyedHeap(objects)}
	h.follow(&d.tail)
	d.adapt(capacity)
	return d
}

// adapt sets what depends on the capacity. Requests fade otherwise from now on.
func (d *frequent) adapt(capacity int64) {
	d.window = windowFor(d.memory, capacity)
	d.request.growth = math.Exp2(mustFade(d.betaText, capacity))
	d.limit = limitFor(frequentLimit, capacity)
}

func (d *frequent) Serve(r policies.Request, capacity int64) (hit bool) {
	d.gone = d.gone[:0]
	l := &d.labels[r.Object]
	hit = l.marks&d.held != 0
	if d.request.now *= d.request.growth; d.request.now > mostRequests {
		d.scaleDown()
	}
	if r.Reason == policies.Demand {
		if !hit && d.clock+1-l.used > d.window {
			l.requests = 0
		}
		l.requests += d.request.now
	}
	if !hit {
		d.shrink(capacity - 1)
		d.hold(r.Object, 0)
	}
	if l.marks&d.recent == 0 {
		l.marks |= d.recent
		d.latest++
	}
	return hit
}

func (d *frequent) scaleDown() {
	by := d.request.scaleDown()
	for o := range d.labels {
		d.labels[o].requests *= by
	}
	for o := range d.labels {
		if o := policies.Object(o); d.least.Has(o) {
			d.least.Set(o, d.labels[o].requests, uint64(d.labels[o].used))
		}
	}
}

// shrink evicts all labels above a number.
func (d *frequent) shrink(to int64) {
	if d.n <= to {
		return
	}
	d.release()
	for d.n > to {
		d.drop(d.leastRequested())
	}
}

// release makes labels evictable that are no longer among those used last.
func (d *frequent) release() {
	for ; d.latest > d.limit; d.latest-- {
		o, _ := d.oldest(&d.tail, d.held|d.recent, d.held|d.recent)
		l := &d.labels[o]
		if l.marks &^= d.recent; !d.least.Has(o) {
			d.least.Set(o, l.requests, uint64(l.used))
		}
	}
}

// leastRequested returns the first label to evict, except those used last. There is always one.
func (d *frequent) leastRequested() policies.Object {
	for {
		o, requests := d.least.Least()
		switch l := &d.labels[o]; {
		case l.marks&d.recent != 0:
			d.least.Remove(o)
		case l.requests != requests:
			d.least.Set(o, l.requests, uint64(l.used))
		default:
			return o
		}
	}
}

func (d *frequent) drop(o policies.Object) {
	if d.labels[o].marks&d.recent != 0 {
		d.latest--
	}
	d.least.Remove(o)
	d.leave(o, d.recent)
}

func (d *frequent) Drop(o policies.Object) {
	if d.gone = d.gone[:0]; d.Has(o) {
		d.drop(o)
	}
}

func (d *frequent) Resize(capacity int64) {
	d.gone = d.gone[:0]
	d.adapt(capacity)
	d.shrink(capacity)
}

func (d *frequent) Grow(objects int) { d.least.Grow(objects) }
