package dot

import "golang.org/x/sys/cpu"

// assembly is whether the processor runs the functions of this file but multiplyWide, and wide whether it runs that.
// Tests change them.
var (
	assembly = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	wide     = assembly && cpu.X86.HasAVX512F
)

// sumOf sets the four sums of the first n numbers of two vectors, n a positive multiple of 4: they are the lanes of a
// register.
//
//go:noescape
func sumOf(a, b *float32, n int, s *sums)

// sumOfFour does so for four pairs of vectors.
//
//go:noescape
func sumOfFour(at *[8]*float32, n int, s *[4]sums)

// multiplyWide is Tile.Multiply, for a positive dimension.
//
//go:noescape
func multiplyWide(rows, panel *float32, dim int, t *Tile, from float32) (any bool)

// multiplyHalf is Tile.Multiply for half of the rows, whose products begin at t.
//
//go:noescape
func multiplyHalf(rows, panel *float32, dim int, t *float32, from float32) (any bool)
