package sim

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/predict/ontrace"
	"github.com/cachesim/cachesim/internal/prefetch"
	"github.com/cachesim/cachesim/internal/traces"
)

// predictorOfCell creates the predictor of a cell for a part of the trace. addresses are those of a prefetcher that
// computes with them, or nil.
func predictorOfCell(c Cell, t *traces.Trace, nextUse func() []uint32,
	addresses *prefetch.Addresses) (*predict.Counted, error) {
	var evicts func() []bool
	exact := cache.IsExact(c.Cache) || c.Cache.Entry.Queries && !cache.AnswersSimilar(c.Cache)
	if exact && !c.Capacity.Bytes {
		evicts = func() []bool { return policies.OptEvicts(t.Objects, t.NumObjects, nextUse(), c.Capacity.Simulated) }
	}
	further := 0
	if addresses != nil {
		further = addresses.Strangers()
	}
	return ontrace.NewWith(*c.Predictor, t, further, c.Seed, nextUse, evicts)
}
