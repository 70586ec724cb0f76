package prefix

import "github.com/cachesim/cachesim/internal/cache"

// Tests parse the cache of this package, which package sim/all registers in the program.
func init() { cache.Registry.Register(Entries...) }
