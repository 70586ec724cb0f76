package sim

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/predict/ontrace"
	"github.com/cachesim/cachesim/internal/traces"
)

// predictorOfCell builds the predictor of a cell for a part of the trace.
func predictorOfCell(c Cell, t *traces.Trace, nextUse func() []uint32) (*predict.Counted, error) {
	var evicts func() []bool
	exact := cache.IsExact(c.Cache) || c.Cache.Entry.Queries && !cache.AnswersSimilar(c.Cache)
	if exact && !c.Capacity.Bytes {
		evicts = func() []bool { return policies.OptEvicts(t.Objects, t.NumObjects, nextUse(), c.Capacity.Simulated) }
	}
	return ontrace.New(*c.Predictor, t, c.Seed, nextUse, evicts)
}
