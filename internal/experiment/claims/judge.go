package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/records"
)

// outcome is the result of a claim at one point.
type outcome struct {
	point int // one of the points that are this point of the claim
	// the compared values; for a trend those along the dimension, for a ranking the ranked value and the others
	values []float64
	points []int // for a trend: the places of its values
	slots  []int // for a ranking: the policies of its values
	holds  bool
	slack  float64 // distance from failing; negative if it fails
	why    string  // it cannot be checked here
}

// relative makes slacks comparable between points: ratios stay as they are, other values are taken relative to their
// size.
func relative(slack float64, u unit, values ...float64) float64 {
	size := 0.0
	for _, x := range values {
		size = max(size, math.Abs(x))
	}
	if u == share || size == 0 {
		return slack
	}
	return slack / size
}

func (t *tolerance) beside(right float64) float64 {
	switch {
	case t == nil:
		return 0
	case t.relative:
		return t.amount.value * math.Abs(right)
	}
	return t.amount.value
}

func (c comparison) judge(e *evaluator) []outcome {
	nodes := make([]node, len(c.values))
	for i, x := range c.values {
		nodes[i] = e.compile(x, false)
	}
	if e.prepare(); e.reason != "" {
		return nil
	}
	e.shown = bound(freeOf(e, nodes...))
	var all []outcome
	for _, at := range e.distinct(e.shown) {
		o := outcome{point: at, holds: true, slack: math.Inf(1)}
		o.values, o.why = e.valuesAt(nodes, at, unbound)
		for i := range c.ops {
			if o.why == "" {
				holds, slack := c.holds(e, i, o.values[i], o.values[i+1])
				o.holds, o.slack = o.holds && holds, min(o.slack, relative(slack, c.unit(), o.values[i], o.values[i+1]))
			}
		}
		all = append(all, o)
	}
	return all
}

func (e *evaluator) valuesAt(nodes []node, at, bound int) (values []float64, why string) {
	values = make([]float64, len(nodes))
	for i, n := range nodes {
		if values[i], why = n.value(e, at, bound); why != "" {
			return nil, why
		}
	}
	return values, ""
}

func (c comparison) unit() unit { return unitOfAll(c.values) }

// holds checks the comparison between values i and i+1.
func (c comparison) holds(e *evaluator, i int, left, right float64) (holds bool, slack float64) {
	tolerance := c.toleranceOf(e, i, right)
	below, above := right-tolerance, right+tolerance
	difference := math.Abs(left - right)
	within := compare(left, below) >= 0 && compare(left, above) <= 0
	switch c.ops[i] {
	case "==":
		return within, tolerance - difference
	case "!=":
		return !within, difference - tolerance
	case "<":
		return compare(left, above) < 0, above - left
	case "<=":
		return compare(left, above) <= 0, above - left
	case ">":
		return compare(left, below) > 0, left - below
	default: // >=
		return compare(left, below) >= 0, left - below
	}
}

// toleranceOf returns how much values i and i+1 may differ: as the claim says or, for equality with a reference, as the
// reference says.
func (c comparison) toleranceOf(e *evaluator, i int, right float64) float64 {
	if c.within != nil || c.ops[i] != "==" && c.ops[i] != "!=" {
		return c.within.beside(right)
	}
	allowed := 0.0
	for _, x := range c.values[i : i+2] {
		visit(x, func(x expr) {
			switch x := x.(type) {
			case figure:
				allowed = max(allowed, e.d.in.References[x.name].Within)
			case name:
				allowed = max(allowed, e.d.in.References[string(x)].Within)
			}
		})
	}
	return allowed
}

func (t trend) judge(e *evaluator) []outcome {
	value := e.compile(t.value, false)
	along := e.d.find(t.along)
	if along < 0 {
		e.notCheckable("no record has the dimension %s", t.along)
	}
	if e.prepare(); e.reason != "" {
		return nil
	}
	free := value.free(e)
	if free[along] {
		e.notCheckable("%s does not depend on %s", text(t.value), t.along)
		return nil
	}
	e.shown = bound(free, along)
	series := map[string]int{}
	var all []outcome
	for _, at := range e.distinct(append(slices.Clone(e.shown), along)) {
		k := keyOn(e.points[at].at, e.shown)
		i, ok := series[k]
		if !ok {
			i = len(all)
			series[k] = i
			all = append(all, outcome{point: at})
		}
		all[i].points = append(all[i].points, at)
	}
	for i := range all {
		t.judgeSeries(e, &all[i], value, along)
	}
	return all
}

