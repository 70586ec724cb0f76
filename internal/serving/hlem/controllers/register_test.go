package controllers

import (
	"github.com/cachesim/cachesim/internal/cache/allocate"
)

// Tests parse the parts of this package, which package sim/all registers in the program.
func init() {
	allocate.Registry.Register(Entries...)
}
