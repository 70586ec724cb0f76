package sim

import (
	"context"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/windows"
	"github.com/cachesim/cachesim/internal/traces"
)

// ReplayOptions say how a trace is replayed.
type ReplayOptions struct {
	Bytes bool // capacity counts bytes: pass the sizes on
	// requests at the start that are served but not counted; for a trace with groups, whole groups
	Warmup   int
	Progress func(n int)      // called with the number of requests served since the last call; may be nil
	sampler  *windows.Sampler // cuts the replay into windows; may be nil
	marks    *marks           // and into blocks; may be nil
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
		to := partEnd(t, opt.sampler, opt.Warmup, from, opt.marks.cut(from, min(from+length, len(t.Objects))))
		f.Serve(from, to)
		if to == opt.Warmup {
			warm = f.Tally
			clear(f.Labels)
			beginCounting(c)
		}
		opt.sampler.Labels(f.Labels)
		opt.sampler.Served(to, f.Counts)
		opt.marks.served(to, counts)
		if opt.Progress != nil {
			opt.Progress(to - from)
		}
		from = to
		now := time.Now()
		length, last = feed.NextWindow(length, now.Sub(last)), now
	}
	opt.marks.endPart(len(t.Objects), counts)
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
