package target

import (
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Interval is where the capacity that a policy needs lies in 95% of the draws of blocks.
type Interval struct {
	Low, High int64
	// AtMost says that the smallest capacity replayed is enough in some of these draws, MoreThan that the largest is not.
	AtMost, MoreThan bool
}

// addIntervals says how sure the capacities are, if blocks of all policies that compete are known.
func (a *Answer) addIntervals(curves []Curve) {
	unknown := func(c Curve) bool { return c.Online && !c.isDrawn() }
	if len(a.Needs) == 0 || slices.ContainsFunc(curves, unknown) {
		return
	}
	drawn := map[string][]float64{} // capacities by policy
	for k := range blocks.Draws {
		b, _ := measured(a.Target, a.Unit, drawnCurves(curves, k))
		for _, n := range b.Needs {
			drawn[n.Policy] = append(drawn[n.Policy], n.position())
		}
	}
	for i := range a.Needs {
		n := &a.Needs[i]
		if c := curveOf(curves, n.Policy); c.isDrawn() && len(drawn[n.Policy]) > 0 {
			n.Interval = c.interval(blocks.Interval(n.position(), drawn[n.Policy]))
		}
	}
	a.addTies(curves)
}

func (c Curve) isDrawn() bool {
	return len(c.Drawn) == len(c.Points) && !slices.ContainsFunc(c.Drawn, func(x []float64) bool { return x == nil })
}

func curveOf(curves []Curve, policy string) Curve {
	return curves[slices.IndexFunc(curves, func(c Curve) bool { return c.Policy == policy })]
}

// drawnCurves returns the curves as draw k has them. Those without blocks stay, and have no intervals.
func drawnCurves(curves []Curve, k int) []Curve {
	drawn := make([]Curve, len(curves))
	for i, c := range curves {
		drawn[i] = Curve{Policy: c.Policy, Online: c.Online, Points: c.Points, Estimate: c.Estimate}
		if !c.isDrawn() {
			continue
		}
		drawn[i].Points = make([]Point, len(c.Points))
		for j, p := range c.Points {
			drawn[i].Points[j] = Point{p.Capacity, c.Drawn[j][k]}
		}
	}
	return drawn
}

// position orders the capacities of draws: what the smallest capacity reaches comes first, what the largest does not
// comes last.
func (n Need) position() float64 {
	switch n.How {
	case AtMost:
		return math.Inf(-1)
	case MoreThan:
		return math.Inf(1)
	}
	return float64(n.Capacity)
}

// interval returns the interval between two positions; nil if they are the same.
func (c Curve) interval(low, high float64) *Interval {
	if low == high {
		return nil
	}
	i := &Interval{Low: int64(low), High: int64(high), AtMost: math.IsInf(low, -1), MoreThan: math.IsInf(high, 1)}
	if i.AtMost {
		i.Low = c.Points[0].Capacity
	}
	if i.MoreThan {
		i.High = c.Points[len(c.Points)-1].Capacity
	}
	return i
}

// addTies finds the policies whose hit ratios, at the capacity that the first policy needs, differ from its hit ratio
// by no more than draws do.
func (a *Answer) addTies(curves []Curve) {
	first := a.Needs[0]
	if !first.Online || first.How == MoreThan {
		return
	}
	best := curveOf(curves, first.Policy)
	for i := range a.Needs[1:] {
		n := &a.Needs[1+i]
		other := curveOf(curves, n.Policy)
		if !n.Online {
			continue
		}
		differences := make([]float64, blocks.Draws)
		for k := range differences {
			differences[k] = best.at(first.Capacity, k) - other.at(first.Capacity, k)
		}
		n.Tied = blocks.Tie(differences)
	}
}

// at returns the hit ratio of draw k at a capacity, between two points on a line over the logarithm of the capacity.
func (c Curve) at(capacity int64, k int) float64 {
	i := slices.IndexFunc(c.Points, func(p Point) bool { return p.Capacity >= capacity })
	switch {
	case i < 0:
		return c.Drawn[len(c.Points)-1][k]
	case i == 0 || c.Points[i].Capacity == capacity:
		return c.Drawn[i][k]
	}
	low, high := c.Points[i-1].Capacity, c.Points[i].Capacity
	part := math.Log(float64(capacity)/float64(low)) / math.Log(float64(high)/float64(low))
	return c.Drawn[i-1][k] + float64(part*(c.Drawn[i][k]-c.Drawn[i-1][k]))
}

func (a Answer) someInterval() bool {
	return slices.ContainsFunc(a.Needs, func(n Need) bool { return n.Interval != nil })
}

// InBrackets writes the interval of a need: " (3,050 to 3,390)"; "" if there is none.
func (a Answer) InBrackets(n Need) string {
	if n.Interval == nil {
		return ""
	}
	low, high := Need{How: Estimated, Capacity: n.Interval.Low}, Need{How: Estimated, Capacity: n.Interval.High}
	if n.Interval.AtMost {
		low.How = AtMost
	}
	if n.Interval.MoreThan {
		high.How = MoreThan
	}
	return " (" + strings.ReplaceAll(records.Between(a.CapacityOf(low), a.CapacityOf(high)), "~", "") + ")"
}

// ties names the policies that are no worse than the first one at its capacity.
func (a Answer) ties() string {
	names := []string{a.Needs[0].Policy}
	for _, n := range a.Needs {
		if n.Tied {
			names = append(names, n.Policy)
		}
	}
	if len(names) == 1 {
		return ""
	}
	return "; at " + a.withNoun(a.CapacityOf(a.Needs[0])) + " a tie: " + strings.Join(names, a.separator())
}
