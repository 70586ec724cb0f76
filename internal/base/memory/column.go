package memory

import "unsafe"

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
