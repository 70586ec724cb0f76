package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/windows"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// ReplayOptions say how a trace is replayed.
type ReplayOptions struct {
	Bytes bool // capacity counts bytes: pass the sizes on
	// requests at the start that are served but not counted; for a trace with groups, whole groups
	Warmup   int
	Progress func(n int)      // called with the number of requests served since the last call; may be nil
	sampler  *windows.Sampler // cuts the replay into windows; may be nil
	marks    *windows.Marks   // and into blocks; may be nil
}

// Replay sends the trace through the cache and returns the counts after the warm-up. It stops early with ctx's error.
// The cache must be Dropping if the trace has removals.
func Replay(ctx context.Context, t *traces.Trace, c cache.Cache, opt ReplayOptions) (Tally, error) {
	f := feed.New(t, c, opt.Bytes)
	var warm Tally
	counts := func() []cache.Counts { return []cache.Counts{f.Counts} }
	length := feed.ShortestWindow
	last := time.Now()
	for from := 0; from < len(t.Objects); {
		if err := ctx.Err(); err != nil {
			return Tally{}, err
		}
		to := partEnd(t, opt.sampler, opt.Warmup, from, opt.marks.Cut(from, min(from+length, len(t.Objects))))
		f.Serve(from, to)
		if to == opt.Warmup {
			warm = f.Tally
			clear(f.Labels)
			beginCounting(c)
		}
		opt.sampler.Labels(f.Labels)
		opt.sampler.Served(to, f.Counts)
		opt.marks.Served(to, counts)
		if opt.Progress != nil {
			opt.Progress(to - from)
		}
		from = to
		now := time.Now()
		length, last = feed.NextWindow(length, now.Sub(last)), now
	}
	opt.marks.EndPart(len(t.Objects), counts)
	return f.Minus(warm), nil
}

// beginCounting ends the warm-up of a cache.
func beginCounting(c any) {
	if warming, ok := c.(cache.Warming); ok {
		warming.BeginCounting()
	}
}

// partEnd returns where a run of requests from one position to another must end so that neither a window of the series
// nor the warm-up ends inside it. Groups of requests stay together, except where the warm-up ends.
func partEnd(t *traces.Trace, s *windows.Sampler, warmup, from, to int) int {
	to = s.Cut(from, to)
	if t.Groups != nil {
		to = feed.GroupEnd(t, to)
	}
	if from < warmup {
		to = min(to, warmup)
	}
	return to
}

// replayModelled replays a part of the trace with a model of time. cost returns that of all predictions so far.
func replayModelled(ctx context.Context, c Cell, t *traces.Trace, served cache.Cache, cost func() predict.Cost,
	options ReplayOptions) (cache.Counts, metric.Values, error) {
	config := models.Config{Trace: t, Cache: served, Params: c.Model.Params, Warmup: options.Warmup}
	if options.sampler != nil {
		config.Timed = options.sampler.Latencies
	}
	var counted func() cache.Counts // after the warm-up
	switch {
	case drives(c.Model):
		driven, ok := served.(cache.Driven)
		if !ok {
			return cache.Counts{}, metric.Values{}, fmt.Errorf("a cache of type %T cannot be driven by a model", served)
		}
		config.EndWarmup, config.Windows = driven.BeginCounting, options.sampler.OfModel(driven.Counts)
		counted = func() cache.Counts { return driven.Counts().Minus(driven.Warm()) }
	case isAsynchronous(c.Model):
		later, ok := served.(requests.Asynchronous)
		if !ok {
			return cache.Counts{}, metric.Values{}, fmt.Errorf("a cache of type %T loads objects when they are requested, not "+
				"when they arrive", served)
		}
		run := &feed.Asynchronous{Cache: later, Progress: options.Progress}
		config.Unit, config.Capacity, config.Asked = !c.Capacity.Bytes, c.Capacity.Simulated, run.Asked
		config.EndWarmup, config.Windows = run.EndWarmup, options.sampler.OfModel(run.Counts)
		counted = func() cache.Counts { run.Report(); return run.Counts().Minus(run.Warm) }
	default:
		run := &modelled{trace: t, cache: served, cost: cost, progress: options.Progress, sampler: options.sampler,
			warmup: options.Warmup}
		config.Serve = run.serve
		counted = func() cache.Counts { return run.total.Minus(run.warm) }
	}
	timed, err := c.Model.Entry.Run(ctx, config)
	return counted(), timed, err
}

// modelled is a cache whose groups of requests are served when a model of time says so. What counts, and in which
// window, is decided here, as in a replay without a model.
type modelled struct {
	trace    *traces.Trace
	cache    cache.Cache
	cost     func() predict.Cost // of all predictions so far
	progress func(n int)         // may be nil
	sampler  *windows.Sampler    // nil without a series
	warmup   int                 // requests that are not counted
	total    cache.Counts
	warm     cache.Counts // the part of total from the warm-up
	// Of a cache of groups that run, which several nodes may serve in any order: requests served, and those of the warm-up
	// among them.
	done, warmed int
}

// serve serves the group of requests from one position to another. A cache that locks running groups does so until the
// model says that the group is finished.
func (m *modelled) serve(from, to int) models.Served {
	before, cost := m.total, m.cost()
	if running, ok := m.cache.(cache.Running); ok {
		group, _ := slices.BinarySearch(m.trace.Groups, from)
		running.Begin(group, &m.total)
		m.began(from, to, m.total.Minus(before))
	} else {
		m.serveParts(from, to)
	}
	if m.progress != nil {
		m.progress(to - from)
	}
	return models.Served{HitTokens: m.total.HitTokens - before.HitTokens, Cost: m.cost().Minus(cost)}
}

// began records that a group has begun. Its requests all belong to the warm-up, or none does.
func (m *modelled) began(from, to int, n cache.Counts) {
	m.done += to - from
	if from < m.warmup {
		m.warm = m.warm.Plus(n)
		if m.warmed += to - from; m.warmed == m.warmup {
			beginCounting(m.cache)
		}
	}
	m.sampler.Served(m.done, m.total)
}

// serveParts serves a group in parts, which end where the warm-up or a window ends. The cache knows where the group
// ends.
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
	m.sampler.Served(to, m.total)
}
