package claims

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
)

const (
	maxLength = 4000 // bytes
	maxDepth  = 50   // nested parentheses
)

// functions are the functions in expressions. The takes may also precede "over".
var (
	takes     = []string{"min", "max", "mean", "median", "sum", "geomean"}
	placeOf   = []string{"argmin", "argmax"} // the place on a dimension where the value is lowest or highest
	functions = slices.Concat(takes, placeOf, []string{"abs", "sqrt", "ln", "log2"})
)

var comparisons = []string{"==", "!=", "<=", ">=", "<", ">"}

// Parse parses a claim. Errors give the column where parsing failed, and what was expected.
func Parse(text string) (*Claim, error) {
	p, err := newParser(text, "claim")
	if err != nil {
		return nil, err
	}
	c := p.claim()
	if p.is("and") {
		p.fail(p.tok.start, "a claim says one thing: write what follows \"and\" as a claim of its own")
	}
	if p.err == nil && p.tok.kind != endToken {
		p.unexpected("the end, where, within or at N% of points", "where", "within", "at", "points")
	}
	if p.err == nil {
		p.refuse(c)
	}
	if p.err != nil {
		return nil, p.err
	}
	return c, nil
}

// newParser returns a parser at the first token of what is a claim or a value.
func newParser(text, what string) (*parser, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("the %s has %d bytes, more than %d", what, len(text), maxLength)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("the %s is not valid UTF-8", what)
	}
	p := &parser{text: text}
	p.next()
	return p, nil
}

// parser reads a claim from left to right. After the first error all its methods only return.
type parser struct {
	text  string
	tok   token // the current one
	depth int
	// openOver says that the last factor was "max over x of y" without parentheses, after which no operator is allowed.
	openOver bool
	err      error
}

func (p *parser) fail(at int, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("column %d: %w", utf8.RuneCountInString(p.text[:at])+1, fmt.Errorf(format, args...))
	}
	p.tok = token{start: len(p.text), end: len(p.text)}
}

