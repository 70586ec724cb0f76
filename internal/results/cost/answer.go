package cost

import (
	"cmp"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Offer is the cheapest capacity of a policy.
type Offer struct {
	Policy    string
	Competes  bool // it could run in production; others show what is possible
	Capacity  int64
	Cost      float64 // for a month
	Estimated bool    // the capacity is between two that were replayed, or a sample was
	// The capacity is the smallest or the largest one that was replayed, so that another may be cheaper. Where everything
	// that the trace requests fits, a larger one is not.
	AtSmallest, AtLargest bool
	// The ranges of 95% of the draws of blocks; nil if they are unknown.
	CostIn     *[2]float64
	CapacityIn *[2]int64
	Tied       bool // with the cheapest: they cost the same, or draws do not tell which of them costs less

	shares []share // of the cost
}

// Answer says which capacity and policy are the cheapest for a group of records.
type Answer struct {
	Name string // of the group: the trace, and what else distinguishes it
	Bill
	Offers []Offer // of policies that compete first, then by cost
	// Now is what the capacity of today costs under lru or, if that was not replayed, the cheapest policy; nil if it is
	// unknown.
	Now *Offer

	curves  []curve
	between bool // capacities between two that were replayed count, too
}

// baseline is the policy that others are compared with, in each case with the same other parts.
const baseline = "lru"

// curve is the costs of one policy.
type curve struct {
	policy   string
	style    *records.Record // with the names from which its look follows
	competes bool
	points   []point // by capacity
}

// Answers finds the cheapest of the capacities that were replayed, for each group of records; none without prices.
// Where the set has blocks of the records, costs have intervals.
func (b Bill) Answers(recs []records.Record, set *blocks.Set) (answers []Answer) {
	for _, g := range records.Groups(records.NamedByParts(recs)) {
		if a, ok := b.answer(g.Name, g.Records, set, false); ok {
			answers = append(answers, a)
		}
	}
	return answers
}

// Recorded finds the cheapest of the capacities in records with prices, for each group at the prices and the rate that
// its records have.
func Recorded(recs []records.Record) (answers []Answer) {
	for _, g := range records.Groups(records.NamedByParts(recs)) {
		if b, ok := recorded(g.Records); ok {
			if a, ok := b.answer(g.Name, g.Records, nil, false); ok {
				answers = append(answers, a)
			}
		}
	}
	return answers
}

// Between finds the cheapest capacity on the curves of one trace, also between capacities that were replayed: there
// misses are on a line over the logarithm of the capacity. Of several samples it takes the mean.
func (b Bill) Between(name string, recs []records.Record, set *blocks.Set) []Answer {
	if a, ok := b.answer(name, recs, set, true); ok {
		return []Answer{a}
	}
	return nil
}

// answer finds the cheapest capacities in records of one trace; ok is false if there are none or no prices.
func (b Bill) answer(name string, recs []records.Record, set *blocks.Set, between bool) (a Answer, ok bool) {
	a = Answer{Name: name, Bill: b, between: between}
	if b.isPriced() {
		a.curves = b.curves(recs, set)
	}
	for _, c := range a.curves {
		a.Offers = append(a.Offers, b.cheapest(c, between))
	}
	if len(a.Offers) == 0 {
		return a, false
	}
	slices.SortStableFunc(a.Offers, func(x, y Offer) int {
		if x.Competes != y.Competes {
			return map[bool]int{true: -1, false: 1}[x.Competes]
		}
		return cmp.Compare(x.Cost, y.Cost)
	})
	a.Now = a.now()
	for i := range a.Offers {
		a.Offers[i].Tied = i > 0 && a.Offers[i].Cost == a.Offers[0].Cost
	}
	a.addIntervals()
	return a, true
}

func (b Bill) curves(recs []records.Record, set *blocks.Set) (curves []curve) {
	for i := range recs {
		r := &recs[i]
		p, ok := b.point(r)
		if !ok {
			continue
		}
		at := slices.IndexFunc(curves, func(c curve) bool { return c.policy == r.Label })
		if at < 0 {
			at = len(curves)
			curves = append(curves, curve{policy: r.Label, style: r, competes: r.Competes()})
		}
		p.drawn = b.drawn(r, set, p.moved())
		curves[at].points = append(curves[at].points, p)
	}
	for i := range curves {
		curves[i].points = meanPoints(curves[i].points)
	}
	return curves
}

// meanPoints returns the points by capacity, and of several at one capacity their mean.
func meanPoints(points []point) (means []point) {
	slices.SortStableFunc(points, func(x, y point) int { return cmp.Compare(x.capacity, y.capacity) })
	for len(points) > 0 {
		mean, n := points[0], 1
		mean.shares = slices.Clone(mean.shares)
		for n < len(points) && points[n].capacity == mean.capacity {
			mean.misses += points[n].misses
			for i := range mean.shares {
				mean.shares[i].cost += points[n].shares[i].cost
			}
			mean.drawn = nil // of several samples, which have requests of their own
			n++
		}
		mean.misses /= float64(n)
		for i := range mean.shares {
			mean.shares[i].cost /= float64(n)
		}
		means, points = append(means, mean), points[n:]
	}
	return means
}

// cheapest returns the cheapest capacity of a policy; ties go to the smaller one.
func (b Bill) cheapest(c curve, between bool) Offer {
	best, estimated := c.points[0], c.points[0].sampled
	for i, p := range c.points {
		if i > 0 && between {
			if q := b.lowest(c.points[i-1], p); q.cost() < min(best.cost(), p.cost()) {
				best, estimated = q, true
			}
		}
		if p.cost() < best.cost() {
			best, estimated = p, p.sampled
		}
	}
	last := c.points[len(c.points)-1]
	return Offer{Policy: c.policy, Competes: c.competes, Capacity: best.capacity, Cost: best.cost(), Estimated: estimated,
		AtSmallest: best.capacity == c.points[0].capacity, AtLargest: best.capacity == last.capacity && !last.holdsAll,
		shares: best.shares}
}

// lowest returns the cheapest point on the way from one to the next: where a byte more costs as much as it saves.
func (b Bill) lowest(low, high point) point {
	saved := (low.misses - high.misses) / math.Log(float64(high.capacity)/float64(low.capacity))
	perByte := (high.memory - low.memory) / float64(high.capacity-low.capacity)
	capacity := saved / perByte
	if !(capacity > float64(low.capacity)) {
		return low
	}
	if capacity >= float64(high.capacity) {
		return high
	}
	return b.at(low, high, int64(math.Round(capacity)))
}

// at returns the point at a capacity between two points: memory grows with the capacity, also that of tiers which are
// multiples of the first one, and misses change with its logarithm.
func (b Bill) at(low, high point, capacity int64) point {
	part := math.Log(float64(capacity)/float64(low.capacity)) / math.Log(float64(high.capacity)/float64(low.capacity))
	linear := float64(capacity-low.capacity) / float64(high.capacity-low.capacity)
	p := point{capacity: capacity, memory: low.memory + float64(linear*(high.memory-low.memory)),
		misses: low.misses + float64(part*(high.misses-low.misses))}
	for i, s := range low.shares {
		along := part
		if s.isRent {
			along = linear
		}
		s.cost += float64(along * (high.shares[i].cost - s.cost))
		p.shares = append(p.shares, s)
	}
	return p
}

// now returns what today's capacity costs.
func (a *Answer) now() *Offer {
	best := a.Offers[0].Policy
	for _, policy := range []string{a.baselineOf(best), best} {
		for _, c := range a.curves {
			i := slices.IndexFunc(c.points, func(p point) bool { return p.capacity == a.Today })
			if c.policy == policy && i >= 0 {
				return &Offer{Policy: policy, Competes: c.competes, Capacity: a.Today, Cost: c.points[i].cost()}
			}
		}
	}
	return nil
}

// baselineOf returns what the baseline is called with the other parts of a policy; "" if it was not replayed with them.
// It has no part of a kind that it does not work with, such as a predictor.
func (a *Answer) baselineOf(policy string) string {
	of := a.curves[slices.IndexFunc(a.curves, func(c curve) bool { return c.policy == policy })]
	for _, c := range a.curves {
		differs := func(k records.PartKind) bool {
			part := *k.Field(c.style)
			return part != *k.Field(of.style) && !(k.Some && part == "")
		}
		if c.style.Policy == baseline && !slices.ContainsFunc(records.PartKinds, differs) {
			return c.policy
		}
	}
	return ""
}

// offerOf returns the cheapest offer of a policy; nil if it was not replayed.
func (a *Answer) offerOf(policy string) *Offer {
	i := slices.IndexFunc(a.Offers, func(o Offer) bool { return o.Policy == policy })
	if i < 0 {
		return nil
	}
	return &a.Offers[i]
}
