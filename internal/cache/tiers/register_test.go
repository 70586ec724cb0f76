package tiers

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/engines"
)

// Tests parse the parts of these packages, which package sim/all registers in the program.
func init() {
	cache.Registry.Register(Entries...)
	cache.Registry.Register(prefix.Entries...)
	policies.Register(policies.Engines, engines.Entries...)
}
