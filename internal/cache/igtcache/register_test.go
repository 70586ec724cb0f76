package igtcache

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// Tests parse the parts of this package, which package sim/all registers in the program.
func init() {
	cache.Registry.Register(Entries...)
	policies.Register(policies.Systems, Shorthand)
}
