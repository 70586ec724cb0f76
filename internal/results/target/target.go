// Package target answers which capacity a policy needs for a hit ratio. The hit ratio is a share of the largest one
// that was measured ("90%"), or a hit ratio itself ("0.5").
package target

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Target is the hit ratio to reach. The zero value means no target.
type Target struct {
	Value float64
	Share bool // Value is a share of the largest hit ratio
}

// None is the text for no target.
const None = "none"

// Parse reads a target: a percentage above 0% and up to 100% is a share of the largest hit ratio, a number above 0 and
// below 1 is a hit ratio, and None means no target.
func Parse(text string) (Target, error) {
	if text == None {
		return Target{}, nil
	}
	number, isShare := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
	case isShare && x > 0 && x <= 100:
		return Target{x / 100, true}, nil
	case !isShare && x > 0 && x < 1:
		return Target{x, false}, nil
	}
	return Target{}, fmt.Errorf("%q: want a share of the largest hit ratio, from above 0%% to 100%% (90%%), "+
		"a hit ratio between 0 and 1 (0.5), or %s", text, None)
}

// String writes the target as Parse reads it.
func (t Target) String() string {
	switch {
	case t == Target{}:
		return None
	case t.Share:
		return records.Share(t.Value)
	}
	return strconv.FormatFloat(t.Value, 'f', -1, 64)
}

// Curve is the hit ratios of one policy at the capacities where it was replayed.
type Curve struct {
	Policy string
	Online bool    // it competes, so the largest hit ratio is sought among its points too
	Points []Point // in ascending order of capacity
	// Drawn has for each point the hit ratios of the draws of blocks; nil, or with nil for some points, if they are
	// unknown.
	Drawn    [][]float64
	Estimate bool // the hit ratios are estimates themselves, from samples
}

// Point is a hit ratio at a capacity.
type Point struct {
	Capacity int64
	HitRatio float64
}

// How says how a capacity is known.
type How int

const (
	Replayed  How = iota // a replay had the hit ratio of the target
	Estimated            // between the capacities of two replays
	AtMost               // the smallest capacity that was replayed is enough
	MoreThan             // the largest capacity that was replayed is not enough
)

// Need is what one policy needs to reach the target.
type Need struct {
	Policy   string
	Online   bool
	How      How
	Capacity int64 // for AtMost and MoreThan the smallest and the largest that were replayed
	// Below and Above are the replays between which Capacity is estimated; otherwise both are the replay at Capacity.
	Below, Above Point
	// Interval is nil if it is unknown or does not differ from the capacity.
	Interval *Interval
	Tied     bool // with the first policy, at its capacity
}

// Answer says what capacity each policy needs.
type Answer struct {
	Name   string // of the group of records: the trace, and what else distinguishes it
	Target Target
	Level  float64 // the hit ratio to reach
	// Largest is the largest hit ratio of the online policies, and Of the policy that had it.
	Largest Point
	Of      string
	Unit    string // records.Objects or records.Bytes
	Remark  string // what limits all of it, "" for nothing
	Noun    string // what an object of the trace is: "objects", "blocks"
	Needs   []Need // online policies first, then by capacity; policies that miss the target come last of their kind
}

// leastCapacities is how many capacities an answer needs to be shown unless the user has given a target.
const leastCapacities = 3

func capacities(curves []Curve) int {
	seen := map[int64]bool{}
	for _, c := range curves {
		for _, p := range c.Points {
			seen[p.Capacity] = true
		}
	}
	return len(seen)
}

// Of answers for the policies of some curves. ok is false if there is no target. The needs are unknown if the target is
// a share of the largest hit ratio and no online policy has a hit.
func Of(t Target, unit string, curves []Curve) (a Answer, ok bool) {
	if a, ok = measured(t, unit, curves); ok {
		a.addIntervals(curves)
	}
	return a, ok
}

// measured is Of without intervals.
func measured(t Target, unit string, curves []Curve) (a Answer, ok bool) {
	a = Answer{Target: t, Unit: unit, Noun: records.Objects}
	for _, c := range curves {
		for _, p := range c.Points {
			if c.Online && p.HitRatio > a.Largest.HitRatio {
				a.Largest, a.Of = p, c.Policy
			}
		}
	}
	switch {
	case t == (Target{}):
		return Answer{}, false
	case t.Share && a.Largest.HitRatio == 0:
		return a, true
	}
	a.Level = t.Value
	if t.Share {
		a.Level *= a.Largest.HitRatio
	}
	for _, c := range curves {
		if len(c.Points) > 0 {
			a.Needs = append(a.Needs, c.need(a.Level))
		}
	}
	slices.SortStableFunc(a.Needs, func(x, y Need) int {
		return cmp.Or(cmp.Compare(y.rank(), x.rank()), cmp.Compare(x.Capacity, y.Capacity))
	})
	return a, true
}

