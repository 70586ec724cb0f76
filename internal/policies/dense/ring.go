package dense

import "math/bits"

// Ring is a first-in, first-out queue of bounded length.
type Ring struct {
	Slots []Object // their number is a power of two
	Head  uint32   // pushes so far
	Tail  uint32   // pops so far
}

// NewRing returns an empty ring with room for n objects.
func NewRing(n int) Ring { return Ring{Slots: make([]Object, 1<<bits.Len(uint(n)))} }
func (r *Ring) Len() int { return int(r.Head - r.Tail) }

// At returns the place of the i-th push, from 0.
func (r *Ring) At(i uint32) *Object { return &r.Slots[int(i)&(len(r.Slots)-1)] }

// Push puts o at the end. There must be room.
func (r *Ring) Push(o Object) {
	*r.At(r.Head) = o
	r.Head++
}

// Pop removes the first object and returns it. The ring must not be empty.
func (r *Ring) Pop() Object {
	o := *r.At(r.Tail)
	r.Tail++
	return o
}
