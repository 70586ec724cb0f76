package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/models"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// modelled is a cache in which a model of time has the groups of a trace served.
type modelled struct {
	trace    *traces.Trace
	cache    cache.Cache
	cost     func() predict.Cost // of all predictions so far
	progress func(n int)         // may be nil
	sampler  *sampler            // nil where the cell asks for no series
	total    cache.Counts
	warm     cache.Counts // what of total was served before the warm-up ended
}

// serve serves the group of requests from one position to another. A cache that holds what runs does so until the model
// says that the group is finished.
func (m *modelled) serve(from, to int) models.Served {
	before, cost := m.total, m.cost()
	if running, ok := m.cache.(cache.Running); ok {
		group, _ := slices.BinarySearch(m.trace.Groups, from)
		running.Begin(group, &m.total)
	} else {
		m.cache.Serve(cache.WindowOf(m.trace, from, to, false, nil), &m.total)
	}
	m.sampler.served(int(m.total.Requests), m.total)
	if m.progress != nil {
		m.progress(to - from)
	}
	return models.Served{HitTokens: m.total.HitTokens - before.HitTokens, Cost: m.cost().Minus(cost)}
}

func (m *modelled) endWarmup() { m.warm = m.total }
