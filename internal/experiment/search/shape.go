package search

import (
	"math"
	"sort"
)

// shape is LRU's curve, along which the curves of other policies run more often than along a straight line. Nil is a
// straight line over the logarithm of the capacity.
type shape struct{ points []point }

// newShape returns the shape of a curve; nil if it has too few points.
func newShape(points []point) *shape {
	if points = rising(points); len(points) < 3 {
		return nil
	}
	return &shape{points}
}

// at returns the logarithm of the capacity at which LRU reaches a hit ratio.
func (s *shape) at(ratio float64) float64 {
	i := sort.Search(len(s.points), func(i int) bool { return s.points[i].ratio >= ratio })
	switch i {
	case 0:
		return math.Log(float64(s.points[0].units))
	case len(s.points):
		return math.Log(float64(s.points[i-1].units))
	}
	return along(s.points[i-1], s.points[i], (ratio-s.points[i-1].ratio)/(s.points[i].ratio-s.points[i-1].ratio))
}

// along returns the logarithm of the capacity at a part of the way between two.
func along(low, high point, part float64) float64 {
	from, to := math.Log(float64(low.units)), math.Log(float64(high.units))
	return from + float64(part*(to-from))
}

// between returns where a curve reaches a level between two of its points.
func (s *shape) between(low, high point, level float64) float64 {
	part := (level - low.ratio) / (high.ratio - low.ratio)
	if s != nil {
		if from, to := s.at(low.ratio), s.at(high.ratio); to > from {
			part = (s.at(level) - from) / (to - from)
		}
	}
	if !(part >= 0 && part <= 1) { // the curve falls
		part = 0.5
	}
	return math.Exp(along(low, high, part))
}

// beside returns where a curve reaches a level beyond one of its points: as much further as LRU's does.
func (s *shape) beside(p point, level float64) float64 {
	if s == nil {
		return float64(p.units)
	}
	return float64(p.units) * math.Exp(s.at(level)-s.at(p.ratio))
}
