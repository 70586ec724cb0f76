//go:build !linux

package memory

// newGauge returns what tells how much memory the process takes.
func newGauge() func() int64 { return runtimeBytes }

// addressSpace returns how much larger the address space may become, if that is bounded.
func addressSpace() (bytes uint64, bounded bool) { return 0, false }
