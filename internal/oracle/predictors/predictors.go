// Package predictors has the predictors, and registers them: those that know the future, follow a formula over the past
// or learn during the replay. To add one, write one file with its type and its Entry, and add the Entry to the table
// below.
package predictors

import (
	"slices"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

func init() {
	predict.Registry.Register(oracleEntry, noisyEntry, gbmEntry, autoEntry, ewmaEntry, popuEntry, plecoEntry, writtenEntry,
		noneEntry)
}

// neverFor returns a prediction of never for each of the objects.
func neverFor(objects int) []float64 { return slices.Repeat([]float64{predict.Never}, objects) }
