package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

type evaluator struct {
	d     *Data
	claim *Claim

	bySeeds      bool           // the claim mentions seeds, so records are not averaged over them
	groupOf      map[uint64]int // of a seed
	leftOut      int            // the group of seeds without which the claim is evaluated, or everySeed
	withoutBatch *batch         // the batch of a seed without which the claim is evaluated; nil for none
	filters      []filter
	slots        []slot
	hasRequired  bool // a slot that is not optional
	points       []point
	skipped      []string // for each trace and capacity without a point, the reason
	joined       bool     // points and skipped are known
	overs        []*overDimension
	subject      string // the policy that is ranked
	shown        []int  // the dimensions that distinguish the claim's points
	reason       string // why the claim cannot be checked
}

func (e *evaluator) notCheckable(format string, args ...any) {
	if e.reason == "" {
		e.reason = fmt.Sprintf(format, args...)
	}
}

// prepare finds the points. compile must create the nodes first, because it determines the policies.
func (e *evaluator) prepare() {
	if e.joined {
		return
	}
	for _, c := range e.claim.conditions {
		e.filters = append(e.filters, e.newFilter(c))
	}
	if e.reason != "" {
		return
	}
	for i := range e.slots {
		e.slots[i].cells = e.slotCells(e.slots[i].label)
		e.hasRequired = e.hasRequired || !e.slots[i].optional
	}
	if len(e.slots) == 0 {
		e.notCheckable("it names no policy that has records")
		return
	}
	e.reason = e.join()
	e.joined = e.reason == ""
}

// again returns an evaluator of the same claim at the same points, for other values. It finds the policies in the same
// order.
func (e *evaluator) again() *evaluator {
	again := *e
	again.overs, again.subject, again.shown, again.reason = nil, "", nil, ""
	return &again
}

func (e *evaluator) newFilter(c records.Condition) filter {
	f := filter{dimension: e.d.find(c.Dimension)}
	if f.dimension < 0 {
		e.notCheckable("no record has the dimension %s", c.Dimension)
	}
	var err error
	if f.Filter, err = c.Filter(e.d.in.Records); err != nil {
		e.notCheckable("%v", err)
	}
	return f
}

// fixed evaluates a figure over each dimension for which it names a place, at that place only.
func (e *evaluator) fixed(x fixed, open bool) node {
	n := e.compile(x.of, open)
	for _, c := range x.at {
		f := e.newFilter(c)
		if f.dimension < 0 {
			return n
		}
		o := &overDimension{take: "only", dimension: f.dimension, only: &f, of: n}
		e.overs = append(e.overs, o)
		n = o
	}
	return n
}

// mentions reports whether the claim speaks of a dimension.
func (c *Claim) mentions(dimension string) bool {
	return slices.ContainsFunc(c.uses(), func(u use) bool {
		return u.name == dimension && slices.Contains([]useAs{asDimension, asValue, asOpenFigure, asOver}, u.as)
	})
}

type node interface {
	// value is the value at a point. If the expression leaves the policy open, it is the policy of slot bound. why is the
	// reason if there is no value.
	value(e *evaluator, at, bound int) (x float64, why string)
	// free are the dimensions of Data on which the value has no place, because it combines them or because no record
	// depends on them.
	free(e *evaluator) []bool
}

// unbound is the slot where no policy is left open.
const unbound = -1

// compile resolves the names in x. open says that the surrounding group will supply the policy of a single name.
func (e *evaluator) compile(x expr, open bool) node {
	switch x := x.(type) {
	case number:
		return constant(x.value)
	case figure:
		at := unbound
		if x.policy != e.subject || e.subject == "" {
			at = e.slot(x.policy)
		}
		return e.figure(x.name, x.policy, at)
	case fixed:
		return e.fixed(x, open)
	case name:
		return e.name(string(x), open)
	case operation:
		return application{string(x.op), e.compileAll(x.parts(), open)}
	case negation:
		return application{"-", []node{constant(0), e.compile(x.of, open)}}
	case call:
		return application{x.function, e.compileAll(x.arguments, open)}
	case over:
		return e.over(x, open)
	}
	panic(fmt.Sprintf("claims: expression %T", x))
}

