package nodemodels

import (
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/serving/controllers"
)

// Tests parse the parts of this package, which package sim/all registers in the program.
func init() {
	models.Registry.Register(Entries...)
	allocate.Registry.Register(controllers.Entries...)
}