// rank puts online policies before others, and those that reach the target before those that do not.
func (n Need) rank() (rank int) {
	if n.Online {
		rank += 2
	}
	if n.How != MoreThan {
		rank++
	}
	return rank
}

// need finds the smallest capacity at which a policy reaches a hit ratio. Larger ones may have a lower hit ratio again,
// as with FIFO (Belady's anomaly); they do not matter.
func (c Curve) need(level float64) Need {
	n := Need{Policy: c.Policy, Online: c.Online}
	i := slices.IndexFunc(c.Points, func(p Point) bool { return p.HitRatio >= level })
	switch {
	case i < 0:
		last := c.Points[len(c.Points)-1]
		n.How, n.Capacity, n.Below, n.Above = MoreThan, last.Capacity, last, last
	case !c.Estimate && (c.Points[i].HitRatio == level || i > 0 && c.Points[i].Capacity-c.Points[i-1].Capacity == 1):
		// exactly the target, or the previous capacity is one less and misses it
		n.How, n.Capacity, n.Below, n.Above = Replayed, c.Points[i].Capacity, c.Points[i], c.Points[i]
	case i == 0:
		n.How, n.Capacity, n.Below, n.Above = AtMost, c.Points[0].Capacity, c.Points[0], c.Points[0]
	default:
		n.Below, n.Above = c.Points[i-1], c.Points[i]
		n.How, n.Capacity = Estimated, between(n.Below, n.Above, level)
	}
	return n
}

// between interpolates on a straight line over the logarithm of the capacity, as figures show curves.
func between(low, high Point, level float64) int64 {
	part := (level - low.HitRatio) / (high.HitRatio - low.HitRatio)
	from, to := math.Log(float64(low.Capacity)), math.Log(float64(high.Capacity))
	capacity := int64(math.Ceil(math.Exp(from + part*(to-from))))
	return min(max(capacity, low.Capacity), high.Capacity) // rounding may leave the interval
}

// FromRecords gives the answers for groups of records that the flag shows. noun says what an object of a record is.
// Where the set has blocks of the records, capacities have intervals.
func FromRecords(f Flag, recs []records.Record, set *blocks.Set,
	noun func(*records.Record) string) (answers []Answer) {
	for _, g := range records.Groups(records.NamedByParts(recs)) {
		curves := curvesOf(g.Records, set, func(r *records.Record) float64 { return r.Float(metric.HitRatio) })
		first := &g.Records[0]
		if a, ok := Of(f.Target, first.CapacityUnit, curves); ok && f.Shows(a, capacities(curves)) {
			a.Name, a.Noun = g.Name, noun(first)
			answers = append(answers, a)
		}
	}
	return answers
}

// curvesOf returns the curves of policies that have to choose. A bound is not a policy, and a cache without bounds has
// no capacity. A policy that knows the future through a part is listed with the offline policies. hitRatio returns the
// hit ratio of a record that counts.
func curvesOf(recs []records.Record, set *blocks.Set, hitRatio func(*records.Record) float64) (curves []Curve) {
	recs = slices.Clone(recs)
	slices.SortStableFunc(recs, func(a, b records.Record) int { return cmp.Compare(a.Capacity, b.Capacity) })
	for i := range recs {
		r := &recs[i]
		online := r.Competes()
		if r.Kind == records.Bound || r.Kind == records.Online && !online && r.Foresees() == "" {
			continue
		}
		at := slices.IndexFunc(curves, func(c Curve) bool { return c.Policy == r.Label })
		if at < 0 {
			at = len(curves)
			curves = append(curves, Curve{Policy: r.Label, Online: online})
		}
		curves[at].Points = append(curves[at].Points, Point{r.Capacity, hitRatio(r)})
		drawn, _ := set.Drawn(r)
		curves[at].Drawn = append(curves[at].Drawn, drawn.HitRatios)
	}
	return curves
}
