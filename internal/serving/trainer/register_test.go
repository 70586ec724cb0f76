package trainer

import (
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/serving/controllers"
	"github.com/cachesim/cachesim/internal/serving/nodemodels"
	"github.com/cachesim/cachesim/internal/serving/traffic"
	"github.com/cachesim/cachesim/internal/traces/gen"
)

// Tests parse the parts that training uses, which package sim/all registers in the program.
func init() {
	models.Registry.Register(nodemodels.Entries...)
	allocate.Registry.Register(controllers.Entries...)
	gen.Register(traffic.Generators...)
}
