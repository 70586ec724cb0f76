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

// capacity is that the server has another capacity than stated: one at which the replay hits as often.
func (l *Log) capacity() Cause[Setup] {
	return l.cause("capacity", "capacity", func(ctx context.Context, at *Trial[Setup]) (string, error) {
		gap, stated := at.Outcome.Gap(), at.Setup
		low, high := 1.0/mostFactor, 1.0
		if gap > 0 {
			low, high = 1, mostFactor
		}
		end := map[bool]float64{false: low, true: high}[gap > 0]
		last, err := at.Replay(ctx, stated.scaled(end))
		if err != nil || math.Abs(gap) < leastGain || (last.Gap() > 0) == (gap > 0) && math.Abs(last.Gap()) > leastGain {
			return "", nil // no capacity in the range has that ratio
		}
		below, above, err := crossing(ctx, at, stated, low, high, reaches(at.Outcome.HitRatio()))
		factor := math.Sqrt(below * above)
		if err != nil {
			return "", err
		}
		fit, err := fitting(ctx, at, stated, low, factor, high)
		if err != nil {
			return "", err
		}
		if factor, err = simpler(ctx, at, stated, factor, simpleFactor(fit.below, fit.above)); err != nil {
			return "", err
		}
		t, err := l.trace(ctx, stated)
		if err != nil {
			return "", err
		}
		at.Setup = stated.scaled(factor)
		says := fmt.Sprintf("a capacity of about %s in the place of %s", stated.capacityText(factor),
			show.Capacity(stated.Cell.Capacity.Amount, stated.Cell.Capacity.Unit()))
		between := stated.between(min(fit.least, factor), max(fit.most, factor))
		if t.SampledFrom > 0 || between == "" { // how far a sample is from its log is not known
			return says, nil
		}
		return fmt.Sprintf("%s (%s fit)", says, between), nil
	})
}

// reaches is what a replay with so many hits does.
func reaches(ratio float64) func(Outcome) bool {
	return func(o Outcome) bool { return o.ReplayedRatio() >= ratio }
}

// crossing returns between which factors of the capacity, within a range, the replay begins to be large enough.
func crossing(ctx context.Context, at *Trial[Setup], stated Setup, low, high float64,
	isEnough func(Outcome) bool) (below, above float64, err error) {
	for range halvings {
		if high < low*1.005 {
			break
		}
		middle := math.Sqrt(low * high)
		o, err := at.Replay(ctx, stated.scaled(middle))
		if err != nil {
			return 0, 0, err
		}
		if isEnough(o) {
			high = middle
		} else {
			low = middle
		}
	}
	return low, high, nil
}

// interval has the factors of the capacity with which a replay has the hit ratio of the server up to its errors: by
// chance, and of the models. Those
// beyond below and above have another one; of those between them and the ends that is not known.
type interval struct{ below, least, most, above float64 }

// fitting returns the interval around a factor.
func fitting(ctx context.Context, at *Trial[Setup], stated Setup, low, factor, high float64) (fit interval, err error) {
	found, err := at.Replay(ctx, stated.scaled(factor))
	if err != nil {
		return fit, err
	}
	margin := 2*found.GapError() + math.Abs(found.Gap()) + min(modelError, 1-found.Agreement())
	wanted := at.Outcome.HitRatio()
	fit.below, fit.least, err = crossing(ctx, at, stated, low, factor, reaches(wanted-margin))
	if err != nil {
		return fit, err
	}
	isMore := func(o Outcome) bool { return o.ReplayedRatio() > wanted+margin }
	fit.most, fit.above, err = crossing(ctx, at, stated, factor, high, isMore)
	return fit, err
}

// simpler returns a factor that people would name, if its replay comes as near to the server as that of another one: by
// nearly nothing, or as far as the server's hits tell.
func simpler(ctx context.Context, at *Trial[Setup], stated Setup, factor, simple float64) (float64, error) {
	if simple == 0 {
		return factor, nil
	}
	exact, err := at.Replay(ctx, stated.scaled(factor))
	if err != nil {
		return 0, err
	}
	o, err := at.Replay(ctx, stated.scaled(simple))
	isNear := o.distance() <= exact.distance()+nearlyNothing || !o.IsCoarse() && o.isAsNear(exact)
	if err != nil || !isNear {
		return factor, err
	}
	return simple, nil
}

func (s Setup) capacityText(factor float64) string {
	c := s.scaled(factor).Cell.Capacity
	return show.About(c.Amount, c.Unit())
}

// between says which capacities fit: those between two factors, of which the least one may be the end of the range. It
// says nothing of those that are written alike.
func (s Setup) between(least, most float64) string {
	const nearEnd = 1.5
	switch {
	case least < nearEnd/mostFactor:
		return "up to " + s.capacityText(most)
	case most > mostFactor/nearEnd:
		return "from " + s.capacityText(least)
	}
	if s.capacityText(least) == s.capacityText(most) {
		return ""
	}
	return show.Between(s.capacityText(least), s.capacityText(most))
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
