//go:build !linux

package memory

// newGauge returns a function that measures the process's memory.
func newGauge() func() int64 { return runtimeBytes }

// CheckLimits rejects a shell limit that may end the program with a dump at any time.
func CheckLimits() error { return nil }

// addressSpace returns how much the address space may still grow, if it is limited.
func addressSpace() (bytes uint64, bounded bool) { return 0, false }
