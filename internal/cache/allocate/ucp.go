package allocate

import (
	"container/heap"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
)

var ucpEntry = Entry{
	Name:    "ucp",
	Summary: "by utility: the misses that more capacity would save, measured by sampled shadow directories",
	Source:  "Qureshi and Patt, Utility-Based Cache Partitioning, MICRO 2006; sampling: Waldspurger et al., FAST 2015",
	Metrics: divisionMetrics,
	Params: []params.Param{
		{Name: "every", Default: 10000, Min: 1, Doc: "requests between two divisions (the paper: 5 million cycles)"},
		{Name: "ways", Default: 64, Min: 1, Max: 65536,
			Doc: "least number of parts in which the capacity is given out, and at least two per tenant (the paper: 16 ways)"},
		{Name: "tags", Default: 8192, Min: 1, Max: 1 << 24,
			Doc: "most objects that the shadow directory of a tenant follows (the paper: 32 sets of 16 ways, 512)"},
	},
	New: func(c Config) (Allocator, error) {
		return &ucp{
			every: int64(c.Params.Int("every")),
			ways:  max(c.Params.Int("ways"), 2*len(c.Tenants)),
			tags:  c.Params.Int("tags"),
		}, nil
	},
}

// ucp gives out the capacity in ways by the lookahead algorithm (section 6 of the paper). Each tenant has at least one
// way. Before the first request, and if the curves do not differ, all have the same.
type ucp struct {
	every      int64
	ways, tags int
}

func (a *ucp) Needs() Needs {
	return Needs{Every: a.every, Curves: &Sampling{Tags: a.tags, Steps: a.ways}}
}

func (a *ucp) Allocate(s *State, capacities []int64) {
	unit := unitOf(s.Capacity, a.ways)
	ways := s.Capacity / unit
	curves := make([]Curve, len(s.Pools))
	known := false
	for i, p := range s.Pools {
		curves[i] = p.Curve.inUnits(unit, ways)
		known = known || len(curves[i]) > 0
	}
	if !known || ways < int64(len(s.Pools)) {
		divideEqually(s.Capacity, capacities)
		return
	}
	given := lookahead(curves, ways)
	weights := make([]float64, len(given))
	for i, n := range given {
		weights[i] = float64(n)
	}
	divide(s.Capacity, weights, capacities)
}

// lookahead gives ways to the curves, one to each first. It considers every number of further ways for a curve, not
// only one, and chooses the most hits per way (Lookahead in section 6 of the paper). Ties go to the lower number. Ways
// that help no curve are divided equally.
//
// From any point the next point of the upper convex hull has the most hits per way. So the hull of a curve gives all of
// its offers except the last, which may need more ways than are left.
func lookahead(curves []Curve, ways int64) (given []int64) {
	given = make([]int64, len(curves))
	left := ways - int64(len(curves))
	queue := make(offers, 0, len(curves))
	hulls := make([]Curve, len(curves))
	for i, c := range curves {
		given[i] = 1
		hulls[i] = c.hullFrom(Point{1, c.At(1)})
		if o, ok := nextOffer(c, &hulls[i], i, 1, left); ok {
			queue = append(queue, o)
		}
	}
	heap.Init(&queue)
	for left > 0 && len(queue) > 0 {
		best := queue[0]
		i := best.pool
		if best.to-given[i] <= left { // otherwise it was made when more ways were left
			left -= best.to - given[i]
			given[i] = best.to
		}
		if o, ok := nextOffer(curves[i], &hulls[i], i, given[i], left); ok {
			queue[0] = o
			heap.Fix(&queue, 0)
		} else {
			heap.Pop(&queue)
		}
	}
	more := make([]int64, len(given))
	divideEqually(left, more)
	for i := range given {
		given[i] += more[i]
	}
	return given
}

// offer is the gain of a pool from more ways.
type offer struct {
	pool  int
	to    int64   // ways that it would have
	worth float64 // hits per way
}

// nextOffer returns the best offer of a pool: the first point of its hull, or a nearer one if too few ways are left.
func nextOffer(c Curve, hull *Curve, pool int, has, left int64) (offer, bool) {
	for len(*hull) > 0 && (*hull)[0].Capacity <= has {
		*hull = (*hull)[1:]
	}
	if len(*hull) == 0 {
		return offer{}, false
	}
	next := (*hull)[0]
	if next.Capacity-has > left {
		return offerWithin(c, pool, has, left)
	}
	return offer{pool, next.Capacity, worth(Point{has, c.At(has)}, next)}, true
}

// offerWithin returns the best offer of a pool that needs at most the ways left.
func offerWithin(c Curve, pool int, has, left int64) (best offer, ok bool) {
	start := Point{has, c.At(has)}
	best.worth = math.Inf(-1)
	for _, p := range c {
		if p.Capacity <= has || p.Capacity-has > left {
			continue
		}
		if w := worth(start, p); w > best.worth {
			best, ok = offer{pool, p.Capacity, w}, true
		}
	}
	return best, ok
}

// offers is a heap of the best offer of each pool.
type offers []offer

func (o offers) Len() int { return len(o) }

func (o offers) Less(i, j int) bool {
	if o[i].worth != o[j].worth {
		return o[i].worth > o[j].worth
	}
	return o[i].pool < o[j].pool
}

func (o offers) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o *offers) Push(x any)   { *o = append(*o, x.(offer)) }

func (o *offers) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}
