package allocate

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
)

var optimalEntry = Entry{
	Name: "optimal",
	Summary: "offline: the fixed division with the most hits by the tenants' LRU curves; no other fixed division " +
		"beats it under lru",
	Source: "Stone, Turek and Wolf, Optimal Partitioning of Cache Memory, IEEE Trans. Computers 1992; the knapsack: " +
		"Pisinger, EJOR 1995",
	Metrics: divisionMetrics,
	Future:  true,
	Params: []params.Param{
		{Name: "steps", Default: 65536, Min: 1, Max: 1 << 24,
			Doc: "units into which the capacity is cut; up to this number of objects the division is exact"},
	},
	New: func(c Config) (Allocator, error) { return &optimal{steps: c.Params.Int("steps")}, nil },
}

// optimal divides once, before the first request, by the curves of the whole trace. Curves of LRU may have cliffs,
// where giving capacity to the largest gain of the moment fails; this finds the best division all the same.
//
// It bounds the hits of lru in fixed pools if every object keeps its size and fits into its pool. Another policy, or a
// division that changes, may do better.
type optimal struct{ steps int }

func (a *optimal) Needs() Needs { return Needs{Curves: &Sampling{Whole: true, Steps: a.steps}} }

func (a *optimal) Allocate(s *State, capacities []int64) {
	unit := unitOf(s.Capacity, a.steps)
	curves := make([]Curve, len(s.Pools))
	for i, p := range s.Pools {
		curves[i] = p.Curve.inUnits(unit, s.Capacity/unit)
	}
	given := bestDivision(curves, s.Capacity/unit)
	left := s.Capacity
	for _, n := range given {
		left -= n * unit
	}
	divideEqually(left, capacities) // no more hits for lru, but other policies may use it
	for i, n := range given {
		capacities[i] += n * unit
	}
}

// bestDivision returns capacities, at most capacity together, at which the curves have the most hits in all.
//
// It is the multiple-choice knapsack problem: choose one point of each curve. The convex hulls of the curves give a
// price of capacity that solves the relaxed problem. The price gives, for each point, the least loss against the
// relaxed optimum of a division with that point. Points that lose more than the best known division can be left out;
// dynamic programming searches the rest (Pisinger, A minimal algorithm for the multiple-choice knapsack problem,
// European Journal of Operational Research 1995). If that needs more than mostSteps or mostChoices, as many curves full
// of cliffs may, the best known division is returned.
func bestDivision(curves []Curve, capacity int64) []int64 {
	known, price := greedyDivision(curves, capacity)
	fillUp(curves, capacity, known)
	search := &knapsack{curves: curves, capacity: capacity, price: price, most: make([]float64, len(curves))}
	search.gap = price * float64(capacity)
	for i, c := range curves {
		for _, p := range c {
			search.most[i] = max(search.most[i], p.Hits-float64(price*float64(p.Capacity)))
		}
		search.gap += search.most[i] - c.At(known[i])
	}
	if better, ok := search.run(); ok {
		return better
	}
	return known
}

// greedyDivision climbs the hulls of the curves in descending order of hits per capacity until a step does not fit. It
// returns the capacities, and the hits per capacity of that step; 0 if all fit.
func greedyDivision(curves []Curve, capacity int64) (given []int64, price float64) {
	type step struct {
		pool     int
		from, to Point
	}
	var steps []step
	for i, c := range curves {
		from := Point{}
		for _, p := range c.Hull() {
			steps = append(steps, step{i, from, p})
			from = p
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(worth(b.from, b.to), worth(a.from, a.to)) })
	given = make([]int64, len(curves))
	left := capacity
	for _, s := range steps {
		if s.to.Capacity-s.from.Capacity > left {
			return given, worth(s.from, s.to)
		}
		given[s.pool] = s.to.Capacity
		left -= s.to.Capacity - s.from.Capacity
	}
	return given, 0
}