func (e *evaluator) compileAll(all []expr, open bool) (nodes []node) {
	for _, x := range all {
		nodes = append(nodes, e.compile(x, open))
	}
	return nodes
}

func (e *evaluator) slot(policy string) int {
	label := e.d.policy(policy)
	if label < 0 {
		e.noPolicy(policy)
		return unbound
	}
	return e.labelSlot(label, false)
}

func (e *evaluator) labelSlot(label int, optional bool) int {
	at := slices.IndexFunc(e.slots, func(s slot) bool { return s.label == label })
	if at < 0 {
		at = len(e.slots)
		e.slots = append(e.slots, slot{label: label, optional: optional})
	}
	e.slots[at].optional = e.slots[at].optional && optional
	return at
}

func (e *evaluator) noPolicy(policy string) {
	if why, ok := e.d.in.Absent[policy]; ok {
		e.notCheckable("%s is not in the experiment: %s", policy, why)
		return
	}
	hint := ""
	if near, ok := suggest.Nearest(policy, e.d.labels); ok {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	e.notCheckable("no record of %s%s", policy, hint)
}

// figure is a metric of the policy in a slot, or that policy's number in a reference.
func (e *evaluator) figure(metric, policy string, slot int) node {
	if r, ok := e.d.in.References[metric]; ok {
		return &published{name: metric, reference: r, policy: policy, hasPolicy: true, slot: slot}
	}
	return &measured{metric: metric, slot: slot, means: map[int][]float64{}}
}

func (e *evaluator) name(n string, open bool) node {
	_, isReference := e.d.in.References[n]
	switch {
	case isReference && open:
		return e.figure(n, "", unbound)
	case isReference:
		return &published{name: n, reference: e.d.in.References[n], slot: unbound}
	case e.d.find(n) >= 0:
		return placeNumber{e.d.find(n)}
	case open:
		return e.figure(n, "", unbound)
	}
	e.notCheckable("no record has the dimension %s", n)
	return constant(0)
}

func (e *evaluator) over(x over, open bool) node {
	if len(x.names) == 1 && !e.isGroup(x.names[0]) && e.d.policy(x.names[0]) < 0 {
		dim := e.d.find(x.names[0])
		if dim == seedDimension && len(e.d.dimensions[dim].places) < 2 {
			e.notCheckable("all records have the same seed, which says nothing of others; want at least two seeds")
		}
		if dim >= 0 {
			o := &overDimension{take: x.take, dimension: dim, of: e.compile(x.of, open)}
			e.overs = append(e.overs, o)
			return o
		}
	}
	if x.take == "argmin" || x.take == "argmax" {
		e.notCheckable("%s needs a dimension, and %s is not one", x.take, suggest.List(x.names))
	}
	return overPolicies{take: x.take, slots: e.members(x.names), of: e.compile(x.of, true)}
}

func (e *evaluator) isGroup(name string) bool {
	_, ok := e.d.in.Groups[name]
	return ok || IsPredefinedGroup(name)
}

// members returns the slots of policies and groups, without duplicates.
func (e *evaluator) members(names []string) (slots []int) {
	add := func(at int) {
		if at != unbound && !slices.Contains(slots, at) {
			slots = append(slots, at)
		}
	}
	for _, n := range names {
		group, isGroup := e.d.in.Groups[n]
		switch {
		case isGroup:
			for _, policy := range group {
				add(e.slot(policy))
			}
		case IsPredefinedGroup(n):
			for _, label := range e.d.group(n) {
				add(e.labelSlot(label, true))
			}
		default:
			add(e.slot(n))
		}
	}
	if len(slots) == 0 {
		e.notCheckable("no record of %s", suggest.List(names))
	}
	return slots
}

// freeOf returns the dimensions that none of the parts depends on.
func freeOf(e *evaluator, parts ...node) []bool {
	free := e.allFree()
	for _, part := range parts {
		for d, f := range part.free(e) {
			free[d] = free[d] && f
		}
	}
	return free
}

func (e *evaluator) allFree() []bool {
	return slices.Repeat([]bool{true}, len(e.d.dimensions))
}

// bound lists the dimensions that are not free, except those in except.
func bound(free []bool, except ...int) (dims []int) {
	for d, f := range free {
		if !f && !slices.Contains(except, d) {
			dims = append(dims, d)
		}
	}
	return dims
}

func (e *evaluator) distinct(dims []int) []int {
	all := make([]int, len(e.points))
	for i := range all {
		all[i] = i
	}
	return records.Firsts(all, func(i int) string { return keyOn(e.points[i].at, dims) })
}

// placeOf returns a point's place on a dimension as a number.
func (e *evaluator) placeOf(at, dim int) (float64, bool) {
	p := e.points[at]
	if p.at[dim] == anywhere {
		return 0, false
	}
	if dim == capacityDimension {
		for i, c := range p.cells {
			if c != absent {
				return float64(e.d.in.Records[e.slots[i].cells[c].recs[0]].Capacity), true
			}
		}
	}
	v := e.d.dimensions[dim].places[p.at[dim]]
	return records.NumberOf(v.Text)
}

type constant float64

func (c constant) value(*evaluator, int, int) (float64, string) { return float64(c), "" }
func (c constant) free(e *evaluator) []bool                     { return e.allFree() }

// measured is a metric of a policy, averaged over seeds.
type measured struct {
	metric string
	slot   int               // unbound: the slot that the surrounding group supplies
	means  map[int][]float64 // for each slot, the values of its cells, NaN if null
}

func (m *measured) value(e *evaluator, at, bound int) (float64, string) {
	slot := m.slot
	if slot == unbound {
		slot = bound
	}
	means, ok := m.means[slot]
	if !ok {
		means = e.means(slot, m.metric)
		m.means[slot] = means
	}
	label := e.d.labels[e.slots[slot].label]
	c := e.points[at].cells[slot]
	if c == absent {
		return 0, fmt.Sprintf("no record of %s", label)
	}
	if x := means[c]; !math.IsNaN(x) {
		return x, ""
	}
	return 0, fmt.Sprintf("%s of %s is not in the records", m.metric, label)
}

func (m *measured) free(e *evaluator) []bool { return make([]bool, len(e.d.dimensions)) }

// means returns the mean of a metric over the records of each cell of a slot.
func (e *evaluator) means(slot int, metric string) []float64 {
	column := e.d.column(metric)
	means := make([]float64, len(e.slots[slot].cells))
	for i, c := range e.slots[slot].cells {
		recs := e.remaining(c.recs)
		values := make([]float64, len(recs))
		for j, rec := range recs {
			values[j] = e.less(rec, metric, column[rec])
		}
		means[i] = mean(values)
	}
	return means
}

// published is a number of a reference.
type published struct {
	name      string
	reference results.Published
	policy    string
	hasPolicy bool // false: the reference has no policies
	slot      int  // unbound: the slot that the surrounding group supplies, if the reference has policies

	keys  []int // the dimensions that its numbers name
	known map[groupValue]result
}

func (p *published) value(e *evaluator, at, inSlot int) (float64, string) {
	if p.known == nil {
		p.keys, p.known = bound(p.free(e)), map[groupValue]result{}
	}
	g := groupValue{keyOn(e.points[at].at, p.keys), inSlot}
	r, ok := p.known[g]
	if !ok {
		r.x, r.why = p.find(e, at, inSlot)
		p.known[g] = r
	}
	return r.x, r.why
}

func (p *published) find(e *evaluator, at, bound int) (float64, string) {
	slot := p.slot
	if slot == unbound {
		slot = bound
	}
	policy := ""
	if p.hasPolicy && slot != unbound {
		policy = e.d.labels[e.slots[slot].label]
	}
	found, x := false, 0.0
	for _, n := range p.reference.Points {
		if !p.isAt(e, n, policy, at) {
			continue
		}
		if found && n.Value != x {
			return 0, fmt.Sprintf("%s has several numbers there", p)
		}
		found, x = true, n.Value
	}
	if !found {
		return 0, fmt.Sprintf("%s has no number there", p)
	}
	return x, ""
}

func (p *published) String() string {
	if p.hasPolicy && p.policy != "" {
		return p.name + "(" + p.policy + ")"
	}
	return p.name
}

// isAt reports whether a number is published for a point.
func (p *published) isAt(e *evaluator, n results.PublishedPoint, policy string, at int) bool {
	for dimension, place := range n.At {
		if dimension == records.DimPolicy {
			if withoutSpaces(place) != withoutSpaces(policy) {
				return false
			}
			continue
		}
		dim := e.d.find(dimension)
		if dim < 0 || e.points[at].at[dim] == anywhere {
			continue
		}
		text := e.d.dimensions[dim].places[e.points[at].at[dim]].Text
		if text == place {
			continue
		}
		want, isNumber := records.NumberOf(place)
		if x, ok := e.placeOf(at, dim); !ok || !isNumber || strings.HasSuffix(place, "%") && dim == capacityDimension ||
			records.CompareNumbers(x, want) != 0 {
			return false
		}
	}
	return true
}

func (p *published) free(e *evaluator) []bool {
	free := e.allFree()
	for _, n := range p.reference.Points {
		for dimension := range n.At {
			if d := e.d.find(dimension); d >= 0 {
				free[d] = false
			}
		}
	}
	return free
}

type placeNumber struct{ dimension int }

func (p placeNumber) value(e *evaluator, at, _ int) (float64, string) {
	x, ok := e.placeOf(at, p.dimension)
	if !ok {
		return 0, fmt.Sprintf("%s is not a number there", e.d.dimensions[p.dimension].name)
	}
	return x, ""
}

func (p placeNumber) free(e *evaluator) []bool {
	free := e.allFree()
	free[p.dimension] = false
	if p.dimension == capacityDimension {
		free[traceDimension] = false // 1% is another number on every trace
	}
	return free
}

func finite(x float64) (float64, string) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, "its result is not finite"
	}
	return x, ""
}

