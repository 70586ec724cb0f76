package cost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/results"
)

// Offer is the cheapest capacity of a policy, or no cache.
type Offer struct {
	Policy    string // "" for no cache
	Competes  bool   // it could run in production; others show what is possible
	Capacity  int64
	Cost      float64 // for a month
	Estimated bool    // by a sample
	// The capacity is the smallest or the largest one that was replayed, so that another may be cheaper. Where everything
	// that the trace requests fits, a larger one is not.
	AtSmallest, AtLargest bool
	below, above          int64 // the nearest capacities that were replayed; 0 if there are none
	// The ranges of 95% of the draws of blocks; nil if they are unknown.
	CostIn     *[2]float64
	CapacityIn *[2]int64
	Tied       bool // with the cheapest: they cost the same, or draws do not tell which of them costs less

	uses   []use
	origin load
	drawn  []float64 // the cost in each draw; nil if they are unknown
}

func (o Offer) isNone() bool { return o.Policy == "" }

// Answer says which capacity and policy are the cheapest for a group of records.
type Answer struct {
	Name string // of the group: the trace, and what else distinguishes it
	Bill
	Offers []Offer // of policies that compete first, then by cost
	None   Offer   // without a cache
	// Now is the cost of today's capacity under lru or, if that was not replayed, the cheapest policy. It is that of no
	// cache if there is none today; nil if unknown.
	Now *Offer

	curves []curve
	none   point
}

// baseline is the policy that others are compared with, in each case with the same other parts.
const baseline = "lru"

// curve is the costs of one policy at the capacities where it was replayed.
type curve struct {
	policy   string
	style    *records.Record // with the names from which its look follows
	competes bool
	points   []point // by capacity
}

// Answers finds the cheapest of the capacities that were replayed, for each group of records; none without prices.
// Where the set has blocks of the records, costs have intervals.
func (b Bill) Answers(recs []records.Record, set *blocks.Set) (answers []Answer) {
	for _, g := range results.Groups(results.NamedByParts(recs)) {
		answers = append(answers, b.Curve(g.Name, g.Records, set)...)
	}
	return answers
}

// Recorded finds the cheapest of the capacities in records with prices, for each group at the prices and the rate that
// its records have.
func Recorded(recs []records.Record) (answers []Answer) {
	for _, g := range results.Groups(results.NamedByParts(recs)) {
		if b, ok := recorded(g.Records); ok {
			answers = append(answers, b.Curve(g.Name, g.Records, nil)...)
		}
	}
	return answers
}

// Curve finds the cheapest of the capacities that were replayed of one trace; nothing if there are none, or no prices
// of both memory and misses. Of several samples at a capacity it takes the mean.
func (b Bill) Curve(name string, recs []records.Record, set *blocks.Set) []Answer {
	a := Answer{Name: name, Bill: b}
	if b.isPriced() && b.pricesMisses() {
		a.addCurves(recs, set)
	}
	if len(a.curves) == 0 {
		return nil
	}
	for _, c := range a.curves {
		a.Offers = append(a.Offers, cheapest(c))
	}
	slices.SortStableFunc(a.Offers, func(x, y Offer) int {
		if x.Competes != y.Competes {
			return map[bool]int{true: -1, false: 1}[x.Competes]
		}
		return cmp.Compare(x.Cost, y.Cost)
	})
	a.None = Offer{Competes: true, Cost: a.none.cost(), Estimated: a.none.sampled, uses: a.none.uses,
		origin: a.none.origin}
	a.Now = a.nowFor(a.Offers[0].Policy)
	for _, o := range a.others() {
		o.Tied = !isLess(a.Best().Cost, o.Cost)
	}
	a.addIntervals()
	return []Answer{a}
}

// Best is what costs the least: the cheapest policy that competes, or no cache. On a tie it is no cache, which needs
// nothing.
func (a *Answer) Best() *Offer {
	if a.Offers[0].Competes && isLess(a.Offers[0].Cost, a.None.Cost) {
		return &a.Offers[0]
	}
	return &a.None
}