// fillUp gives the remaining capacity, step by step, to the curve that gains the most hits from it.
func fillUp(curves []Curve, capacity int64, given []int64) {
	left := capacity
	for _, n := range given {
		left -= n
	}
	for range len(curves) { // a curve that was chosen has no further point within what is left
		best, gain := -1, 0.0
		for i, c := range curves {
			if g := c.At(given[i]+left) - c.At(given[i]); g > gain {
				best, gain = i, g
			}
		}
		if best < 0 {
			return
		}
		c := curves[best]
		at, _ := slices.BinarySearchFunc(c, given[best]+left+1,
			func(p Point, n int64) int { return cmp.Compare(p.Capacity, n) })
		left -= c[at-1].Capacity - given[best]
		given[best] = c[at-1].Capacity
	}
}

// The work of a search and the choices that it keeps are bounded: some seconds, and 128 MiB.
const (
	mostSteps   = 1 << 28
	mostChoices = 1 << 22
)

// knapsack searches for a division that loses less than gap against the relaxed optimum at a price of capacity.
type knapsack struct {
	curves   []Curve
	capacity int64
	price    float64   // hits per capacity
	most     []float64 // per curve: the most of hits - price x capacity
	gap      float64   // loss of the best known division; unused capacity loses its price, too
	work     int       // pairs of choice and point so far
	kept     int       // choices in all layers so far

	least []choice // per capacity used: the choice with the least loss; before is -1 without a choice
}

// choice is a partial division: the points taken from the curves so far.
type choice struct {
	used   int64
	lost   float64 // against the relaxed optimum, by the points alone
	before int32   // which choice of the previous curve it extends
	taken  int64   // of this curve
}

// run returns the best division; ok is false if none is better than the known one, or if the work is too much.
func (k *knapsack) run() (given []int64, ok bool) {
	if !(k.gap > 0) {
		return nil, false // the known division is the relaxed optimum
	}
	k.least = make([]choice, k.capacity+1)
	layers := make([][]choice, 1, len(k.curves)+1)
	layers[0] = []choice{{}}
	for i := range k.curves {
		next, ok := k.extend(layers[i], i)
		if !ok {
			return nil, false
		}
		layers = append(layers, next)
	}
	best := -1
	for j, c := range layers[len(k.curves)] {
		if lost := c.lost + float64(k.price*float64(k.capacity-c.used)); lost < k.gap {
			best, k.gap = j, lost
		}
	}
	if best < 0 {
		return nil, false
	}
	given = make([]int64, len(k.curves))
	for i := len(k.curves); i > 0; i-- {
		c := layers[i][best]
		given[i-1], best = c.taken, int(c.before)
	}
	return given, true
}

// extend adds a point of curve i, or none, to each of the choices. It returns the choices that no other beats, in order
// of their capacity; ok is false if there are none, or too many.
func (k *knapsack) extend(choices []choice, i int) (next []choice, ok bool) {
	var points []choice
	for _, p := range append(Curve{{}}, k.curves[i]...) {
		lost := k.most[i] - (p.Hits - float64(k.price*float64(p.Capacity)))
		if p.Capacity <= k.capacity && lost < k.gap {
			points = append(points, choice{lost: lost, taken: p.Capacity})
		}
	}
	if k.work += len(choices)*len(points) + len(k.curves[i]) + len(k.least); k.work > mostSteps {
		return nil, false
	}
	for used := range k.least {
		k.least[used].before = -1
	}
	for j, c := range choices {
		for _, p := range points {
			used, lost := c.used+p.taken, c.lost+p.lost
			if used > k.capacity {
				break // points come in order of their capacities
			}
			if at := &k.least[used]; lost < k.gap && (at.before < 0 || lost < at.lost) {
				*at = choice{used, lost, int32(j), p.taken}
			}
		}
	}
	next = k.undominated()
	k.kept += len(next)
	return next, len(next) > 0 && k.kept <= mostChoices
}

// undominated returns the choices for which no other uses at most as much capacity and has at least as many hits. The
// hits of a choice follow from its loss and the capacity that it uses.
func (k *knapsack) undominated() (kept []choice) {
	worse := func(c choice) float64 { return c.lost - float64(k.price*float64(c.used)) } // falls as hits grow
	for _, c := range k.least {
		if n := len(kept); c.before >= 0 && (n == 0 || worse(c) < worse(kept[n-1])) {
			kept = append(kept, c)
		}
	}
	return kept
}
