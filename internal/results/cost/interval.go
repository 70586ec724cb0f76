package cost

import (
	"slices"

	"github.com/cachesim/cachesim/internal/records/blocks"
)

// addIntervals says how sure the costs are, if blocks of all policies that compete are known.
func (a *Answer) addIntervals() {
	if !a.Offers[0].Competes ||
		slices.ContainsFunc(a.curves, func(c curve) bool { return c.competes && !c.isDrawn() }) {
		return
	}
	for i := range a.Offers {
		o := &a.Offers[i]
		o.addIntervals(a.curveOf(o.Policy))
	}
	a.None.addIntervals(curve{points: []point{a.none}})
	switch now := a.Now; {
	case now == nil:
	case now.isNone():
		*now = a.None
	default:
		c := a.curveOf(now.Policy)
		at := slices.IndexFunc(c.points, func(p point) bool { return p.capacity == now.Capacity })
		c.points = c.points[at : at+1]
		now.addIntervals(c)
	}
	best := a.Best()
	for _, o := range a.others() {
		if o.drawn != nil && best.drawn != nil {
			o.Tied = isTied(o.drawn, best.drawn)
		}
	}
}

// isAt reports whether two offers are of one policy and capacity.
func (o Offer) isAt(other Offer) bool {
	return o.Policy == other.Policy && o.Capacity == other.Capacity
}

func (c curve) isDrawn() bool {
	return !slices.ContainsFunc(c.points, func(p point) bool { return p.drawn == nil })
}

func (a *Answer) curveOf(policy string) curve {
	return a.curves[slices.IndexFunc(a.curves, func(c curve) bool { return c.policy == policy })]
}

// addIntervals adds the cheapest capacity of a policy in each draw, and what follows from it.
func (o *Offer) addIntervals(c curve) {
	if !c.isDrawn() {
		return
	}
	points := slices.Clone(c.points)
	var capacities []float64
	o.drawn = nil
	for k := range blocks.Draws {
		for i := range points {
			points[i].misses = points[i].drawn[k]
		}
		d := cheapest(curve{policy: c.policy, points: points})
		o.drawn, capacities = append(o.drawn, d.Cost), append(capacities, float64(d.Capacity))
	}
	low, high := blocks.Interval(o.Cost, o.drawn)
	o.CostIn = &[2]float64{low, high}
	low, high = blocks.Interval(float64(o.Capacity), capacities)
	o.CapacityIn = &[2]int64{int64(low), int64(high)}
}

// isTied reports whether draws do not tell which of two costs less.
func isTied(some, others []float64) bool {
	differences := make([]float64, len(some))
	for k := range differences {
		differences[k] = some[k] - others[k]
	}
	return blocks.Tie(differences)
}

// savedIn returns the 95% interval of the saving of one offer over another, as a share of the other's cost; ok is false
// if unknown.
func savedIn(best, other Offer) (low, high float64, ok bool) {
	if best.drawn == nil || other.drawn == nil {
		return 0, 0, false
	}
	saved := make([]float64, len(best.drawn))
	for k := range saved {
		saved[k] = 1 - best.drawn[k]/other.drawn[k]
	}
	low, high = blocks.Interval(1-best.Cost/other.Cost, saved)
	return low, high, true
}
