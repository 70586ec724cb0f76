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
	// the compared values; for a trend the values along the dimension, for a ranking the ranked value and the others
	values []float64
	points []int // for a trend: the places of its values
	slots  []int // for a ranking: the policies of its values
	tests  []test
	why    string // it cannot be checked here
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
	return e.judgePoints(c.values, func(o *outcome) {
		for i := range c.ops {
			o.tests = append(o.tests, c.testsOf(e, i, o.values[i], o.values[i+1])...)
		}
	})
}

// judgePoints evaluates the operands at every point, and calls judge where all of them have a value.
func (e *evaluator) judgePoints(operands []expr, judge func(o *outcome)) (all []outcome) {
	nodes := e.compileAll(operands, false)
	if e.prepare(); e.reason != "" {
		return nil
	}
	e.shown = bound(freeOf(e, nodes...))
	for _, at := range e.distinct(e.shown) {
		o := outcome{point: at}
		if o.values, o.why = e.valuesAt(nodes, at, unbound); o.why == "" {
			judge(&o)
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

// testsOf returns the tests of the comparison between values i and i+1. The tests of != are those of ==, which decide
// the other way round.
func (c comparison) testsOf(e *evaluator, i int, left, right float64) []test {
	tolerance := c.toleranceOf(e, i, right)
	isAtMost, isAtLeast := newTest(right+tolerance, left, left, right), newTest(left, right-tolerance, left, right)
	switch c.ops[i] {
	case "==", "!=":
		isAtLeast.slack = tolerance - math.Abs(left-right)
		isAtMost.slack = isAtLeast.slack
		return []test{isAtLeast, isAtMost}
	case "<", "<=":
		isAtMost.strict = c.ops[i] == "<"
		return []test{isAtMost}
	default: // > and >=
		isAtLeast.strict = c.ops[i] == ">"
		return []test{isAtLeast}
	}
}

func (c comparison) slack(tests []test, u unit) float64 {
	if c.ops[0] == "!=" {
		return -least(tests, u)
	}
	return least(tests, u)
}

func (c comparison) decide(tests []test) Verdict {
	if c.ops[0] != "!=" {
		return every(tests).verdict()
	}
	return (yes - every(tests)).verdict()
}

func (c comparison) decides(o outcome) int {
	verdict := c.decide(o.tests)
	if c.ops[0] != "!=" {
		return nearestTest(o.tests, verdict)
	}
	// it holds where a test of == fails
	other := map[Verdict]Verdict{Reproduced: Refuted, Refuted: Reproduced, Undecided: Undecided}
	return nearestTest(o.tests, other[verdict])
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
	var all []outcome
	for _, points := range records.GroupBy(e.distinct(append(slices.Clone(e.shown), along)),
		func(at int) string { return keyOn(e.points[at].at, e.shown) }) {
		o := outcome{point: points[0], points: points}
		t.judgeSeries(e, &o, value, along)
		all = append(all, o)
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
	o.tests = t.moves.tests(o.values, t.within.beside(0))
}

// tests returns one test for each step; for isMonotone first those upwards and then those downwards.
func (m movement) tests(values []float64, tolerance float64) (tests []test) {
	switch m {
	case isMonotone:
		return append(neverDecreases.tests(values, tolerance), neverIncreases.tests(values, tolerance)...)
	case isConstant:
		low, high := slices.Min(values), slices.Max(values)
		return []test{newTest(low+tolerance, high, low, high)}
	}
	for i := range values[1:] {
		from, to := values[i], values[i+1]
		if m == decreases || m == neverIncreases {
			from, to = -from, -to
		}
		step := newTest(to, from-tolerance, from, to)
		step.strict, step.slack = m == increases || m == decreases, to-from+tolerance
		tests = append(tests, step)
	}
	return tests
}

func (t trend) decide(tests []test) Verdict {
	if t.moves != isMonotone {
		return every(tests).verdict()
	}
	up, down := every(tests[:len(tests)/2]), every(tests[len(tests)/2:])
	return max(up, down).verdict()
}

// decides is the step that decides; for isMonotone a step in the direction that the values fail less.
func (t trend) decides(o outcome) int {
	verdict := t.decide(o.tests)
	switch t.moves {
	case isConstant:
		return 0
	case isMonotone:
		steps := len(o.tests) / 2
		up, down := o.tests[:steps], o.tests[steps:]
		ups, downs := nearestTest(up, verdict), nearestTest(down, verdict)
		if every(up) > every(down) || every(up) == every(down) && up[ups].margin >= down[downs].margin {
			return ups
		}
		return steps + downs
	}
	return nearest(o.tests, verdict.answer(), func(i int) float64 { return o.tests[i].relative(unitOf(t.value)) })
}

func (t trend) slack(tests []test, u unit) float64 {
	if t.moves == isMonotone {
		return max(least(tests[:len(tests)/2], u), least(tests[len(tests)/2:], u))
	}
	return least(tests, u)
}

func (r ranking) judge(e *evaluator) []outcome {
	subject := e.slot(r.subject)
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
	o.tests = r.tests(o.values[0], o.values[1:])
}

// sign is 1 if higher values come first, -1 otherwise.
func (r ranking) sign() float64 {
	costs := records.LowerIsBetter(metricsOf(r.value)[0])
	if r.rank == lowest || r.rank != highest && costs {
		return -1
	}
	return 1
}

// tests returns a test for each of the others: that it is not better than x, or for the last rank not worse.
func (r ranking) tests(x float64, others []float64) (tests []test) {
	sign := r.sign()
	if r.rank == last {
		sign = -sign
	}
	for _, other := range others {
		beats := newTest(sign*x+r.within.beside(other), sign*other, x, other)
		beats.slack = beats.margin
		tests = append(tests, beats)
	}
	return tests
}

// decide counts the policies that are better than the ranked one: at least the tests that fail, and at most those and
// the unsure ones.
func (r ranking) decide(tests []test) Verdict {
	if r.rank != second && r.rank != third {
		return every(tests).verdict()
	}
	least, open := answered(tests, no), answered(tests, unsure)
	switch want := r.ahead(); {
	case least > want || least+open < want:
		return Refuted
	case open > 0:
		return Undecided
	}
	return Reproduced
}

// decides is the test against the next policy in the order or, if the rank is undecided, the nearest unsure test.
func (r ranking) decides(o outcome) int {
	verdict := r.decide(o.tests)
	if verdict == Undecided || r.rank != second && r.rank != third {
		return nearestTest(o.tests, verdict)
	}
	order := r.order(o.values[1:])
	return order[min(r.ahead(), len(order)-1)]
}

// order returns the indices of values, the best first.
func (r ranking) order(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return records.CompareNumbers(r.sign()*values[j], r.sign()*values[i])
	})
	return order
}

// ahead is the number of policies that are better than one of that rank.
func (r ranking) ahead() int { return map[rank]int{second: 1, third: 2}[r.rank] }

// slack is the distance from the nearest of the others; for the second and third rank, by how many ranks it fails.
func (r ranking) slack(tests []test, u unit) float64 {
	if r.rank == second || r.rank == third {
		return -math.Abs(float64(answered(tests, no) - r.ahead()))
	}
	return least(tests, u)
}
