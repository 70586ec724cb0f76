package pools

import (
	"github.com/cachesim/cachesim/internal/cache"
)

// Tests parse the parts of this package, which package sim/all registers in the program.
func init() {
	cache.Registry.Register(Entries...)
}
