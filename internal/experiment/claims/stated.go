package claims

import (
	"fmt"
	"slices"
	"strings"
)

// stated compares a value with the number or the range that a source states. There is a band around the number, or
// around both ends of the range. A value beside it refutes the statement, unless it is on the side that is praised.
type stated struct {
	value  expr
	ends   []expr // the number, or the lower and the upper end of the range
	praise praise
	within *tolerance
}

// praise is the side of a stated number on which a value is more of what the source praises.
type praise string

const (
	neither praise = ""
	orMore  praise = "more"
	orLess  praise = "less"
)

// usualBand is the band around a stated number if the claim gives none.
var usualBand = tolerance{amount: number{written: "10%", value: 0.1}, relative: true}

// Places of the operands of stated; the upper end of a number is the number.
const (
	statedValue = iota
	statedLow
)

func (s stated) operands() []expr { return append([]expr{s.value}, s.ends...) }

func (s stated) String() string {
	about := text(s.value) + " about " + joined(s.ends, " to ", text)
	if s.praise != neither {
		about += " or " + string(s.praise)
	}
	return about + s.within.String()
}

// band returns the bounds within which the value meets the stated one.
func (s stated) band(values []float64) (low, high float64) {
	within := s.within
	if within == nil {
		within = &usualBand
	}
	low, high = values[statedLow], values[len(values)-1]
	return low - within.beside(low), high + within.beside(high)
}

// judge makes two tests: that the value reaches the band, and that it does not exceed it. Where less is praised, it is
// from above that the band is reached.
func (s stated) judge(e *evaluator) []outcome {
	return e.judgePoints(s.operands(), func(o *outcome) {
		low, high := s.band(o.values)
		x := o.values[statedValue]
		o.tests = []test{newTest(x, low, x, low, high), newTest(high, x, x, low, high)}
		if s.praise == orLess {
			slices.Reverse(o.tests)
		}
	})
}

func (s stated) decide(tests []test) Verdict {
	reaches, stays := tests[0].answer(), tests[1].answer()
	switch {
	case reaches != yes:
		return reaches.verdict()
	case stays == no && s.praise != neither:
		return Exceeded
	}
	return stays.verdict()
}

func (s stated) slack(tests []test, u unit) float64 { return least(tests, u) }

func (s stated) decides(o outcome) int { return nearestTest(o.tests, s.decide(o.tests)) }

// side says on which side of two bounds a value is.
func side(tests []test) string {
	if slices.ContainsFunc(tests, func(t test) bool { return t.margin < 0 }) {
		return "outside"
	}
	return "inside"
}

// measured formats the value beside the stated number: "27.90% beside 28.7%".
func (s stated) measured(_ *evaluator, o outcome) string {
	u := unitOfAll(s.operands())
	texts := u.writeAll(o.values)
	for i, x := range s.operands() {
		if n, ok := x.(number); ok {
			texts[i] = n.written
		}
	}
	text := fmt.Sprintf("%s beside %s", texts[statedValue], strings.Join(texts[statedLow:], " to "))
	if s.decide(o.tests) != Reproduced {
		low, high := s.band(o.values)
		band := u.writeAll([]float64{low, high})
		text += fmt.Sprintf(", %s %s to %s", side(o.tests), band[0], band[1])
	}
	return text
}