// judgeSeries sorts the values of a series and checks every step.
func (t trend) judgeSeries(e *evaluator, o *outcome, value node, along int) {
	type step struct {
		place, x float64
		at       int
	}
	var steps []step
	for _, at := range o.points {
		place, ok := e.placeOf(at, along)
		if e.points[at].at[along] == anywhere {
			o.why = fmt.Sprintf("its records have no place on %s", t.along)
			return
		}
		if !ok {
			o.why = fmt.Sprintf("%s is not a number there, so it has no order", t.along)
			return
		}
		x, why := value.value(e, at, unbound)
		if why != "" {
			o.why = why
			return
		}
		steps = append(steps, step{place, x, at})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.place, b.place) })
	steps = slices.CompactFunc(steps, func(a, b step) bool { return a.place == b.place })
	if len(steps) < 2 {
		o.why = fmt.Sprintf("it has only one place on %s", t.along)
		return
	}
	o.points = o.points[:0]
	for _, s := range steps {
		o.points, o.values = append(o.points, s.at), append(o.values, s.x)
	}
	o.holds, o.slack = t.moves.follows(o.values, t.within.beside(0), unitOf(t.value))
}

// follows reports whether the values move in that direction.
func (m movement) follows(values []float64, tolerance float64, u unit) (holds bool, slack float64) {
	switch m {
	case isMonotone:
		up, upSlack := neverDecreases.follows(values, tolerance, u)
		down, downSlack := neverIncreases.follows(values, tolerance, u)
		return up || down, max(upSlack, downSlack)
	case isConstant:
		low, high := slices.Min(values), slices.Max(values)
		return compare(high, low+tolerance) <= 0, relative(low+tolerance-high, u, low, high)
	}
	holds, slack = true, math.Inf(1)
	for i := range values[1:] {
		from, to := values[i], values[i+1]
		if m == decreases || m == neverIncreases {
			from, to = -from, -to
		}
		stepHolds := compare(to, from-tolerance) >= 0
		if m == increases || m == decreases {
			stepHolds = compare(to, from) > 0
		}
		holds = holds && stepHolds
		slack = min(slack, relative(to-from+tolerance, u, from, to))
	}
	return holds, slack
}

func (r ranking) judge(e *evaluator) []outcome {
	subject := e.slot(r.subject, false)
	members := e.members(r.among)
	others := slices.DeleteFunc(members, func(slot int) bool { return slot == subject })
	e.subject = r.subject
	value := e.compile(r.value, true)
	if len(others) == 0 {
		e.notCheckable("there is no policy to compare %s with", r.subject)
	}
	if e.prepare(); e.reason != "" {
		return nil
	}
	e.shown = bound(value.free(e))
	var all []outcome
	for _, at := range e.distinct(e.shown) {
		o := outcome{point: at}
		r.judgePoint(e, &o, value, subject, others)
		all = append(all, o)
	}
	return all
}

func (r ranking) judgePoint(e *evaluator, o *outcome, value node, subject int, others []int) {
	for _, slot := range append([]int{subject}, others...) {
		if e.slots[slot].optional && e.points[o.point].cells[slot] == absent {
			continue
		}
		x, why := value.value(e, o.point, slot)
		if why != "" {
			o.why = why
			return
		}
		o.values, o.slots = append(o.values, x), append(o.slots, slot)
	}
	if len(o.values) < 2 {
		o.why = "there is no policy to compare with"
		return
	}
	o.holds, o.slack = r.holds(o.values[0], o.values[1:])
}

// sign is 1 if higher values come first, -1 otherwise.
func (r ranking) sign() float64 {
	costs := records.LowerIsBetter(metricsOf(r.value)[0])
	if r.rank == lowest || r.rank != highest && costs {
		return -1
	}
	return 1
}

func (r ranking) holds(x float64, others []float64) (holds bool, slack float64) {
	sign := r.sign()
	ahead, behind := 0, 0
	nearest := math.Inf(1) // index of the value that decides the rank
	for _, other := range others {
		lead := sign * (x - other)
		tolerance := r.within.beside(other)
		if compare(sign*other, sign*x+tolerance) > 0 {
			ahead++
		}
		if compare(sign*other, sign*x-tolerance) < 0 {
			behind++
		}
		if r.rank == last {
			lead = -lead
		}
		nearest = min(nearest, relative(lead+tolerance, unitOf(r.value), x, other))
	}
	switch r.rank {
	case last:
		return behind == 0, nearest
	case second:
		return ahead == 1, -math.Abs(float64(ahead - 1))
	case third:
		return ahead == 2, -math.Abs(float64(ahead - 2))
	}
	return ahead == 0, nearest
}
