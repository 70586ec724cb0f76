package servers

import "math/bits"

// jemalloc knows how large the blocks are that jemalloc gives (its size classes, jemalloc.net and sz.h).
type jemalloc struct {
	quantum int64 // 16, or 8 where it was built so, as in Redis' own tarball and image
	// pages says that above 16 kB blocks are whole pages of 4 kB, as from 5.3.1 on: before, classes go on.
	pages bool
}

const (
	pageBytes  = 4096
	smallBytes = 4 * pageBytes
)

// block returns the bytes of the block for n bytes, n > 0.
func (j jemalloc) block(n int64) int64 {
	switch {
	case n <= 8:
		return 8
	case j.pages && n > smallBytes:
		return roundUp(n, pageBytes)
	case n > 128: // four classes per doubling
		return roundUp(n, 1<<(bits.Len64(uint64(n-1))-3))
	case n > 64:
		return roundUp(n, 16)
	}
	return roundUp(n, j.quantum)
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }
