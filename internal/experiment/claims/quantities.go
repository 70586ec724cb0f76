package claims

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
)

// Quantity is one of the values that a claim compares, in one number for all points at which it was checked.
type Quantity struct {
	Of   string  // as the claim has it; for a trend also the first and the last, for a ranking also the others
	Mean float64 // over the points
	// Half is half the width of the 95% interval of Mean between seeds; 0 where no seed was left out, or none matters.
	Half float64
}

// measuring says which of the values of an outcome a quantity is about.
type measuring struct {
	of     string
	values func(o outcome) []float64
}

func valueAt(i int) func(o outcome) []float64 {
	return func(o outcome) []float64 { return o.values[i : i+1] }
}

func (c comparison) measures() []measuring { return measuresOf(c.values) }
func (s stated) measures() []measuring     { return measuresOf(s.operands()) }

// measuresOf leaves out constants.
func measuresOf(operands []expr) (all []measuring) {
	for i, x := range operands {
		if _, constant := x.(number); !constant {
			all = append(all, measuring{text(x), valueAt(i)})
		}
	}
	return all
}

func (t trend) measures() []measuring {
	of := text(t.value)
	return []measuring{
		{of, func(o outcome) []float64 { return o.values }},
		{"first " + of, valueAt(0)},
		{"last " + of, func(o outcome) []float64 { return o.values[len(o.values)-1:] }},
	}
}

func (r ranking) measures() []measuring {
	of := text(r.value)
	return []measuring{
		{of, valueAt(0)},
		{"the others beside " + of, func(o outcome) []float64 { return o.values[1:] }},
	}
}

// quantities are what was compared at the points of all, and how far it varies between the groups of seeds.
func (c *Claim) quantities(all []outcome, without [][]outcome) (quantities []Quantity) {
	if slices.ContainsFunc(c.Figures(), ofMachine) {
		return nil
	}
	for _, m := range c.says.measures() {
		values := m.over(all)
		if len(values) == 0 {
			continue
		}
		q := Quantity{Of: m.of, Mean: mean(values)}
		var means []float64
		for _, less := range without {
			if values := m.over(less); len(values) > 0 {
				means = append(means, mean(values))
			}
		}
		if len(means) > 1 {
			varies := test{size: math.Abs(q.Mean)}
			varies.vary(halfWidth(means))
			q.Half = varies.half
		}
		quantities = append(quantities, q)
	}
	return quantities
}

func ofMachine(name string) bool {
	m, _ := metric.Lookup(name)
	return m.OfMachine
}

// over collects the values at all points where the claim was checked.
func (m measuring) over(all []outcome) (values []float64) {
	for _, o := range all {
		if o.why == "" {
			values = append(values, m.values(o)...)
		}
	}
	return values
}
