package sim

import (
	"context"
	"slices"

	"github.com/cachesim/cachesim/internal/traces"
)

// A cache serves so many requests between two looks at the context: a few milliseconds, also where each of them trains or predicts anew.
const (
	windowLen        = 1 << 15
	learnedWindowLen = 4
)

// ReplayOptions say how a trace is replayed.
type ReplayOptions struct {
	Bytes    bool        // capacity counts bytes: hand the sizes over
	Learned  bool        // requests are slow, as a predictor learns from them
	Warmup   int         // requests at the start that are served but not counted; of a trace with groups it holds whole ones
	Progress func(n int) // called with the number of requests served since the last call; may be nil
}

// Replay drives the trace through the cache and returns the counts after the warm-up. It stops early with ctx's error.
func Replay(ctx context.Context, t *traces.Trace, c Cache, opt ReplayOptions) (Counts, error) {
	var total, warm Counts
	var sizes []int64
	length := windowLen
	if opt.Learned {
		length = learnedWindowLen
	}
	for from := 0; from < len(t.Objects); {
		if err := ctx.Err(); err != nil {
			return Counts{}, err
		}
		to := min(from+length, len(t.Objects))
		if t.Groups != nil {
			to = groupEnd(t, to)
		}
		if from < opt.Warmup {
			to = min(to, opt.Warmup)
		}
		if opt.Bytes && t.RequestSizes == nil && len(sizes) < to-from {
			sizes = make([]int64, to-from)
		}
		c.Serve(window(t, from, to, opt.Bytes, sizes), &total)
		if to == opt.Warmup {
			warm = total
		}
		if opt.Progress != nil {
			opt.Progress(to - from)
		}
		from = to
	}
	return total.minus(warm), nil
}

// groupEnd returns where the group ends that holds the request before to.
func groupEnd(t *traces.Trace, to int) int {
	next, _ := slices.BinarySearch(t.Groups, to)
	if next == len(t.Groups) {
		return len(t.Objects)
	}
	return t.Groups[next]
}

// window returns the requests [from, to). Sizes per object are spread over the requests in the buffer.
func window(t *traces.Trace, from, to int, bytes bool, buffer []int64) Window {
	w := Window{Objects: t.Objects[from:to], First: from}
	if t.Groups != nil {
		first, _ := slices.BinarySearch(t.Groups, from)
		end, _ := slices.BinarySearch(t.Groups, to)
		w.Groups = t.Groups[first:end]
	}
	if t.Times != nil {
		w.Times = t.Times[from:to]
	}
	if !bytes {
		return w
	}
	if t.RequestSizes != nil {
		w.Sizes = t.RequestSizes[from:to]
		return w
	}
	w.Sizes = buffer[:to-from]
	for i, o := range w.Objects {
		w.Sizes[i] = t.ObjectSizes[o]
	}
	return w
}
