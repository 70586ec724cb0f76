package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/models"
	"github.com/cachesim/cachesim/internal/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// modelled is a cache whose groups of requests are served when a model of time says so.
type modelled struct {
	trace    *traces.Trace
	cache    cache.Cache
	cost     func() predict.Cost // of all predictions so far
	progress func(n int)         // may be nil
	sampler  *sampler            // nil without a series
	total    cache.Counts
	warm     cache.Counts // the part of total from the warm-up
}

// serve serves the group of requests from one position to another. A cache that locks running groups does so until the
// model says that the group is finished.
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
