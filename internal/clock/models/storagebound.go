package models

import (
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/clock/storage"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces"
)

// Metrics of a single job whose future is known.
var (
	CompletionBound = metric.Metric{Name: "jct_bound_s", Unit: metric.Seconds, Digits: 2, Better: metric.Lower,
		Merge: metric.Apart,
		Doc: "time that a single job in a closed loop takes at least, whatever is prefetched and evicted; only where all " +
			"blocks have one size"}
	CompletionAggressive = metric.Metric{Name: "jct_aggressive_s", Unit: metric.Seconds, Digits: 2,
		Better: metric.Lower, Merge: metric.Apart,
		Doc: "time that this job takes under a schedule that knows the future: Aggressive of Cao, Felten, Karlin and Li, " +
			"SIGMETRICS 1995"}
)

// addBounds adds what a job could have taken, where that is known: for a single job that runs to its end in a closed
// loop, reads blocks of one size, and does nothing else.
func addBounds(v *metric.Values, c Config, config storage.Config, reads storage.Reads) {
	t := c.Trace
	if !config.Closed || len(config.Tiers) > 0 || reads.Stops != nil || hasSeveral(reads.Job) ||
		!readsOnly(t) || hasSeveral(t.ObjectSizes) || hasSeveral(t.RequestSizes) {
		return
	}
	blocks := c.Capacity
	if !c.Unit {
		blocks /= max(1, t.Size(0))
	}
	if blocks < 1 {
		return
	}
	widest := 1 // requests of a read
	gaps := make([]int64, len(t.Objects))
	local := make([]int64, len(t.Objects))
	for read, first := range reads.Starts {
		end := len(t.Objects)
		if read+1 < len(reads.Starts) {
			end = reads.Starts[read+1]
			if reads.Times != nil {
				gaps[end-1] = max(0, int64(reads.Times[read+1]-reads.Times[read]))
			}
		}
		local[end-1] = int64(config.Local)
		widest = max(widest, end-first)
	}
	job := oracle.Job{
		Objects: t.Objects, Next: oracle.NextUse(t.Objects, t.NumObjects), Capacity: int(blocks),
		Fetch: int64(float64(t.Size(0)) / config.Bandwidth * float64(time.Second)),
		Gap:   func(i int) int64 { return gaps[i] + local[i] },
	}
	seconds := func(steps int64) float64 { return (time.Duration(steps) + config.Delay).Seconds() }
	v.Set(CompletionAggressive, seconds(job.Aggressive(t.NumObjects)+int64(config.Local)))
	// Blocks that are on their way need no room in the cache, and a read that waits for one takes no other time.
	job.Capacity += config.Prefetches + widest
	job.Gap = func(i int) int64 { return gaps[i] }
	v.Set(CompletionBound, seconds(job.Bound()))
}

// readsOnly reports whether a trace has one life, in which nothing is written, removed or loaded without a request.
func readsOnly(t *traces.Trace) bool {
	return len(t.Starts) == 0 && t.Ops == nil && t.Loads == nil && len(t.Removals) == 0
}

// hasSeveral reports whether not all values are the same.
func hasSeveral[T comparable](values []T) bool {
	return slices.ContainsFunc(values, func(x T) bool { return x != values[0] })
}