// unexpected fails at the current token. If the token is similar to one of words, the error suggests it.
func (p *parser) unexpected(want string, words ...string) {
	hint := ""
	if near, ok := suggest.Nearest(p.tok.text, words); ok {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	if sign, ok := misspelt[p.tok.text]; ok {
		hint = fmt.Sprintf("; write %s", sign)
	}
	p.fail(p.tok.start, "%v is unexpected here; want %s%s", p.tok, want, hint)
}

var misspelt = map[string]string{
	"=>": ">=",
	"=<": "<=",
	"<>": "!=",
	"≥":  ">=",
	"≤":  "<=",
	"≠":  "!=",
	"&&": "and",
	"&":  "and",
}

func (p *parser) jump(at int) {
	t, err := scan(p.text, at)
	if p.err == nil && err != nil {
		p.fail(t.start, "%w", err)
	}
	if p.err == nil {
		p.tok = t
	}
}

func (p *parser) next() { p.jump(p.tok.end) }

func (p *parser) is(text string) bool {
	return (p.tok.kind == wordToken || p.tok.kind == signToken) && p.tok.text == text
}

func (p *parser) accept(texts ...string) bool {
	start := p.tok
	for _, text := range texts {
		if !p.is(text) {
			p.tok = start
			return false
		}
		p.next()
	}
	return p.err == nil
}

func (p *parser) expect(text, where string) {
	if !p.accept(text) {
		p.unexpected(fmt.Sprintf("%q %s", text, where))
	}
}

func (p *parser) claim() *Claim {
	c := &Claim{says: p.statement(), share: 1}
	for p.err == nil && p.tok.kind != endToken {
		switch {
		case c.conditions == nil && p.accept("where"):
			c.conditions = p.conditions()
		case c.shareText == "" && p.accept("at"):
			c.share, c.shareText = p.shareOfPoints()
		default:
			return c
		}
	}
	return c
}

// shareOfPoints parses "90% of points" after "at".
func (p *parser) shareOfPoints() (float64, string) {
	at := p.tok.start
	n := p.number("the share of points at which the claim must hold, for example \"at 90% of points\"")
	if p.err == nil && (!n.isShare() || n.value <= 0 || n.value > 1) {
		p.fail(at, "the share of points is %s; want a percentage above 0%% and up to 100%%", n.written)
	}
	p.expect("of", "points")
	p.expect("points", "after \"of\"")
	return n.value, n.written
}

func (p *parser) statement() statement {
	start := p.tok.start
	value := p.expression()
	switch {
	case p.err != nil:
	case p.isComparison():
		return p.comparison(value)
	case p.accept("between"):
		low := p.expression()
		p.expect("and", "between the two bounds")
		high := p.expression()
		return comparison{values: []expr{low, value, high}, ops: []string{"<=", "<="}, between: true, within: p.tolerance()}
	case p.accept("about"):
		return p.stated(value)
	default:
		for _, m := range movements {
			if p.accept(strings.Fields(m.words())...) {
				return p.trend(value, m)
			}
		}
		if p.is("is") {
			return p.ranking(start, value)
		}
		p.unexpected("a comparison (== != < <= > >=), between A and B, about A, increases with DIMENSION, never decreases "+
			"with DIMENSION, is monotone in DIMENSION or is first among POLICIES",
			"between", "about", "increases", "decreases", "never", "is")
	}
	return nil
}

func (p *parser) isComparison() bool {
	return p.tok.kind == signToken && (slices.Contains(comparisons, p.tok.text) || p.tok.text == "=")
}

func (p *parser) comparison(value expr) statement {
	c := comparison{values: []expr{value}}
	for p.isComparison() {
		op := p.tok.text
		if op == "=" {
			op = "=="
		}
		if at := p.tok.start; len(c.ops) > 0 && (op == "!=" || c.ops[0] == "!=") {
			p.fail(at, "!= compares two values only")
		}
		p.next()
		c.ops = append(c.ops, op)
		c.values = append(c.values, p.expression())
	}
	c.within = p.tolerance()
	return c
}

// stated parses the number or the range after "about", and which side of it is praised.
func (p *parser) stated(value expr) statement {
	at := p.tok.start
	s := stated{value: value, ends: []expr{p.expression()}}
	if p.accept("to") {
		s.ends = append(s.ends, p.expression())
		low, isNumber := s.ends[0].(number)
		if high, ok := s.ends[1].(number); ok && isNumber && low.value > high.value {
			p.fail(at, "the range from %s to %s is empty: write the lower end first", low.written, high.written)
		}
	}
	s.praise = p.praise()
	if s.within = p.tolerance(); s.within == nil || s.within.relative {
		if n, ok := s.ends[0].(number); ok && n.value == 0 && len(s.ends) == 1 {
			p.fail(at, "a share of 0 is 0, so that nothing but 0 is about it: write about %s within X", n.written)
		}
	}
	return s
}

// praise parses "or more" or "or less".
func (p *parser) praise() praise {
	if !p.accept("or") {
		return neither
	}
	for _, side := range []praise{orMore, orLess} {
		if p.accept(string(side)) {
			return side
		}
	}
	p.unexpected("more or less after or: the side on which the source praises a value", string(orMore), string(orLess))
	return neither
}

func (p *parser) trend(value expr, moves movement) statement {
	t := trend{value: value, moves: moves, along: p.dimension()}
	at := p.tok.start
	if t.within = p.tolerance(); t.within != nil {
		if moves == increases || moves == decreases {
			p.fail(at, "a value that %s cannot have a tolerance; write \"never %s\"", moves,
				map[movement]string{increases: "decreases", decreases: "increases"}[moves])
		}
		if t.within.relative {
			p.fail(at, "the tolerance of a step is absolute: write \"within %s\"", t.within.amount.written)
		}
	}
	return t
}

func (p *parser) ranking(start int, value expr) statement {
	p.next()
	r := ranking{value: value}
	for _, known := range ranks {
		if p.is(string(known)) {
			r.rank = known
		}
	}
	if r.rank == "" {
		p.unexpected("first, second, third, last, highest, lowest, monotone or constant",
			"first", "second", "third", "last", "highest", "lowest", "monotone", "constant")
		return r
	}
	p.next()
	p.expect("among", "POLICIES")
	r.among = p.names()
	r.within = p.tolerance()
	if p.err != nil {
		return r
	}
	policies := policiesOf(value)
	if len(policies) != 1 {
		p.fail(start, "a ranked value must have exactly one policy; this one has %d. With several, compare: A > max over "+
			"POLICIES of B", len(policies))
		return r
	}
	r.subject = policies[0]
	p.refuseRanking(start, r)
	return r
}

// refuseRanking rejects rankings that no record decides.
func (p *parser) refuseRanking(start int, r ranking) {
	if len(r.among) == 1 && r.among[0] == r.subject {
		p.fail(start, "%s is compared only with itself", r.subject)
	}
	metrics := metricsOf(r.value)
	if r.rank == highest || r.rank == lowest {
		return
	}
	if len(metrics) != 1 {
		p.fail(start, "a value of several metrics has no better direction: write highest or lowest")
		return
	}
	if m, ok := metric.Lookup(metrics[0]); ok && m.Better == metric.Neither {
		p.fail(start, "a higher value of %s is neither better nor worse: write highest or lowest", records.MetricName(m.Name))
	}
}

// tolerance parses "within 1%" or "within 1% of it"; nil if there is none.
func (p *parser) tolerance() *tolerance {
	if !p.accept("within") {
		return nil
	}
	t := &tolerance{amount: p.number("how much the sides may differ, for example \"within 0.5%\"")}
	if p.accept("of") {
		p.expect("it", "after \"of\": relative to the right side")
		t.relative = true
	}
	return t
}

func (p *parser) number(what string) number {
	if p.tok.kind != numberToken {
		p.unexpected("a number: " + what)
		return number{}
	}
	n := number{written: p.tok.text}
	x, err := strconv.ParseFloat(strings.TrimSuffix(n.written, "%"), 64)
	if err != nil || math.IsInf(x, 0) {
		p.fail(p.tok.start, "%s is too large", n.written)
	}
	if n.value = x; n.isShare() {
		n.value = x / 100
	}
	p.next()
	return n
}

func (p *parser) conditions() []records.Condition {
	all := []records.Condition{p.condition()}
	for p.accept("and") {
		all = append(all, p.condition())
	}
	return all
}

func (p *parser) condition() records.Condition {
	at := p.tok.start
	c := records.Condition{Dimension: p.dimension()}
	if c.Dimension == records.DimPolicy {
		p.fail(at, "\"where\" restricts trace, capacity, seed or an axis; policies are named in the claim itself")
	}
	switch {
	case p.isComparison():
		c.Op = strings.Replace(p.tok.text, "==", "=", 1)
		c.Values = []string{p.place(p.tok.end)}
	case p.is("in"):
		c.Op, c.Values = "in", p.places()
	case p.accept("not") && p.is("in"):
		c.Op, c.Values = "not in", p.places()
	case p.is("between"):
		c.Op = "between"
		c.Values = []string{p.place(p.tok.end)}
		if !p.is("and") {
			p.unexpected("\"and\" between the two bounds")
		}
		c.Values = append(c.Values, p.place(p.tok.end))
	default:
		p.unexpected("= != < <= > >= in or between after " + c.Dimension)
	}
	if c.Dimension == records.DimTrace && slices.Contains([]string{"<", "<=", ">", ">=", "between"}, c.Op) {
		p.fail(at, "traces have no order: use = != or in")
	}
	return c
}

func (p *parser) places() []string {
	all := []string{p.place(p.tok.end)}
	for p.is(",") {
		all = append(all, p.place(p.tok.end))
	}
	return all
}

// place parses the place on a dimension that starts at or after at.
func (p *parser) place(at int) string {
	if p.err != nil {
		return ""
	}
	at = skipSpace(p.text, at)
	if at < len(p.text) && (p.text[at] == '\'' || p.text[at] == '"') {
		p.jump(at)
		text := p.tok.text
		p.next()
		return text
	}
	end := placeEnd(p.text, at)
	text := p.text[at:end]
	if text == "" || slices.Contains(keywords, text) {
		p.fail(at, "want a place on the dimension, for example oltp, 250 or 1%%")
		return ""
	}
	p.jump(end)
	return text
}

func (p *parser) dimension() string {
	if p.tok.kind != quotedToken && (p.tok.kind != wordToken || slices.Contains(keywords, p.tok.text)) {
		p.unexpected("a dimension: trace, capacity, seed or an axis")
		return ""
	}
	text := p.tok.text
	p.next()
	return text
}

// names parses a list of policies and groups, or one dimension.
func (p *parser) names() []string {
	var all []string
	for {
		all = append(all, p.spec())
		if !p.accept(",") {
			return all
		}
	}
}

func (p *parser) spec() string {
	text := p.tok.text
	switch {
	case p.err != nil:
		return ""
	case p.tok.kind == quotedToken:
		if text == "" {
			p.fail(p.tok.start, "want the name of a policy")
		}
		p.next()
		return text
	case p.tok.kind == wordToken && slices.Contains(keywords, text):
		p.unexpected("the name of a policy or of a group")
		return ""
	}
	end, err := specEnd(p.text, p.tok.start)
	if err != nil {
		p.fail(p.tok.start, "%w", err)
		return ""
	}
	text = p.text[p.tok.start:end]
	p.jump(end)
	return text
}

func (p *parser) expression() expr {
	left := p.product()
	for p.is("+") || p.is("-") {
		left = p.operation(left, p.product)
	}
	return left
}

func (p *parser) product() expr {
	left := p.factor()
	for p.is("*") || p.is("/") {
		left = p.operation(left, p.factor)
	}
	return left
}

// operation parses an operator and its right side. The text before it must be unambiguous.
func (p *parser) operation(left expr, right func() expr) expr {
	if p.openOver {
		p.fail(p.tok.start, "%q is ambiguous here: put \"... over ... of ...\", or everything after its \"of\", in "+
			"parentheses", p.tok.text)
	}
	op := p.tok.text
	p.next()
	if p.err != nil {
		return left
	}
	return operation{op[0], left, right()}
}

func (p *parser) factor() expr {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok.start, "more than %d nested expressions", maxDepth)
	}
	defer func() { p.depth-- }()
	p.openOver = false
	switch {
	case p.err != nil:
		return nil
	case p.tok.kind == numberToken:
		return p.number("")
	case p.accept("-"):
		return negation{p.factor()}
	case p.accept("("):
		x := p.expression()
		p.expect(")", "to close the parenthesis")
		p.openOver = false
		return x
	case p.tok.kind == wordToken && slices.Contains(functions, p.tok.text):
		return p.function()
	case p.tok.kind == quotedToken || p.tok.kind == wordToken && !slices.Contains(keywords, p.tok.text):
		return p.figure()
	}
	p.unexpected("a value, for example hit_ratio(lru), 40% or max over GROUP of hit_ratio")
	return nil
}

