//go:build !linux

package memory

// newGauge returns what tells how much memory the process takes.
func newGauge() func() int64 { return runtimeBytes }

// CheckLimits refuses a limit of the shell under which the program may end in a dump, whatever it does.
func CheckLimits() error { return nil }

// addressSpace returns how much larger the address space may become, if that is bounded.
func addressSpace() (bytes uint64, bounded bool) { return 0, false }
