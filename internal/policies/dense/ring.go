package dense

import "math/bits"

// Ring is a first-in, first-out queue of objects, of bounded length.
type Ring = RingOf[Object]

// RingOf is a first-in, first-out queue of bounded length.
type RingOf[T any] struct {
	Slots []T    // their number is a power of two
	Head  uint32 // pushes so far
	Tail  uint32 // pops so far
}

// NewRing returns an empty ring with room for n objects.
func NewRing(n int) Ring { return NewRingOf[Object](n) }

// NewRingOf is NewRing for other things than objects.
func NewRingOf[T any](n int) RingOf[T] { return RingOf[T]{Slots: make([]T, 1<<bits.Len(uint(n)))} }
func (r *RingOf[T]) Len() int          { return int(r.Head - r.Tail) }

// At returns the place of the i-th push, from 0.
func (r *RingOf[T]) At(i uint32) *T { return &r.Slots[int(i)&(len(r.Slots)-1)] }

// Push puts x at the end. There must be room.
func (r *RingOf[T]) Push(x T) {
	*r.At(r.Head) = x
	r.Head++
}

// Pop removes what was pushed first and returns it. The ring must not be empty.
func (r *RingOf[T]) Pop() T {
	x := *r.At(r.Tail)
	r.Tail++
	return x
}