// application is a function or an operator applied to several values.
type application struct {
	function string
	of       []node
}

func (a application) value(e *evaluator, at, bound int) (float64, string) {
	values, why := e.valuesAt(a.of, at, bound)
	if why != "" {
		return 0, why
	}
	switch a.function {
	case "+":
		return finite(values[0] + values[1])
	case "-":
		return finite(values[0] - values[1])
	case "*":
		return finite(values[0] * values[1])
	case "/":
		if values[1] == 0 {
			return 0, "it divides by zero"
		}
		return finite(values[0] / values[1])
	case "abs":
		return math.Abs(values[0]), ""
	case "sqrt":
		return finite(math.Sqrt(values[0]))
	case "ln":
		return finite(math.Log(values[0]))
	case "log2":
		return finite(math.Log2(values[0]))
	}
	return take(a.function, values)
}

func (a application) free(e *evaluator) []bool { return freeOf(e, a.of...) }

// take computes one number from several (at least one).
func take(how string, values []float64) (float64, string) {
	switch how {
	case "min":
		return slices.Min(values), ""
	case "max":
		return slices.Max(values), ""
	case "sum":
		return finite(sum(values))
	case "median":
		return finite(median(values))
	case "geomean":
		return finite(geomean(values))
	}
	return finite(mean(values))
}

