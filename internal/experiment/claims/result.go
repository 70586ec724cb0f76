package claims

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

type Verdict string

// The six verdicts, in the words that people read everywhere.
const (
	Reproduced Verdict = "reproduced"
	// Exceeded: more than the source states, by more than the band around its number, where it praises more.
	Exceeded Verdict = "exceeded"
	// Undecided: the seeds differ by more than what decides.
	Undecided Verdict = "undecided"
	Refuted   Verdict = "refuted"
	// NotTestable: a trace, a policy or the hardware is not at hand, or the claim's precondition is not met.
	NotTestable Verdict = "not testable here"
	// Calibrated: reproduced, but a constant of ours was fitted on this very number.
	Calibrated Verdict = "calibrated"
)

// Verdicts are all verdicts, in the order in which people read them.
var Verdicts = []Verdict{Reproduced, Exceeded, Calibrated, Undecided, Refuted, NotTestable}

var marks = map[Verdict]string{
	Reproduced: "✓", Exceeded: "↑", Calibrated: "c", Undecided: "≈", Refuted: "✗", NotTestable: "–",
}

// Mark is the sign of the verdict.
func (v Verdict) Mark() string { return marks[v] }

// IsMet reports whether what the claim says was measured.
func (v Verdict) IsMet() bool { return v == Reproduced || v == Exceeded || v == Calibrated }

type Result struct {
	Finding
	Held    int // the number of Points at which it is reproduced
	Points  []Point
	LeftOut int // further points, at which it could not be checked

	Quantities []Quantity // that were compared; none where a claim is about the speed of the machine
}

// Finding is a verdict with what it is based on.
type Finding struct {
	Measured string  `json:"measured"` // in words; "" if nothing could be measured
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"` // why it cannot be checked
}

type Point struct {
	At       []Place `json:"at"`
	Measured string  `json:"measured"`
	Verdict  Verdict `json:"verdict"`
}

type Place struct {
	Dimension string `json:"dimension"`
	Place     string `json:"place"`
}

// Evaluate checks the claim. A claim without a point that decides it is not testable, and never reproduced.
func (c *Claim) Evaluate(d *Data) Result {
	e := c.evaluator(d)
	all := c.says.judge(e)
	without := e.vary(all)
	quantities := c.quantities(all, without)
	all = e.collapse(all)
	if e.reason != "" {
		return Result{Finding: Finding{Verdict: NotTestable, Reason: e.reason}}
	}
	checked := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.why != "" })
	if len(checked) == 0 {
		return Result{Finding: Finding{Verdict: NotTestable, Reason: commonest(all)}, LeftOut: len(all)}
	}
	for _, why := range e.skipped {
		all = append(all, outcome{why: why})
	}
	r := Result{LeftOut: len(all) - len(checked), Quantities: quantities}
	for _, o := range checked {
		measured := c.says.measured(e, o) + o.doubt(c.says)
		r.Points = append(r.Points, Point{e.places(o.point), measured, c.says.decide(o.tests)})
	}
	r.Held = r.count(Reproduced)
	r.Verdict = c.verdict(r)
	r.Measured = e.summary(checked, r) + e.remarks(all, r)
	return r
}

// verdict is the best verdict that enough of the points have or exceed: reproduced, exceeded, undecided, refuted.
func (c *Claim) verdict(r Result) Verdict {
	enough := c.share * float64(len(r.Points)) * (1 - 1e-12) // the product may be rounded up
	n := 0
	for _, verdict := range []Verdict{Reproduced, Exceeded, Undecided} {
		if n += r.count(verdict); float64(n) >= enough {
			return verdict
		}
	}
	return Refuted
}

func (r Result) count(verdict Verdict) int {
	return records.Count(r.Points, func(p Point) bool { return p.Verdict == verdict })
}

func (c *Claim) evaluator(d *Data) *evaluator {
	return &evaluator{d: d, claim: c, bySeeds: c.mentions(fixedDimensions[seedDimension]), leftOut: everySeed}
}