// function parses "max(a, b)" or "max over x of a".
func (p *parser) function() expr {
	at, function := p.tok.start, p.tok.text
	p.next()
	canTake := slices.Contains(takes, function) || slices.Contains(placeOf, function)
	switch {
	case canTake && p.accept("over"):
		o := over{take: function, names: p.names()}
		p.expect("of", "and a value")
		o.of = p.factor()
		p.openOver = true
		return o
	case !slices.Contains(placeOf, function) && p.accept("("):
		c := call{function: function, arguments: []expr{p.expression()}}
		for p.accept(",") {
			c.arguments = append(c.arguments, p.expression())
		}
		p.expect(")", "after the values of "+function)
		p.openOver = false
		p.refuseArguments(at, c)
		return c
	case canTake:
		p.unexpected(fmt.Sprintf("\"over DIMENSION of VALUE\" after %s", function), "over")
	default:
		p.unexpected(fmt.Sprintf("\"(\" after %s", function))
	}
	return nil
}

func (p *parser) refuseArguments(at int, c call) {
	isTake := slices.Contains(takes, c.function)
	if isTake && len(c.arguments) < 2 {
		p.fail(at, "%s of one value is that value: write %s(A, B) or %s over DIMENSION of A", c.function, c.function,
			c.function)
	}
	if !isTake && len(c.arguments) > 1 {
		p.fail(at, "%s takes one value", c.function)
	}
}

