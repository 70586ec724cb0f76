package cost

import (
	"slices"

	"github.com/cachesim/cachesim/internal/results/blocks"
)

// addIntervals says how sure the costs are, if blocks of all policies that compete are known.
func (a *Answer) addIntervals() {
	if !a.Offers[0].Competes ||
		slices.ContainsFunc(a.curves, func(c curve) bool { return c.competes && !c.isDrawn() }) {
		return
	}
	best := a.drawnOffers(a.curveOf(a.Offers[0].Policy))
	for i := range a.Offers {
		o := &a.Offers[i]
		c := a.curveOf(o.Policy)
		if !c.isDrawn() {
			continue
		}
		drawn := a.drawnOffers(c)
		o.addIntervals(drawn)
		o.Tied = i > 0 && isTied(drawn, best)
	}
	if now := a.Now; now != nil {
		c := a.curveOf(now.Policy)
		at := slices.IndexFunc(c.points, func(p point) bool { return p.capacity == now.Capacity })
		drawn := a.drawnOffers(curve{points: c.points[at : at+1]})
		now.addIntervals(drawn)
		now.Tied = !now.isAt(a.Offers[0]) && isTied(drawn, best)
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

// drawnOffers returns the cheapest capacity of a policy in each draw.
func (a *Answer) drawnOffers(c curve) (offers []Offer) {
	points := slices.Clone(c.points)
	for i := range points {
		points[i].shares = nil // nobody asks for those of a draw
	}
	for k := range blocks.Draws {
		for i := range points {
			points[i].misses = points[i].drawn[k]
		}
		offers = append(offers, a.cheapest(curve{policy: c.policy, points: points}, a.between))
	}
	return offers
}

func (o *Offer) addIntervals(drawn []Offer) {
	var costs, capacities []float64
	for _, d := range drawn {
		costs, capacities = append(costs, d.Cost), append(capacities, float64(d.Capacity))
	}
	low, high := blocks.Interval(o.Cost, costs)
	o.CostIn = &[2]float64{low, high}
	low, high = blocks.Interval(float64(o.Capacity), capacities)
	o.CapacityIn = &[2]int64{int64(low), int64(high)}
}

// isTied reports whether draws do not tell which of two costs less.
func isTied(some, others []Offer) bool {
	differences := make([]float64, len(some))
	for k := range differences {
		differences[k] = some[k].Cost - others[k].Cost
	}
	return blocks.Tie(differences)
}
