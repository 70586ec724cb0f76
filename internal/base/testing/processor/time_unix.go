//go:build unix

// Package processor returns the processor time of the program, on all cores together. Benchmarks measure it beside the
// time that passes, which depends on the load of the machine.
package processor

import (
	"syscall"
	"time"
)

// Time returns the processor time that the program has spent since it started. It is 0 where the system does not say.
func Time() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
