// Package dense has the data structures of policies: lists, queues, heaps and sketches over the objects 0..n-1. They
// use one column per property instead of maps, and take constant or logarithmic time per request. Some fields are
// exported for batch loops, which keep them in registers.
package dense

import "slices"

// Object is the number of an object, from 0.
type Object = uint32

// Grown returns a column with room for objects up to n-1. New elements are zero.
func Grown[T any](column []T, n int) []T {
	if more := n - len(column); more > 0 {
		column = append(column, make([]T, more)...)
	}
	return column
}

// GrownWith is Grown with a value for the new elements.
func GrownWith[T any](column []T, n int, value T) []T {
	if more := n - len(column); more > 0 {
		column = append(column, slices.Repeat([]T{value}, more)...)
	}
	return column
}
