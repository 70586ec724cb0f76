package memory

import (
	"slices"
	"unsafe"
)

// largePage is the size of the large pages of processors: 2 MiB on amd64 and arm64.
const largePage = 2 << 20

// Column returns n zeros, for a long column that will be written in full, as the columns of a trace are. It asks the
// system for large pages, as the first write to each page costs a fault. T must hold no pointers. Room that is never
// written to costs no memory, except the rest of a large page.
func Column[T any](n int) []T {
	column := make([]T, n)
	var zero T
	bytes := uintptr(n) * unsafe.Sizeof(zero)
	start := unsafe.Pointer(unsafe.SliceData(column))
	skip := -uintptr(start) % largePage
	if bytes < skip+largePage {
		return column
	}
	adviseLarge(unsafe.Slice((*byte)(unsafe.Add(start, skip)), (bytes-skip)/largePage*largePage))
	return column
}

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
