package sim

import (
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/traces"
)

// modelled is a cache whose groups of requests are served when a model of time says so. What counts, and in which
// window, is decided here, as in a replay without a model.
type modelled struct {
	trace    *traces.Trace
	cache    cache.Cache
	cost     func() predict.Cost // of all predictions so far
	progress func(n int)         // may be nil
	sampler  *sampler            // nil without a series
	warmup   int                 // requests that are not counted
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
		m.served(to)
	} else {
		m.serveParts(from, to)
	}
	if m.progress != nil {
		m.progress(to - from)
	}
	return models.Served{HitTokens: m.total.HitTokens - before.HitTokens, Cost: m.cost().Minus(cost)}
}

// serveParts serves a group in parts, none of which contains the end of the warm-up or of a window. The cache knows
// where the group ends.
func (m *modelled) serveParts(from, to int) {
	for from < to {
		end := partEnd(m.trace, m.sampler, m.warmup, from, to)
		m.cache.Serve(cache.WindowOf(m.trace, from, end, false, nil), &m.total)
		m.served(end)
		from = end
	}
}

// served records that the requests before a position have been served.
func (m *modelled) served(to int) {
	if to == m.warmup {
		m.warm = m.total
		beginCounting(m.cache)
	}
	m.sampler.served(to, m.total)
}
