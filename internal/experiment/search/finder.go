package search

import (
	"math"
	"slices"
	"sort"

	"github.com/cachesim/cachesim/internal/records"
)

// Near is how near to the smallest capacity a search ends. The replay at the capacity that it returns reaches the hit
// ratio; one at this share of it, or at more, does not.
const Near = 1 / 1.02

// nearInPass is Near where one pass over the trace serves thousands of capacities.
const nearInPass = 1 / 1.00001

// point is a replay at a capacity. Its zero value is a cache that holds nothing.
type point struct {
	units  int64
	ratio  float64         // hits
	record *records.Record // nil for samples, and where a replay is not possible
}

// finder finds the smallest capacity at which a policy reaches a hit ratio. Which replays it asks for depends on their
// results, on the level, and on LRU's curve, never on the capacities that somebody has named. Where the hit ratio of a
// policy falls on the way, as with FIFO (Belady's anomaly), it finds one of the capacities where it rises above the
// level.
type finder struct {
	level    float64
	top      int64 // units that hold everything
	step     int64 // two capacities that differ by less are the same
	first    int64 // where to begin
	mostRuns int
	lru      *shape // of LRU's curve; nil if it is unknown

	low, high point // misses and reaches the level; high has 0 units if nothing does so far
	points    []point
	runs      int
	row       int // steps in the same direction
	stuck     int // steps since the range of the search has halved
	halved    float64
	never     bool
	passed    bool // low and high are of a pass over the trace
}

// next returns the capacity to replay next; ok is false at the end.
func (f *finder) next() (units int64, ok bool) {
	if f.ended() {
		return 0, false
	}
	return f.one(), true
}

func (f *finder) ended() bool { return f.never || f.found() || f.runs >= f.mostRuns }

func (f *finder) found() bool {
	return f.high.units > 0 && (f.isExact() || float64(f.low.units) >= Near*float64(f.high.units))
}

func (f *finder) isExact() bool { return f.high.units-f.low.units <= f.step }

func (f *finder) add(p point) {
	f.runs++
	f.keep(p)
	f.narrow(p)
	f.passed, f.never = false, f.high.units == 0 && f.low.units >= f.top<<growths
}

func (f *finder) keep(p point) {
	at, known := slices.BinarySearchFunc(f.points, p.units, func(q point, units int64) int {
		return int(max(-1, min(1, q.units-units)))
	})
	if !known {
		f.points = slices.Insert(f.points, at, p)
	}
}

// narrow moves one end of the range to a replay in it.
func (f *finder) narrow(p point) {
	reaches := p.ratio >= f.level
	switch {
	case p.units <= f.low.units || f.high.units > 0 && p.units >= f.high.units:
		return
	case reaches && f.high.units > 0 || !reaches && f.low.units > 0:
		f.row++
	default:
		f.row = 1
	}
	if reaches {
		f.high = p
	} else {
		f.low = p
	}
	if f.stuck++; f.low.units > 0 && f.high.units > 0 {
		width := math.Log(float64(f.high.units) / float64(f.low.units))
		if f.halved == 0 || width <= f.halved/2 {
			f.halved, f.stuck = width, 0
		}
	}
}

// growths limits how often the capacity that holds everything is doubled, if a policy misses the level there. Some
// caches need more room: those with a pool for each tenant, with sets, with chunks that are not full, or with a queue
// for new objects that must fit a large one.
const growths = 4

// steps are the least factors by which the capacity grows or shrinks while all replays miss the level, or all reach it.
// So a wrong guess costs few replays.
var steps = []float64{1.01, 1.05, 1.3, 2, 4, 16}

// one returns the next capacity where each is a replay.
func (f *finder) one() int64 {
	low, high := float64(f.low.units), float64(f.high.units)
	step := steps[max(0, min(f.row, len(steps))-1)]
	switch {
	case f.high.units == 0 && f.low.units >= f.top:
		return 2 * f.low.units
	case f.low.units == 0 && f.high.units == 0:
		return max(1, min(f.top, f.first))
	case f.high.units == 0:
		return min(f.top, max(f.low.units+f.step, int64(math.Round(min(float64(f.top), max(f.guess()*1.01, low*step))))))
	case f.low.units == 0:
		return f.inside(min(f.guess()/1.01, high/step), 0, f.high.units)
	case f.stuck >= 3:
		return f.inside(math.Sqrt(low*high), f.low.units, f.high.units)
	}
	// On the side of the guess that leaves more: another replay on its other side ends the search.
	guess := f.guess()
	if high/guess > guess/low {
		return f.inside(guess*1.008, f.low.units, f.high.units)
	}
	return f.inside(guess/1.008, f.low.units, f.high.units)
}

// inside rounds a capacity to a whole one that lies between two others, which it does not reach.
func (f *finder) inside(units float64, low, high int64) int64 {
	nearest := min(f.step, max(1, (high-low)/2))
	return max(low+nearest, min(high-nearest, int64(math.Round(units))))
}

// guess returns where the policy reaches the level if its curve runs along LRU's.
func (f *finder) guess() float64 {
	switch {
	case f.low.units > 0 && f.high.units > 0:
		return f.lru.between(f.low, f.high, f.level)
	case f.low.units > 0:
		return f.lru.beside(f.low, f.level)
	}
	return f.lru.beside(f.high, f.level)
}

// needs returns a function that gives the capacity at which the policy reaches another hit ratio, from the replays
// nearest to it.
func (f *finder) needs() func(level float64) float64 {
	points := rising(f.points)
	return func(level float64) float64 {
		reached := sort.Search(len(points), func(i int) bool { return points[i].ratio >= level })
		var units float64
		switch reached {
		case 0:
			units = f.lru.beside(points[0], level)
		case len(points):
			units = f.lru.beside(points[reached-1], level)
		default:
			units = f.lru.between(points[reached-1], points[reached], level)
		}
		return max(1, min(float64(f.top), units))
	}
}

// rising returns the points that have a higher hit ratio than all smaller ones.
func rising(points []point) (higher []point) {
	for _, p := range points {
		if p.ratio >= 0 && (len(higher) == 0 || p.ratio > higher[len(higher)-1].ratio) {
			higher = append(higher, p)
		}
	}
	return higher
}

// mostInPass is up to how many capacities one pass serves.
const mostInPass = 1 << 12

// grid returns the capacities of a pass: all of a range or, if they are too many, some in geometric steps.
func grid(from, to int64) (units []int64) {
	if to-from < mostInPass {
		return steady(from, to, 1)
	}
	for i := range mostInPass {
		part := float64(i) / (mostInPass - 1)
		n := int64(math.Round(float64(from) * math.Pow(float64(to)/float64(from), part)))
		units = append(units, max(from, min(to, n)))
	}
	return slices.Compact(units)
}

// within returns the capacities of the next pass, between the ends of the range; none if the capacity is known, or
// below those that passes serve. With sizes, nearInPass bounds it: 4 KB of a GiB make no difference.
func (f *finder) within(from int64) []int64 {
	low, high := f.low.units, f.high.units
	if high == 0 || low < from || high-low <= 1 || float64(low) >= nearInPass*float64(high) {
		return nil
	}
	return steady(low+1, high-1, max(1, (high-low)/mostInPass))
}

func steady(from, to, step int64) (units []int64) {
	for n := from; n <= to; n += step {
		units = append(units, n)
	}
	return units
}

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