// isLess reports whether a cost is less than another one by more than what rounding makes of equal ones.
func isLess(x, y float64) bool { return x < float64(y*(1-1e-9)) }

// others are all offers apart from the best.
func (a *Answer) others() (others []*Offer) {
	best := a.Best()
	if !best.isNone() {
		others = append(others, &a.None)
	}
	for i := range a.Offers {
		if best != &a.Offers[i] {
			others = append(others, &a.Offers[i])
		}
	}
	if a.Now != nil && !a.Now.isAt(*best) {
		others = append(others, a.Now)
	}
	return others
}

// addCurves adds the curves of the policies, and no cache. Without a replay, no cache follows from the requests of the
// first record.
func (a *Answer) addCurves(recs []records.Record, set *blocks.Set) {
	known, replayed := false, false
	for i := range recs {
		r := &recs[i]
		p, ok := a.point(r)
		if !ok {
			continue
		}
		p.drawn = a.drawn(r, set, a.moved(p))
		if isNone(r) {
			if !replayed {
				a.none, replayed = p, true
			}
			continue
		}
		if !known {
			known = true
			if !replayed {
				a.none = a.Bill.none(r)
			}
		}
		at := slices.IndexFunc(a.curves, func(c curve) bool { return c.policy == r.Label })
		if at < 0 {
			at = len(a.curves)
			a.curves = append(a.curves, curve{policy: r.Label, style: r, competes: r.Competes()})
		}
		a.curves[at].points = append(a.curves[at].points, p)
	}
	for i := range a.curves {
		a.curves[i].points = a.meanPoints(a.curves[i].points)
	}
}

// meanPoints returns the points by capacity, and of several at one capacity their mean.
func (b Bill) meanPoints(points []point) (means []point) {
	slices.SortStableFunc(points, func(x, y point) int { return cmp.Compare(x.capacity, y.capacity) })
	for len(points) > 0 {
		first, n := points[0], 1
		for n < len(points) && points[n].capacity == first.capacity {
			n++
		}
		if n > 1 {
			first = b.mean(points[:n])
		}
		means, points = append(means, first), points[n:]
	}
	return means
}

// mean returns the mean of several samples at one capacity. They have requests of their own, so that it has no draws.
func (b Bill) mean(points []point) point {
	n := float64(len(points))
	uses := slices.Clone(points[0].uses)
	var origin load
	for i := range uses {
		uses[i].units = 0
		for _, p := range points {
			uses[i].units += p.uses[i].units / n
		}
	}
	for _, p := range points {
		origin.requests, origin.bytes = origin.requests+p.origin.requests/n, origin.bytes+p.origin.bytes/n
	}
	m := b.newPoint(points[0].capacity, uses, origin)
	m.sampled, m.holdsAll = points[0].sampled, points[0].holdsAll
	return m
}

// cheapest returns the cheapest capacity of a policy; ties go to the smaller one.
func cheapest(c curve) Offer {
	best := 0
	for i, p := range c.points {
		if isLess(p.cost(), c.points[best].cost()) {
			best = i
		}
	}
	o, last := c.offer(c.points[best]), len(c.points)-1
	o.AtSmallest, o.AtLargest = best == 0, best == last && !c.points[last].holdsAll
	if best > 0 {
		o.below = c.points[best-1].capacity
	}
	if best < last {
		o.above = c.points[best+1].capacity
	}
	return o
}

func (c curve) offer(p point) Offer {
	return Offer{Policy: c.policy, Competes: c.competes, Capacity: p.capacity, Cost: p.cost(), Estimated: p.sampled,
		uses: p.uses, origin: p.origin}
}

