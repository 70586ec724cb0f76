package audit

import (
	"context"
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/traces"
)

// The capacity is looked for among those that are at most so many times larger or smaller, in so many halvings.
const (
	mostFactor = 1024
	halvings   = 11
)

// capacity is that the server has another capacity than stated: the one at which the replay hits as often.
func (l *Log) capacity() Cause[Setup] {
	return l.cause("capacity", "capacity", func(ctx context.Context, at *Trial[Setup]) (string, error) {
		if math.Abs(at.Outcome.Gap()) < leastGain {
			return "", nil
		}
		stated := at.Setup
		search := func(low, high, wanted float64) (lower, upper float64, err error) {
			for range halvings {
				middle := math.Sqrt(low * high)
				o, err := at.Replay(ctx, stated.scaled(middle))
				if err != nil {
					return 0, 0, err
				}
				if o.ReplayedRatio() < wanted {
					low = middle
				} else {
					high = middle
				}
			}
			return low, high, nil
		}
		low, high := 1.0/mostFactor, 1.0
		if at.Outcome.Gap() > 0 {
			low, high = 1, mostFactor
		}
		end := map[bool]float64{false: low, true: high}[at.Outcome.Gap() > 0]
		last, err := at.Replay(ctx, stated.scaled(end))
		if err != nil || (last.Gap() > 0) == (at.Outcome.Gap() > 0) {
			return "", nil // no capacity in the range has that ratio
		}
		found, above, err := search(low, high, at.Outcome.HitRatio())
		if err != nil {
			return "", err
		}
		factor := math.Sqrt(found * above)
		margin := 2 * at.Outcome.GapError()
		least, _, err := search(max(1.0/mostFactor, factor/2), factor, at.Outcome.HitRatio()-margin)
		if err != nil {
			return "", err
		}
		_, most, err := search(factor, min(mostFactor, factor*2), at.Outcome.HitRatio()+margin)
		if err != nil {
			return "", err
		}
		if simple := simpleFactor(least, most); simple > 0 {
			factor = simple
		}
		at.Setup = stated.scaled(factor)
		text := func(factor float64) string {
			c := stated.scaled(factor).Cell.Capacity
			return show.About(c.Amount, c.Unit())
		}
		return fmt.Sprintf("a capacity of about %s in the place of %s (%s fit)", text(factor),
			show.Capacity(stated.Cell.Capacity.Amount, stated.Cell.Capacity.Unit()),
			show.Between(text(least), text(most))), nil
	})
}

// simpleFactor returns a factor that people would name, if one fits: half, twice. It returns 0 otherwise.
func simpleFactor(least, most float64) float64 {
	for _, n := range []float64{2, 4, 3, 8, 10, 5} {
		for _, factor := range []float64{1 / n, n} {
			if least <= factor && factor <= most {
				return factor
			}
		}
	}
	return 0
}

// overhead is that objects take more than their size.
func (l *Log) overhead(s Setup) Cause[Setup] {
	return l.cause("overhead", "overhead", func(ctx context.Context, at *Trial[Setup]) (string, error) {
		if !s.Cell.Capacity.Bytes || !cache.IsExact(s.Cell.Replayed().Cache) || at.Outcome.Gap() >= 0 {
			return "", nil
		}
		stated := at.Setup
		var best Outcome
		says := ""
		for _, o := range overheads {
			changed := stated.with(o.edit)
			outcome, err := at.Replay(ctx, changed)
			if err != nil {
				return "", err
			}
			if says == "" || outcome.distance() < best.distance() {
				best, says, at.Setup = outcome, o.says, changed
			}
		}
		return says, nil
	})
}

// overheads are what servers add to the sizes of objects.
var overheads = func() (all []struct {
	says string
	edit edit
}) {
	add := func(says string, size func(int64) int64) {
		all = append(all, struct {
			says string
			edit edit
		}{says, func(t *traces.Trace) *traces.Trace { return resized(t, size) }})
	}
	for _, bytes := range []int64{56, 100, 256, 600, 1024} {
		add(fmt.Sprintf("about %d bytes that each object takes beside its size", bytes),
			func(size int64) int64 { return size + bytes })
	}
	const block = 4096
	add(fmt.Sprintf("objects in blocks of %d bytes", block),
		func(size int64) int64 { return (size + block - 1) / block * block })
	return all
}()

// resized returns a trace with other sizes.
func resized(t *traces.Trace, size func(int64) int64) *traces.Trace {
	other := *t
	of := func(sizes []int64) (all []int64) {
		for _, s := range sizes {
			all = append(all, size(s))
		}
		return all
	}
	other.ObjectSizes, other.RequestSizes = of(t.ObjectSizes), of(t.RequestSizes)
	return &other
}
