// Package claims parses sentences such as "hit_ratio(arc) > hit_ratio(lru) where trace = oltp" and checks them against
// the records of an experiment. docs/claims.md shows every form that a sentence may have.
package claims

import (
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

type Claim struct {
	says       statement
	conditions []records.Condition
	share      float64 // share of the points at which it must hold
	shareText  string  // as written, "" for all
}

// statement is what a claim says about every point.
type statement interface {
	String() string
	// operands are the values that are evaluated at every point.
	operands() []expr
	judge(e *evaluator) []outcome
	decide(tests []test) Verdict
	// slack is how far tests are from failing; negative if it fails.
	slack(tests []test, u unit) float64
	tolerance() *tolerance
	// decides is the test that decides the verdict at a point.
	decides(o outcome) int
	// measures are the values of an outcome that were measured.
	measures() []measuring
	// measured describes what was measured at one point.
	measured(e *evaluator, o outcome) string
}

// comparison says how values are related: a < b <= c.
type comparison struct {
	values  []expr
	ops     []string // between neighbouring values
	between bool     // written "b between a and c"
	within  *tolerance
}

type trend struct {
	value  expr
	moves  movement
	along  string // dimension
	within *tolerance
}

// ranking says which rank a value has among other policies'.
type ranking struct {
	value   expr // whose only policy is subject
	subject string
	rank    rank
	among   []string // policies and groups
	within  *tolerance
}

// tolerance is how much two sides may differ.
type tolerance struct {
	amount   number
	relative bool // to the right side
}

// movement is the direction in which values change along a dimension.
type movement string

var movements = []movement{increases, decreases, neverIncreases, neverDecreases, isMonotone, isConstant}

const (
	increases      movement = "increases"
	decreases      movement = "decreases"
	neverIncreases movement = "never increases"
	neverDecreases movement = "never decreases"
	isMonotone     movement = "is monotone"
	isConstant     movement = "is constant"
)

type rank string

const (
	first   rank = "first"  // best
	second  rank = "second" // one is better
	third   rank = "third"
	last    rank = "last" // worst
	highest rank = "highest"
	lowest  rank = "lowest"
)

var ranks = []rank{first, second, third, last, highest, lowest}

// expr is a value at a point.
type expr interface {
	text(position position) string
	parts() []expr
}

// number is a constant; 5% is 0.05.
type number struct {
	written string
	value   float64
}

func (n number) isShare() bool { return strings.HasSuffix(n.written, "%") }

// figure is a metric of a policy, or its number in a reference: hit_ratio(lru), published(lru).
type figure struct {
	name, policy string
}

// fixed is a figure at one place on a dimension, independent of the point: misses(laru at noise = 1).
type fixed struct {
	of figure
	at []records.Condition // with =
}

// name is a single word: a metric, or a reference, of the policies after "over" or "is first"; a reference without
// policies; or a place on a dimension as a number.
type name string

type operation struct {
	op          byte // + - * /
	left, right expr
}

type negation struct{ of expr }

// call is a function of several values: abs(x), max(x, y).
type call struct {
	function  string
	arguments []expr
}

// over combines a value over the places on a dimension, or over policies: max over baselines of hit_ratio.
type over struct {
	take  string
	names []string // one dimension, one group, or policies and groups
	of    expr
}

func (number) parts() []expr      { return nil }
func (figure) parts() []expr      { return nil }
func (f fixed) parts() []expr     { return []expr{f.of} }
func (name) parts() []expr        { return nil }
func (o operation) parts() []expr { return []expr{o.left, o.right} }
func (n negation) parts() []expr  { return []expr{n.of} }
func (c call) parts() []expr      { return c.arguments }
func (o over) parts() []expr      { return []expr{o.of} }

func (c comparison) operands() []expr { return c.values }
func (t trend) operands() []expr      { return []expr{t.value} }
func (r ranking) operands() []expr    { return []expr{r.value} }

func (c comparison) tolerance() *tolerance { return c.within }
func (s stated) tolerance() *tolerance     { return s.within }
func (t trend) tolerance() *tolerance      { return t.within }
func (r ranking) tolerance() *tolerance    { return r.within }

// visit calls f for x and all expressions in it.
func visit(x expr, f func(expr)) {
	f(x)
	for _, part := range x.parts() {
		visit(part, f)
	}
}

func (c *Claim) visitAll(f func(expr)) {
	for _, x := range c.says.operands() {
		visit(x, f)
	}
}

// figuresOf returns the metrics of policies in x.
func figuresOf(x expr) (all []figure) {
	visit(x, func(x expr) {
		if f, ok := x.(figure); ok {
			all = append(all, f)
		}
	})
	return all
}

// policiesOf and metricsOf return the policies and the metrics that x names, without duplicates.
func policiesOf(x expr) []string {
	return records.Distinct(figuresOf(x), func(f figure) string { return f.policy })
}

func metricsOf(x expr) []string {
	return records.Distinct(figuresOf(x), func(f figure) string { return f.name })
}
