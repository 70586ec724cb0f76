package policies

import "math/bits"

// ring is a first-in, first-out queue of bounded length.
type ring struct {
	slots []Object // their number is a power of two
	head  uint32   // pushes so far
	tail  uint32   // pops so far
}

// newRing returns an empty ring with room for n objects.
func newRing(n int) ring { return ring{slots: make([]Object, 1<<bits.Len(uint(n)))} }

func (r *ring) len() int { return int(r.head - r.tail) }

func (r *ring) push(o Object) {
	r.slots[int(r.head)&(len(r.slots)-1)] = o
	r.head++
}

func (r *ring) pop() Object {
	o := r.slots[int(r.tail)&(len(r.slots)-1)]
	r.tail++
	return o
}