// collapse merges points that differ only on a dimension that a value combines and nothing else depends on, intervals
// included: "max over seed of hit_ratio(random) < hit_ratio(lru)" is the same at every seed.
func (e *evaluator) collapse(all []outcome) []outcome {
	for _, o := range e.overs {
		dims := slices.DeleteFunc(slices.Clone(e.shown), func(d int) bool { return d == o.dimension })
		first := map[string]outcome{}
		var kept []outcome
		same := true
		for _, outcome := range all {
			key := keyOn(e.points[outcome.point].at, dims)
			before, ok := first[key]
			if !ok {
				first[key] = outcome
				kept = append(kept, outcome)
			}
			same = same && (!ok || before.why == outcome.why && slices.Equal(before.values, outcome.values) &&
				slices.Equal(before.slots, outcome.slots) && slices.Equal(before.tests, outcome.tests))
		}
		if same {
			all, e.shown = kept, dims
		}
	}
	return all
}

// remarks lists what a reader of the claim would not expect: points left out, places without records, a mean over one
// place.
func (e *evaluator) remarks(all []outcome, r Result) (text string) {
	if r.LeftOut > 0 {
		text = fmt.Sprintf("; %s left out: %s", show.Counted(r.LeftOut, "point"), commonest(all))
	}
	if missing := e.missing(); len(missing) > 0 {
		text += "; no record at " + strings.Join(missing, ", ")
	}
	for _, o := range e.overs {
		least, most := o.sizes()
		switch name := e.d.dimensions[o.dimension].name; {
		case o.only != nil:
		case least < most:
			text += fmt.Sprintf("; over %d to %d places on %s", least, most, name)
		case most == 1:
			text += fmt.Sprintf("; over 1 place on %s", name)
		}
	}
	return text
}

// summary says what was measured: at the only point, or at the one that decides.
func (e *evaluator) summary(checked []outcome, r Result) string {
	decides, closest, nearest := -1, "for example", 0.0
	for i, o := range checked {
		if r.Verdict != Reproduced && r.Points[i].Verdict != r.Verdict {
			continue
		}
		slack := e.claim.says.slack(o.tests, unitOfAll(e.claim.says.operands()))
		if decides >= 0 && slack != nearest {
			closest = "closest"
		}
		if decides < 0 || slack < nearest {
			decides, nearest = i, slack
		}
	}
	at, measured := e.placeText(r.Points[decides]), r.Points[decides].Measured
	in := "at"
	if _, isTrend := e.claim.says.(trend); isTrend {
		in = "in"
	}
	switch n := len(checked); {
	case n == 1 && at == "":
		return measured
	case n == 1:
		return fmt.Sprintf("%s (%s)", measured, at)
	case r.Held == n:
		return fmt.Sprintf("%s%s all %s; %s at %s: %s", e.span(checked), in, e.counted(n), closest, at, measured)
	case r.Verdict == Reproduced:
		return fmt.Sprintf("%s %d of %s; worst at %s: %s", in, r.Held, e.counted(n), at, measured)
	case r.Verdict == Refuted:
		return fmt.Sprintf("%sfails %s %d of %s; worst at %s: %s", e.span(checked), in, r.count(r.Verdict), e.counted(n), at,
			measured)
	default:
		return fmt.Sprintf("%s%s %s %d of %s; %s at %s: %s", e.span(checked), r.Verdict, in, r.count(r.Verdict), e.counted(n),
			map[Verdict]string{Exceeded: "farthest", Undecided: "least certain"}[r.Verdict], at, measured)
	}
}

// span formats the range of a value that is compared with constants: "1.06 to 1.11 "; "" for other claims.
func (e *evaluator) span(checked []outcome) string {
	switch e.claim.says.(type) {
	case comparison, stated:
	default:
		return ""
	}
	operands := e.claim.says.operands()
	variable := -1
	for i, x := range operands {
		if _, isNumber := x.(number); !isNumber {
			if variable >= 0 {
				return ""
			}
			variable = i
		}
	}
	ends := []float64{math.Inf(1), math.Inf(-1)}
	for _, o := range checked {
		ends = []float64{min(ends[0], o.values[variable]), max(ends[1], o.values[variable])}
	}
	texts := unitOfAll(operands).writeAll(ends)
	return texts[0] + " to " + texts[1] + ", "
}

// counted formats a number of points, which for a trend are whole series.
func (e *evaluator) counted(n int) string {
	if _, isTrend := e.claim.says.(trend); isTrend {
		return fmt.Sprintf("%d series", n)
	}
	return show.Counted(n, "point")
}

