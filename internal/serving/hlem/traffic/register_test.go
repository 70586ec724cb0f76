package traffic

import (
	"github.com/cachesim/cachesim/internal/traces/gen"
)

// Tests parse the parts of this package, which package sim/all registers in the program.
func init() {
	gen.Register(Generators...)
}
