package memory

import "slices"

// Chunks is a list that grows without being copied, which would need the room of both copies.
type Chunks[T any] struct {
	chunks [][]T
	length int
}

const (
	chunkBits   = 16
	chunkLength = 1 << chunkBits
)

// Len returns the length of the list.
func (c *Chunks[T]) Len() int { return c.length }

// At returns the value at a place below Len.
func (c *Chunks[T]) At(i int) T { return c.chunks[i>>chunkBits][i&(chunkLength-1)] }

// Append adds a value at the end.
func (c *Chunks[T]) Append(value T) {
	last := len(c.chunks) - 1
	if last < 0 || len(c.chunks[last]) == chunkLength {
		c.chunks = append(c.chunks, make([]T, 0, chunkLength))
		last++
	}
	c.chunks[last] = append(c.chunks[last], value)
	c.length++
}

// Joined returns the values in one slice, and empties the list.
func (c *Chunks[T]) Joined() []T {
	all := slices.Concat(c.chunks...)
	*c = Chunks[T]{}
	return all
}
