package sim

import (
	"fmt"
	"time"

	"github.com/cachesim/cachesim/internal/base/show"
)

// longReplay is the duration from which replays are announced with an estimate.
const longReplay = time.Minute

// usualTime is the time per request of most policies.
const usualTime = 100 * time.Nanosecond

// prefetchTime is the time of prefetching per request if most requests cause a load.
const prefetchTime = 300 * time.Nanosecond

// Duration estimates the time of a replay: of the policy, of its predictor and of prefetching. It is a rough
// figure, measured on a server, without similarity and models of time.
func (r *Replayer) Duration(c Cell) time.Duration {
	requests := int64(r.Requests(c.Capacity))
	d := time.Duration(requests) * usualTime
	if c.Prefetcher != nil {
		d += time.Duration(requests) * prefetchTime
	}
	if c.Predictor != nil {
		d += c.Predictor.Entry.Duration(c.Predictor.Params, requests)
	}
	return d
}

// LongNote says how long replays are expected to take, with the given number at a time, and which of them take longest.
// It is empty if that is no more than a minute.
func LongNote(cells []Cell, atATime int, durationOf func(Cell) time.Duration, requests int) string {
	var sum, longest time.Duration
	var slowest Cell
	for _, c := range cells {
		d := durationOf(c)
		sum += d
		if d > longest {
			longest, slowest = d, c
		}
	}
	total := max(sum/time.Duration(max(1, min(atATime, len(cells)))), longest)
	if total <= longReplay {
		return ""
	}
	replays := fmt.Sprintf("%d replays", len(cells))
	if len(cells) == 1 {
		replays = "a replay"
	}
	return fmt.Sprintf("about %s: %s of %s requests (%s: %.2g us per request)",
		aboutTime(total), replays, show.Count(int64(requests)), learners(slowest),
		float64(longest)/float64(time.Microsecond)/float64(max(1, requests)))
}

// learners names the policy of a cell and its predictor, if they learn.
func learners(c Cell) string {
	switch {
	case c.Predictor == nil:
		return c.Policy.String()
	case c.Policy.Entry.Name == "":
		return c.Predictor.String()
	}
	return c.Policy.String() + " with " + c.Predictor.String()
}

// aboutTime formats a duration of a minute or more in minutes, and from two hours on in hours.
func aboutTime(d time.Duration) string {
	if d < 2*time.Hour {
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}
