//go:build unix

package programs_test

import "syscall"

// runs reports whether a process runs.
func runs(pid int) bool { return syscall.Kill(pid, 0) == nil }