// missing lists the places in = and in conditions that have no record, though other places do.
func (e *evaluator) missing() (places []string) {
	for i := range e.filters {
		if f := &e.filters[i]; !f.isAbsent() {
			for _, place := range f.Missing() {
				places = append(places, f.Dimension+" "+place)
			}
		}
	}
	return places
}

// places returns a point's places on the dimensions that distinguish the claim's points.
func (e *evaluator) places(point int) (all []Place) {
	for _, d := range e.shown {
		if place := e.points[point].at[d]; place != anywhere {
			all = append(all, Place{e.d.dimensions[d].name, e.d.dimensions[d].places[place].Text})
		}
	}
	return all
}

// placeText formats a point's places: "oltp, capacity 250, noise 0.1".
func (e *evaluator) placeText(p Point) string {
	parts := make([]string, len(p.At))
	for i, place := range p.At {
		if parts[i] = place.Dimension + " " + place.Place; place.Dimension == records.DimTrace {
			parts[i] = place.Place
		}
	}
	return strings.Join(parts, ", ")
}

// measured formats the values with their relation: "94,010 < 94,823".
func (c comparison) measured(e *evaluator, o outcome) string {
	u := unitOfAll(c.values)
	texts := u.writeAll(o.values)
	for i, x := range c.values {
		if n, ok := x.(number); ok {
			texts[i] = n.written
		}
	}
	if c.between {
		if c.decide(o.tests) == Reproduced {
			return texts[1]
		}
		return fmt.Sprintf("%s, %s %s to %s", texts[1], side(o.tests), texts[0], texts[2])
	}
	var w strings.Builder
	w.WriteString(texts[0])
	for i := range c.ops {
		left, right := o.values[i], o.values[i+1]
		tolerance := c.toleranceOf(e, i, right)
		switch {
		case (c.ops[i] == "==" || c.ops[i] == "!=") && tolerance > 0 && records.CompareNumbers(left, right) != 0:
			fmt.Fprintf(&w, " beside %s, %s apart", texts[i+1], u.writeDifference(math.Abs(left-right)))
			if c.within == nil {
				w.WriteString(", " + u.writeDifference(tolerance) + " allowed")
			}
		default:
			w.WriteString([]string{" < ", " = ", " > "}[records.CompareNumbers(left, right)+1] + texts[i+1])
		}
	}
	return w.String()
}

// measured formats the start and the end of the series if it moves as claimed, and otherwise the step that does not.
func (t trend) measured(e *evaluator, o outcome) string {
	u := unitOf(t.value)
	texts := u.writeAll(o.values)
	from, to := 0, len(texts)-1
	verdict := t.decide(o.tests)
	switch {
	case t.moves == isConstant || t.moves == isMonotone && verdict == Refuted:
		from, to = slices.Index(o.values, slices.Min(o.values)), slices.Index(o.values, slices.Max(o.values))
	case verdict != Reproduced:
		from = t.decides(o) % to // isMonotone has two tests for each step
		to = from + 1
	}
	along := e.d.find(t.along)
	place := func(i int) string {
		return e.d.dimensions[along].places[e.points[o.points[i]].at[along]].Text
	}
	return fmt.Sprintf("from %s at %s %s to %s at %s %s", texts[from], t.along, place(from), texts[to], t.along, place(to))
}

// measured formats the policy's rank, and its nearest neighbour: "arc 30.61% is number 2 of 4, behind lirs 31.20%".
func (r ranking) measured(e *evaluator, o outcome) string {
	sign := r.sign()
	order := r.order(o.values)
	at := slices.IndexFunc(order, func(i int) bool { return records.CompareNumbers(o.values[i], o.values[0]) == 0 })
	neighbour := r.decides(o) + 1
	relation := []string{"behind", "level with", "ahead of"}[records.CompareNumbers(sign*o.values[0],
		sign*o.values[neighbour])+1]
	texts := unitOf(r.value).writeAll([]float64{o.values[0], o.values[neighbour]})
	return fmt.Sprintf("%s %s is number %d of %d, %s %s %s", r.subject, texts[0], at+1, len(order), relation,
		e.d.labels[e.slots[o.slots[neighbour]].label], texts[1])
}

func commonest(all []outcome) string {
	counts := map[string]int{}
	best := ""
	for _, o := range all {
		if o.why == "" {
			continue
		}
		if counts[o.why]++; best == "" || counts[o.why] > counts[best] {
			best = o.why
		}
	}
	return best
}
