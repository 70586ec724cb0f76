package adaptive

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/admission"
)

// frdClimb is what moves the border between the lists of frd: an indicator, or the hit ratio of samples.
type frdClimb struct {
	indicator *admission.Indicator // nil for the hill
	key       func(policies.Object) uint64
	period    int64

	requests, hits int64
	last           float64 // hit ratio of the last sample; 0: none
	growing        bool    // the filter grows
}

// What Caffeine's simulator has for the hill, and of the most requested objects of the indicator: how many tell the
// skew, and how many are counted for that.
const (
	frdPivot  = 0.05 // share of the capacity that the border moves by
	frdSample = 10   // requests of a sample, as a multiple of the capacity

	indicatorTop     = 70
	indicatorCounted = 1000
)

// newFRDClimb returns nil if the border stays.
func newFRDClimb(c policies.Config) *frdClimb {
	climb := c.Params.Text("climb")
	if climb == "none" {
		return nil
	}
	l := &frdClimb{key: c.Key, period: int64(c.Params.Int("period"))}
	if climb == "indicator" {
		l.indicator = admission.NewIndicator(indicatorTop, indicatorCounted, l.code)
	}
	return l
}

// code returns the hash of an object's key, or of its number where keys are unknown.
func (l *frdClimb) code(o policies.Object) uint64 {
	if l.key == nil {
		return admission.JavaCode(uint64(o))
	}
	return admission.JavaCode(l.key(o) ^ 1<<63) // its sign is flipped
}

// restart forgets the sample that is under way.
func (l *frdClimb) restart() { l.requests, l.hits, l.last, l.growing = 0, 0, 0, false }

// moveBorder moves the border, if it is time for that, before a request is served. The residents follow as they are
// evicted.
func (p *frd) moveBorder(o policies.Object, hit bool) {
	l := p.climb
	if l == nil {
		return
	}
	if l.indicator != nil {
		l.indicator.Request(o)
		if l.requests++; l.requests == l.period {
			l.requests = 0
			p.setFilter(int(float64(p.capacity) * l.indicator.Take()))
		}
		return
	}
	if l.requests >= int64(frdSample*p.capacity) {
		if by := l.climbHill(int(frdPivot * float64(p.capacity))); by != 0 {
			p.setFilter(p.capacity - p.mainLimit + by)
		}
	}
	l.requests++
	if hit {
		l.hits++
	}
}

// setFilter sets how many objects the filter may hold: at least one, and not all.
func (p *frd) setFilter(objects int) { p.mainLimit = p.capacity - max(1, min(objects, p.capacity-1)) }

// climbHill ends a sample, and returns by how much the filter grows.
func (l *frdClimb) climbHill(step int) (by int) {
	ratio := 100 * float64(l.hits) / float64(l.requests)
	if l.last != 0 {
		if ratio < l.last {
			l.growing = !l.growing
		}
		if by = step; !l.growing {
			by = -step
		}
	}
	l.last = ratio
	l.requests, l.hits = 0, 0
	return by
}
