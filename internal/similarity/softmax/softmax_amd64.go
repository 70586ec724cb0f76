package softmax

import "golang.org/x/sys/cpu"

// assembly is whether the processor runs the functions of this file. Tests change it.
var assembly = cpu.X86.HasAVX2

// Where n is a number of floats, it is a positive multiple of 8, and where it is one of keys, of 4. A mask selects the
// last numbers of a row if the dimension is no multiple of 8, and is nil if it is.

// products1 is Products for one query. Rows of products are stride numbers apart. What follows as many bytes behind is
// requested from memory, unless ahead is 0.
//
//go:noescape
func products1(products, queries, keys *float32, n, dim, stride int, mask *int32, ahead int, scale float32)

// products2 is Products for two queries.
//
//go:noescape
func products2(products, queries, keys *float32, n, dim, stride int, mask *int32, ahead int, scale float32)

// products3 is Products for three queries.
//
//go:noescape
func products3(products, queries, keys *float32, n, dim, stride int, mask *int32, ahead int, scale float32)

// lanesOf sets the lanes of a product.
//
//go:noescape
func lanesOf(a, b *float32, n int, s *[width]float32)

// greatestOf returns the greatest of at least 8 numbers, any number of them.
//
//go:noescape
func greatestOf(x *float32, n int) float32

//go:noescape
func expOfMany(dst, x *float32, n int, shift float32, sums *lanes, table *[constants][width]float32)

//go:noescape
func multiplyMany(x *float32, n int, by float32)

//go:noescape
func addMany(dst, x *float32, n int)

// addRows adds rows times their weights to dst, for any number of rows and any dimension.
//
//go:noescape
func addRows(dst, weights *float32, rows *int32, n int, values *float32, dim int, mask *int32)

// addRowsOfFour is addRows for four queries, which may be the same ones. The row that many places ahead in the list of
// each row is requested from memory.
//
//go:noescape
func addRowsOfFour(dst, weights *[4]*float32, rows *int32, n, ahead int, values *float32, dim int, mask *int32)

// collectMany is Selector.collect. It returns how many candidates there are.
//
//go:noescape
func collectMany(positions, keys *int32, numbers *float32, n int, least int32, moves *[256][width]uint8) int
