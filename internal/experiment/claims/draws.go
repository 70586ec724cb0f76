package claims

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

const draws = 1000

// CannotFail reports whether the claim holds whatever is measured: it holds with 1,000 sets of random values instead. A
// value is drawn from the metric's range: a share from 0 to 1, a count from 0 to the number of requests, and anything
// else within a factor of 1,000 of the largest measured value. In many sets the values are alike, everywhere or for
// each policy, because independent ones always differ somewhere. A claim that cannot be checked can fail elsewhere.
func (c *Claim) CannotFail(d *Data) bool {
	random := rand.New(rand.NewPCG(1, draws))
	first := c.evaluator(d)
	c.says.judge(first)
	for range draws {
		e := first.again()
		e.d = d.drawn(random)
		if c.verdictOf(e) != Reproduced {
			return false
		}
	}
	return true
}

// verdictOf is the verdict without regard to noise.
func (c *Claim) verdictOf(e *evaluator) Verdict {
	r := Result{}
	for _, o := range e.collapse(c.says.judge(e)) {
		if o.why == "" {
			r.Points = append(r.Points, Point{Verdict: c.says.decide(o.tests)})
		}
	}
	if e.reason != "" || len(r.Points) == 0 {
		return NotTestable
	}
	return c.verdict(r)
}

// drawn is the data with random values in place of the measured ones. Settings, such as the capacity, stay.
func (d *Data) drawn(random *rand.Rand) *Data {
	other := *d
	other.columns = map[string][]float64{}
	other.random, other.measured = random, d
	return &other
}

// draw returns random values in place of a metric's; those that are missing stay missing.
func (d *Data) draw(name string) []float64 {
	measured := d.measured.column(name)
	if records.IsSetting(name) {
		return measured
	}
	requests := d.measured.column(metric.Requests.Name)
	largest := 0.0
	for _, x := range measured {
		if size := math.Abs(x); size > largest { // false for NaN
			largest = size
		}
	}
	column := make([]float64, len(measured))
	all := span{0, 1}.part(d.random)
	for _, cells := range d.cells {
		ofLabel := all.part(d.random)
		for _, c := range cells {
			for _, rec := range c.recs {
				column[rec] = inRange(name, ofLabel.draw(d.random), largest, requests[rec])
				if math.IsNaN(measured[rec]) {
					column[rec] = math.NaN()
				}
			}
		}
	}
	return column
}

// inRange turns a number from 0 to 1 into a value of a metric.
func inRange(name string, x, largest, requests float64) float64 {
	const factor = 1000
	switch unit := unitOfName(name); {
	case unit == share:
		return x
	case unit == count && largest <= requests: // false for NaN
		return x * requests
	case largest == 0:
		return x
	}
	return largest * math.Pow(factor, 2*x-1)
}

type span struct{ low, width float64 }

// part is all of the range, a random part of it, or a single number.
func (s span) part(random *rand.Rand) span {
	width := s.width
	switch random.IntN(3) {
	case 1:
		width *= random.Float64()
	case 2:
		width = 0
	}
	return span{s.low + (s.width-width)*random.Float64(), width}
}

func (s span) draw(random *rand.Rand) float64 { return s.low + s.width*random.Float64() }