// nowFor returns what today's capacity costs if a policy is the cheapest, or no cache if there is none today.
func (a *Answer) nowFor(best string) *Offer {
	switch {
	case a.Today == nil:
		return nil
	case *a.Today == 0:
		return new(a.None)
	}
	for _, policy := range a.todayUnder(a.baselineOf(best), best) {
		for _, c := range a.curves {
			i := slices.IndexFunc(c.points, func(p point) bool { return p.capacity == *a.Today })
			if c.policy == policy && i >= 0 {
				return new(c.offer(c.points[i]))
			}
		}
	}
	return nil
}

// baselineOf returns what the baseline is called with the other parts of a policy; "" if it was not replayed with them.
// It has no part of a kind that it does not work with, such as a predictor.
func (a *Answer) baselineOf(policy string) string {
	of := a.curveOf(policy)
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

// Comparison says which of several caches costs the least, each with its cheapest capacity and policy.
type Comparison struct {
	Name    string
	answers []Answer // the cheapest first
	free    []string // tiers that some of the caches have, and that have no price
	sizes   bool     // blocks of prompts have different sizes, so that their misses have other prices
}

// Caches compares answers that differ in their caches alone.
func Caches(answers []Answer) (comparisons []Comparison) {
	var styles []records.Record
	for _, a := range answers {
		styles = append(styles, *a.curves[0].style)
	}
	names := results.WithoutCache(styles)
	for i, name := range names {
		if slices.Index(names, name) < i {
			continue
		}
		c := Comparison{Name: name}
		for k := i; k < len(answers); k++ {
			if names[k] == name && answers[k].Offers[0].Competes {
				c.add(answers[k])
			}
		}
		if len(c.answers) > 1 {
			slices.SortStableFunc(c.answers, func(x, y Answer) int { return cmp.Compare(x.Offers[0].Cost, y.Offers[0].Cost) })
			comparisons = append(comparisons, c)
		}
	}
	return comparisons
}

func (c *Comparison) add(a Answer) {
	style := a.curves[0].style
	for _, tier := range a.unpriced(style) {
		if !slices.Contains(c.free, tier) {
			c.free = append(c.free, tier)
		}
	}
	c.sizes = c.sizes || len(c.answers) > 0 && style.BlockBytes != c.answers[0].curves[0].style.BlockBytes
	c.answers = append(c.answers, a)
}

// Group returns the name of the group of caches.
func (c Comparison) Group() string { return c.Name }

// Sentence names the cheapest: "cheapest cache: tiers(host=4x), 41.30 EUR a month with lru at 64 MiB; prefix with lru
// at 128 MiB: 45.10 EUR, 8.4% saved".
func (c Comparison) Sentence() string {
	switch {
	case len(c.free) > 0:
		return fmt.Sprintf("cheapest cache: unknown, because tiers have no price: %s; add %s=0.10/GiB-month",
			strings.Join(c.free, ", "), c.free[len(c.free)-1])
	case c.sizes:
		return "cheapest cache: unknown, because a miss is a block, and the blocks of the caches have different sizes"
	}
	best := c.answers[0]
	offer := best.Offers[0]
	parts := []string{fmt.Sprintf("cheapest cache: %s, %s a month%s with %s at %s", best.cache(), best.Amount(offer.Cost),
		costIn(offer), offer.Policy, capacityOf(offer))}
	for _, a := range c.answers[1:] {
		other := a.Offers[0]
		other.Tied = !isLess(offer.Cost, other.Cost) ||
			other.drawn != nil && offer.drawn != nil && isTied(other.drawn, offer.drawn)
		parts = append(parts, fmt.Sprintf("%s with %s at %s: %s, %s", a.cache(), other.Policy, capacityOf(other),
			a.Amount(other.Cost), saved(offer, other)))
	}
	none := "without a cache: " + best.Amount(best.None.Cost) + ", "
	if isLess(best.None.Cost, offer.Cost) {
		none += "less than any of them"
	} else {
		none += saved(offer, best.None)
	}
	return show.Printable(strings.Join(append(parts, none), "; "))
}

// Explanation says nothing: that of each cache does.
func (c Comparison) Explanation() []string { return nil }

func (a Answer) cache() string { return a.curves[0].style.Cache }

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
