package dot

import "golang.org/x/sys/cpu"

// assembly is whether the processor runs the functions of this file. Tests change it.
var assembly = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// sumOf sets the four sums of the first n numbers of two vectors, n a positive multiple of 4: they are the lanes of a
// register.
//
//go:noescape
func sumOf(a, b *float32, n int, s *sums)

// sumOfFour does so for four pairs of vectors.
//
//go:noescape
func sumOfFour(at *[8]*float32, n int, s *[4]sums)

// multiply is Tile.Multiply, for a positive dimension.
//
//go:noescape
func multiply(rows, panel *float32, dim int, t *Tile, from float32) (any bool)
