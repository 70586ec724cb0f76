// Package faults makes the n-th operation on files, or request of memory, fail, to check that every file on the disk is
// then whole or absent. It is for tests only.
package faults

import (
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/memory"
)

// Allocate is a request of memory, beside the operations of package filestate.
const Allocate filestate.Operation = "allocate"

// Inject lets fail decide which operations fail, and with which error, until the returned function is called.
func Inject(fail func(op filestate.Operation, path string) error) (restore func()) {
	before, granted := filestate.Before, memory.Granted
	filestate.Before = fail
	memory.Granted = func(what string) bool { return fail(Allocate, what) == nil }
	return func() { filestate.Before, memory.Granted = before, granted }
}