// figure parses "hit_ratio(lru)", or a single name.
func (p *parser) figure() expr {
	text := p.tok.text
	at := p.tok.start
	if text == "" {
		p.fail(at, "want the name of a metric")
	}
	p.next()
	if !p.is("(") {
		return name(text)
	}
	p.next()
	f := figure{text, p.spec()}
	var places []records.Condition
	if p.accept("at") {
		places = p.fixedPlaces()
	}
	if p.err == nil && !p.is(")") {
		p.unexpected(fmt.Sprintf("\")\": %s takes one policy, in quotes if its name has characters other than letters, "+
			"digits, . - and _", text))
	}
	p.next()
	if places != nil {
		return fixed{f, places}
	}
	return f
}

// fixedPlaces parses "noise = 1 and capacity = 250".
func (p *parser) fixedPlaces() []records.Condition {
	at := p.tok.start
	places := p.conditions()
	for _, c := range places {
		if p.err == nil && c.Op != "=" {
			p.fail(at, "a figure is at one place: write %s = PLACE", c.Dimension)
		}
	}
	return places
}

// refuse rejects claims that no measurement could change, and tolerances in the wrong unit.
func (p *parser) refuse(c *Claim) {
	speaksOfPolicies := false
	c.visitAll(func(x expr) {
		switch x := x.(type) {
		case figure:
			speaksOfPolicies = true
		case over:
			speaksOfPolicies = speaksOfPolicies || len(x.names) > 1 || !slices.Contains(fixedDimensions, x.names[0])
		}
	})
	if !speaksOfPolicies {
		p.fail(0, "the claim names no policy, so no record can decide it")
	}
	if s, ok := c.says.(comparison); ok {
		for i := range s.ops {
			if left, right := text(s.values[i]), text(s.values[i+1]); left == right {
				p.fail(0, "both sides are %s", left)
			}
		}
	}
	if s, ok := c.says.(stated); ok && slices.ContainsFunc(s.ends, func(x expr) bool { return text(x) == text(s.value) }) {
		p.fail(0, "both sides are %s", text(s.value))
	}
	p.refuseTolerance(c)
}

func text(x expr) string { return x.text(alone) }

// refuseTolerance rejects "misses(a) == misses(b) within 1%", which would be a hundredth of a miss.
func (p *parser) refuseTolerance(c *Claim) {
	t := c.says.tolerance()
	if t == nil || t.relative || !t.amount.isShare() {
		return
	}
	for _, x := range c.says.operands() {
		if unitOf(x) == count {
			p.fail(len(p.text), "%s is a count, so a tolerance of %s needs \"of it\": within %[2]s of it", text(x),
				t.amount.written)
		}
	}
}