func sum(values []float64) (total float64) {
	for _, x := range values {
		total += x
	}
	return total
}

// The mean of equal values is that value, to the last digit.
func mean(values []float64) float64 {
	if !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] }) {
		return values[0]
	}
	return sum(values) / float64(len(values))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return mean(sorted[middle-1 : middle+1])
}

// geomean is NaN if a value is not positive.
func geomean(values []float64) float64 {
	logarithms := make([]float64, len(values))
	for i, x := range values {
		if logarithms[i] = math.Log(x); x <= 0 {
			return math.NaN()
		}
	}
	return math.Exp(mean(logarithms))
}

// overPolicies combines a value over policies.
type overPolicies struct {
	take  string
	slots []int
	of    node
}

func (o overPolicies) value(e *evaluator, at, _ int) (float64, string) {
	var values []float64
	for _, slot := range o.slots {
		if e.slots[slot].optional && e.points[at].cells[slot] == absent {
			continue
		}
		x, why := o.of.value(e, at, slot)
		if why != "" {
			return 0, why
		}
		values = append(values, x)
	}
	if len(values) == 0 {
		return 0, "none of the policies has a record there"
	}
	return take(o.take, values)
}

func (o overPolicies) free(e *evaluator) []bool { return o.of.free(e) }

// overDimension combines a value over the places on a dimension.
type overDimension struct {
	take      string
	dimension int
	only      *filter // use the value where it holds, which must be one place; nil for others
	of        node

	isFree []bool
	keys   []int            // the dimensions that distinguish groups of points
	groups map[string][]int // for each group, one point per place
	known  map[groupValue]result
}

