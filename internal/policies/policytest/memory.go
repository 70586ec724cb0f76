package policytest

import (
	"math"
	"runtime"
)

// ReachableBytes returns the bytes of the heap that are reachable. Some garbage, such as what is pooled, survives a
// collection: the number is what is left when another collection finds no more.
func ReachableBytes() int64 {
	var m runtime.MemStats
	for before := uint64(math.MaxUint64); ; before = m.HeapAlloc {
		runtime.GC()
		if runtime.ReadMemStats(&m); m.HeapAlloc >= before {
			return int64(m.HeapAlloc)
		}
	}
}
