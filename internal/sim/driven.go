package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/results/series"
	"github.com/cachesim/cachesim/internal/traces"
)

// runDriven replays a part of the trace with a model that serves the requests from the cache itself.
func runDriven(ctx context.Context, c Cell, t *traces.Trace, served cache.Cache, options ReplayOptions) (cache.Counts,
	metric.Values, error) {
	driven, ok := served.(cache.Driven)
	if !ok {
		return cache.Counts{}, metric.Values{}, fmt.Errorf("a cache of type %T cannot be driven by a model", served)
	}
	config := models.Config{Trace: t, Cache: served, Params: c.Model.Params, Warmup: options.Warmup,
		EndWarmup: driven.BeginCounting, Windows: modelWindows(options.sampler, driven.Counts)}
	if options.sampler != nil {
		config.Timed = options.sampler.latencies
	}
	timed, err := c.Model.Entry.Run(ctx, config)
	return driven.Counts().Minus(driven.Warm()), timed, err
}

// modelWindows returns the windows of a series, which a sampler receives with the counts so far; it may be nil.
func modelWindows(s *sampler, counts func() cache.Counts) models.Windows {
	if s == nil {
		return models.Windows{}
	}
	n := 0
	end := func(w models.Window) error {
		if n++; n > series.MaxWindows {
			return fmt.Errorf("series %s: more than %d windows have passed after %s on the model's clock; give longer ones",
				s.window, series.MaxWindows, w.Ends.Round(time.Millisecond))
		}
		s.modelled(w, counts())
		return nil
	}
	return models.Windows{Span: s.window.Span, Requests: s.window.Requests, End: end}
}
