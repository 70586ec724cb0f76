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
	"github.com/cachesim/cachesim/internal/traces/requests"
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

// progressEvery is the number of requests between two reports of progress.
const progressEvery = 1 << 10

// runAsynchronous replays a part of the trace with a model in which objects arrive later.
func runAsynchronous(ctx context.Context, c Cell, t *traces.Trace, served cache.Cache, options ReplayOptions) (
	cache.Counts, metric.Values, error) {
	arriving, ok := served.(requests.Asynchronous)
	if !ok {
		return cache.Counts{}, metric.Values{}, fmt.Errorf("a cache of type %T loads objects when they are requested, not "+
			"when they arrive", served)
	}
	var total, warm cache.Counts
	counts := func() cache.Counts {
		total.Evictions, total.Oversized = arriving.Evictions(), arriving.Oversized()
		return total
	}
	reported := int64(0)
	report := func() {
		if options.Progress != nil {
			options.Progress(int(total.Requests - reported))
		}
		reported = total.Requests
	}
	config := models.Config{Trace: t, Cache: served, Unit: !c.Capacity.Bytes, Params: c.Model.Params,
		Asked: func(bytes int64, hit bool) {
			total.Requests++
			total.Bytes += bytes
			if hit {
				total.Hits++
				total.HitBytes += bytes
			}
			if total.Requests-reported == progressEvery {
				report()
			}
		},
		Warmup:    options.Warmup,
		EndWarmup: func() { warm = counts(); beginCounting(served) },
		Windows:   modelWindows(options.sampler, counts)}
	if options.sampler != nil {
		config.Timed = options.sampler.latencies
	}
	timed, err := c.Model.Entry.Run(ctx, config)
	report()
	return counts().Minus(warm), timed, err
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
