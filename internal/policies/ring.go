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

// at returns the place of the i-th push, from 0.
func (r *ring) at(i uint32) *Object { return &r.slots[int(i)&(len(r.slots)-1)] }

func (r *ring) push(o Object) {
	*r.at(r.head) = o
	r.head++
}

func (r *ring) pop() Object {
	o := *r.at(r.tail)
	r.tail++
	return o
}
