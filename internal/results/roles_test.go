package results

import (
	"github.com/cachesim/cachesim/internal/records"
	_ "github.com/cachesim/cachesim/internal/sim/all" // declares metrics
)

// The policies in this package's tests have the simulator's roles.
func init() {
	records.DeclareRole("infinite", records.Role{Unlimited: true})
	records.DeclareRole("belady-size", records.Role{Bound: "pfoo-l"})
	records.DeclareRole("farthest-similar", records.Role{Bound: "pfoo-similar"})
}