type groupValue struct {
	key   string
	bound int
}

type result struct {
	x   float64
	why string
}

func (o *overDimension) value(e *evaluator, at, bound int) (float64, string) {
	if o.groups == nil {
		o.group(e)
	}
	g := groupValue{keyOn(e.points[at].at, o.keys), bound}
	r, ok := o.known[g]
	if !ok {
		r.x, r.why = o.takeTogether(e, o.groups[g.key], bound)
		o.known[g] = r
	}
	return r.x, r.why
}

// group finds the points that differ only on the dimension, and on others that do not affect the value.
func (o *overDimension) group(e *evaluator) {
	o.keys = bound(o.free(e))
	o.groups, o.known = map[string][]int{}, map[groupValue]result{}
	for _, at := range e.distinct(append(slices.Clone(o.keys), o.dimension)) {
		key := keyOn(e.points[at].at, o.keys)
		o.groups[key] = append(o.groups[key], at)
	}
}

// selects reports whether a filter matches a point; it always does if the point has no place on its dimension.
func (e *evaluator) selects(f *filter, at int) bool {
	p := e.points[at]
	if p.at[f.dimension] == anywhere {
		return true
	}
	i := slices.IndexFunc(p.cells, func(c int32) bool { return c != absent })
	return f.holds(e.d, slotCell{at: p.at, recs: e.slots[i].cells[p.cells[i]].recs})
}

// sizes returns the smallest and the largest number of places over which values were combined.
func (o *overDimension) sizes() (least, most int) {
	least = math.MaxInt
	for _, group := range o.groups {
		least, most = min(least, len(group)), max(most, len(group))
	}
	return least, most
}

func (o *overDimension) takeTogether(e *evaluator, points []int, bound int) (float64, string) {
	if o.only != nil {
		points = slices.DeleteFunc(slices.Clone(points), func(at int) bool { return !e.selects(o.only, at) })
		if len(points) != 1 {
			return 0, fmt.Sprintf("%d places match %s %s, want one", len(points), o.only.Dimension, o.only.Values[0])
		}
		return o.of.value(e, points[0], bound)
	}
	values := make([]float64, len(points))
	for i, at := range points {
		var why string
		if values[i], why = o.of.value(e, at, bound); why != "" {
			return 0, why
		}
	}
	if o.take != "argmin" && o.take != "argmax" {
		return take(o.take, values)
	}
	best := 0
	for i := range values {
		if c := records.CompareNumbers(values[i], values[best]); o.take == "argmin" && c < 0 || o.take == "argmax" && c > 0 {
			best = i
		}
	}
	return placeNumber{o.dimension}.value(e, points[best], bound)
}

func (o *overDimension) free(e *evaluator) []bool {
	if o.isFree == nil {
		o.isFree = slices.Clone(o.of.free(e))
		o.isFree[o.dimension] = true
	}
	return o.isFree
}
