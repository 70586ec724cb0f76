package cache

import "github.com/cachesim/cachesim/internal/policies"

// delayed are prefetched objects on their way: each arrives a number of requests after the request that led to its
// proposal. An object that is requested before it arrives is loaded by that request.
//
// Memory: 8 bytes per object, and 32 for each that was proposed within the delay.
type delayed struct {
	after int
	due   []int // per object: the position after which it arrives; 0: it is not on its way
	queue []arrival
	head  int   // of the queue
	late  int64 // objects that were requested while they were on their way
}

// arrival is an object on its way, unless due has changed since: then the object has been requested meanwhile.
type arrival struct {
	object policies.Object
	due    int
	size   int64
}

func newDelayed(after, objects int) *delayed {
	return &delayed{after: after, due: make([]int, objects)}
}

// comes reports whether an object is on its way.
func (d *delayed) comes(o policies.Object) bool { return d != nil && d.due[o] != 0 }

// add starts a prefetch of an object after the request at a position.
func (d *delayed) add(o policies.Object, size int64, pos int) {
	d.due[o] = pos + d.after
	d.queue = append(d.queue, arrival{o, pos + d.after, size})
}

// take removes an object that is requested, and reports whether it was on its way.
func (d *delayed) take(o policies.Object) bool {
	if !d.comes(o) {
		return false
	}
	d.due[o] = 0
	d.late++
	return true
}

// next returns the next object that arrives after the request at a position; false if there is none.
func (d *delayed) next(pos int) (a arrival, ok bool) {
	for d.head < len(d.queue) && d.queue[d.head].due <= pos {
		a = d.queue[d.head]
		if d.head++; d.head > len(d.queue)/2 {
			d.queue, d.head = d.queue[:copy(d.queue, d.queue[d.head:])], 0
		}
		if d.due[a.object] == a.due {
			d.due[a.object] = 0
			return a, true
		}
	}
	return arrival{}, false
}
